"""What the dwords of a type 3 packet mean, as tables.

A layout is a sequence of words; a word lists what one dword of the packet holds. Layouts that differ between generations have
one entry each, and the first that fits is taken.

Sources: the comments on packets in the Linux kernel's amdgpu headers (``sid.h``, ``cikd.h``, ``vid.h``, ``soc15d.h``, ``nvd.h``) and in
Mesa's ``sid.h``; the names of fields are those that Mesa's decoder prints (``ac_parse_ib.c``), so that streams can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["REGISTER_SPACES", "Address", "Bits", "Choice", "DataWords", "Number", "PacketDword", "RegisterWord", "Word", "layout"]


@dataclass(frozen=True)
class RegisterWord:
    """A dword with the fields of the register called `name`; only those of `fields` where it names some."""

    name: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class PacketDword:
    """A dword whose fields the register database has under opcode * 16 + place."""

    number: int


@dataclass(frozen=True)
class Bits:
    """A number in bits of a dword."""

    name: str
    low: int = 0
    width: int = 32
    scale: int = 1


@dataclass(frozen=True)
class Number:
    """A dword that is one number, of which `width` bits matter."""

    name: str
    width: int = 32


@dataclass(frozen=True)
class Choice:
    """Bits of a dword of which every value has a name."""

    name: str
    low: int
    width: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Address:
    """Two dwords that hold an address, low half first; `above` describes the bits above the address."""

    name: str
    above: tuple[Bits, ...] = ()
    width: int = 64


@dataclass(frozen=True)
class DataWords:
    """All dwords that are left."""

    name: str


Word = RegisterWord | PacketDword | Number | Address | DataWords | tuple[Bits | Choice | RegisterWord, ...]


@dataclass(frozen=True)
class _Layout:
    words: tuple[Word, ...]
    first: int = 0
    last: int = 999
    fits: Callable[[Sequence[int]], bool] | None = None


REGISTER_SPACES = {
    "SET_CONFIG_REG": 0x8000, "SET_CONTEXT_REG": 0x28000, "SET_SH_REG": 0xB000, "SET_SH_REG_INDEX": 0xB000,
    "SET_UCONFIG_REG": 0x30000, "SET_UCONFIG_REG_INDEX": 0x30000, "SET_UCONFIG_REG_PAIRS": 0x30000,
    "SET_CONTEXT_REG_PAIRS": 0x28000, "SET_SH_REG_PAIRS": 0xB000, "SET_CONTEXT_REG_PAIRS_PACKED": 0x28000,
    "SET_SH_REG_PAIRS_PACKED": 0xB000, "SET_SH_REG_PAIRS_PACKED_N": 0xB000,
}
"""Byte offset of the register space that a packet of register writes counts from."""

_ENGINE = ("PFP", "ME")


def _registers(*names: str) -> tuple[Word, ...]:
    return tuple(RegisterWord(name) for name in names)


_EVENT_TYPE = RegisterWord("VGT_EVENT_INITIATOR", ("EVENT_TYPE",))
_EVENT_CACHES = (Bits("TCL1_VOL_ACTION_ENA", 12, 1), Bits("TC_VOL_ACTION_ENA", 13, 1), Bits("TC_WB_ACTION_ENA", 15, 1),
                 Bits("TCL1_ACTION_ENA", 16, 1), Bits("TC_ACTION_ENA", 17, 1))
_EVENT_CACHES_9 = (Bits("TC_NC_ACTION_ENA", 19, 1), Bits("TC_WC_ACTION_ENA", 20, 1), Bits("TC_MD_ACTION_ENA", 21, 1))
_GCR_RANGE: tuple[Word, ...] = (Number("GCR_SIZE"), Number("GCR_SIZE_HI", 25), Number("GCR_BASE_LO"), Number("GCR_BASE_HI"))
_COHER: tuple[Word, ...] = (
    (RegisterWord("CP_COHER_CNTL"), Choice("ENGINE_SEL", 31, 1, _ENGINE)),
    *_registers("CP_COHER_SIZE", "CP_COHER_SIZE_HI", "CP_COHER_BASE", "CP_COHER_BASE_HI"), Number("POLL_INTERVAL", 16),
)
_RELEASE: tuple[Word, ...] = (
    (Bits("DST_SEL", 16, 2), Bits("INT_SEL", 24, 3), Bits("DATA_SEL", 29, 3)),
    *(Number(name) for name in ("ADDRESS_LO", "ADDRESS_HI", "DATA_LO", "DATA_HI", "CTXID")),
)
_DRAW_MULTI: tuple[Word, ...] = (
    Number("OFFSET"), Number("VERTEX_OFFSET_REG"), Number("START_INSTANCE_REG"),
    (Bits("DRAW_ID_REG", 0, 16), Bits("DRAW_ID_ENABLE", 31, 1), Bits("COUNT_INDIRECT_ENABLE", 30, 1)),
    Number("DRAW_COUNT"), Address("COUNT_ADDR"), Number("STRIDE"), RegisterWord("VGT_DRAW_INITIATOR"),
)
_DRAW_INDIRECT: tuple[Word, ...] = (
    Number("OFFSET"), Number("VERTEX_OFFSET_REG"), Number("START_INSTANCE_REG"), RegisterWord("VGT_DRAW_INITIATOR"),
)
_DISPATCH: tuple[Word, ...] = _registers("COMPUTE_DIM_X", "COMPUTE_DIM_Y", "COMPUTE_DIM_Z", "COMPUTE_DISPATCH_INITIATOR")
_DISPATCH_OFFSET: tuple[Word, ...] = (Number("DATA_OFFSET"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"))
_DISPATCH_ADDRESS: tuple[Word, ...] = (Address("ADDR"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"))
_INDIRECT_BUFFER: tuple[Word, ...] = (PacketDword(0x3F0), PacketDword(0x3F1), PacketDword(0x3F2))
_RESERVED: tuple[Word, ...] = (Number("reserved"),)


def _waits_for_pixels(body: Sequence[int]) -> bool:
    """Whether an ACQUIRE_MEM is of the pixel-wait-sync form."""
    return len(body) > 5 and bool(body[5] >> 31)


_LAYOUTS: dict[str, tuple[_Layout, ...]] = {
    "ACQUIRE_MEM": (
        _Layout(_COHER, last=94),
        _Layout((*_COHER, PacketDword(0x586)), last=103),
        _Layout((PacketDword(0x580), *_GCR_RANGE, PacketDword(0x585), PacketDword(0x586)), fits=_waits_for_pixels),
        _Layout(((Choice("ENGINE_SEL", 31, 1, _ENGINE),), *_GCR_RANGE, Number("POLL_INTERVAL", 16), PacketDword(0x586))),
    ),
    "SURFACE_SYNC": (_Layout((*_registers("CP_COHER_CNTL", "CP_COHER_SIZE", "CP_COHER_BASE"), Number("POLL_INTERVAL", 16))),),
    "EVENT_WRITE": (_Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), Bits("INV_L2", 20, 1)), Address("ADDR"))),),
    "EVENT_WRITE_EOP": (
        _Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), *_EVENT_CACHES),
                 Address("ADDR", (Bits("DST_SEL", 48, 2), Bits("INT_SEL", 56, 3), Bits("DATA_SEL", 61, 3)), 48),
                 Number("DATA_LO"), Number("DATA_HI"))),
    ),
    "EVENT_WRITE_EOS": (
        _Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4)), Number("ADDRESS_LO"),
                 (Bits("ADDRESS_HI", 0, 16), Bits("DATA_SEL", 29, 3)), Number("DATA"))),
    ),
    "EVENT_WRITE_ZPASS": (_Layout((Address("ADDR"),)),),
    "RELEASE_MEM": (
        _Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), *_EVENT_CACHES, *_EVENT_CACHES_9), *_RELEASE), last=94),
        _Layout((PacketDword(0x490), *_RELEASE)),
    ),
    "WAIT_REG_MEM": (
        _Layout((Number("OP"), Number("ADDRESS_LO"), Number("ADDRESS_HI"), Number("REF"), Number("MASK"),
                 Number("POLL_INTERVAL", 16))),
    ),
    "DRAW_INDEX_AUTO": (_Layout((RegisterWord("VGT_NUM_INDICES"), RegisterWord("VGT_DRAW_INITIATOR"))),),
    "DRAW_INDEX_2": (
        _Layout((RegisterWord("VGT_DMA_MAX_SIZE"), Address("INDEX_ADDR"), RegisterWord("VGT_NUM_INDICES"),
                 RegisterWord("VGT_DRAW_INITIATOR"))),
    ),
    "DRAW_INDEX_OFFSET_2": (
        _Layout((RegisterWord("VGT_DMA_MAX_SIZE"), Number("INDEX_OFFSET"), RegisterWord("VGT_NUM_INDICES"),
                 RegisterWord("VGT_DRAW_INITIATOR"))),
    ),
    "DRAW_INDIRECT": (_Layout(_DRAW_INDIRECT),),
    "DRAW_INDEX_INDIRECT": (_Layout(_DRAW_INDIRECT),),
    "DRAW_INDIRECT_MULTI": (_Layout(_DRAW_MULTI),),
    "DRAW_INDEX_INDIRECT_MULTI": (_Layout(_DRAW_MULTI),),
    "INDEX_BASE": (_Layout((Address("ADDR"),)),),
    "INDEX_TYPE": (_Layout((RegisterWord("VGT_DMA_INDEX_TYPE"),)),),
    "INDEX_BUFFER_SIZE": (_Layout((Number("COUNT"),)),),
    "NUM_INSTANCES": (_Layout((RegisterWord("VGT_NUM_INSTANCES"),)),),
    "CONTEXT_CONTROL": (_Layout((Number("LOAD_ENABLES"), Number("SHADOW_ENABLES"))),),
    "WRITE_DATA": (_Layout((PacketDword(0x370), Address("DST_ADDR"), DataWords("data"))),),
    "COPY_DATA": (
        _Layout(((Bits("SRC_SEL", 0, 4), Bits("DST_SEL", 8, 4), Bits("COUNT_SEL", 16, 1), Bits("WR_CONFIRM", 20, 1),
                  Choice("ENGINE_SEL", 30, 1, ("ME", "PFP"))), Address("SRC"), Address("DST"))),
    ),
    "CP_DMA": (_Layout((PacketDword(0x410), PacketDword(0x411), PacketDword(0x412), PacketDword(0x413), PacketDword(0x415))),),
    "DMA_DATA": (_Layout((PacketDword(0x501), Address("SRC_ADDR"), Address("DST_ADDR"), PacketDword(0x415))),),
    "INDIRECT_BUFFER": (_Layout(_INDIRECT_BUFFER),),
    "INDIRECT_BUFFER_SI": (_Layout(_INDIRECT_BUFFER),),
    "INDIRECT_BUFFER_CONST": (_Layout(_INDIRECT_BUFFER),),
    "CLEAR_STATE": (_Layout(_RESERVED),),
    "INCREMENT_DE_COUNTER": (_Layout(_RESERVED),),
    "INCREMENT_CE_COUNTER": (_Layout(_RESERVED),),
    "PFP_SYNC_ME": (_Layout(_RESERVED),),
    "NOP": (_Layout((DataWords("unused"),)),),
    "DISPATCH_DIRECT": (_Layout(_DISPATCH),),
    "DISPATCH_DIRECT_INTERLEAVED": (_Layout(_DISPATCH),),
    "DISPATCH_INDIRECT": (_Layout(_DISPATCH_ADDRESS, fits=lambda body: len(body) > 2), _Layout(_DISPATCH_OFFSET)),
    "DISPATCH_INDIRECT_INTERLEAVED": (_Layout(_DISPATCH_ADDRESS, fits=lambda body: len(body) > 2), _Layout(_DISPATCH_OFFSET)),
    "DISPATCH_TASKMESH_GFX": (
        _Layout(((Bits("RING_ENTRY_REG", 16, 16), Bits("XYZ_DIM_REG", 0, 16)), (Bits("THREAD_TRACE_MARKER_ENABLE", 31, 1),),
                 Number("DI_SRC_SEL_AUTO_INDEX")), last=103),
        _Layout(((Bits("RING_ENTRY_REG", 16, 16), Bits("XYZ_DIM_REG", 0, 16)),
                 (Bits("THREAD_TRACE_MARKER_ENABLE", 31, 1), Bits("XYZ_DIM_ENABLE", 30, 1), Bits("MODE1_ENABLE", 29, 1),
                  Bits("LINEAR_DISPATCH_ENABLED", 28, 1)), Number("DI_SRC_SEL_AUTO_INDEX"))),
    ),
    "DISPATCH_TASKMESH_DIRECT_ACE": (
        _Layout((Number("X_DIM"), Number("Y_DIM"), Number("Z_DIM"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"),
                 Number("RING_ENTRY_REG", 16))),
    ),
    "SET_BASE": (_Layout(((Bits("BASE_INDEX", 0, 4),), Address("ADDR"))),),
    "SET_PREDICATION": (
        _Layout(((Bits("OP", 16, 3), Bits("HINT", 12, 1), Bits("DRAW_VISIBLE", 8, 1), Bits("CONTINUE", 31, 1)), Address("ADDR")),
                first=90),
        _Layout((Number("ADDRESS_LO"), (Bits("ADDRESS_HI", 0, 8), Bits("OP", 16, 3), Bits("HINT", 12, 1),
                                         Bits("DRAW_VISIBLE", 8, 1), Bits("CONTINUE", 31, 1)))),
    ),
    "PRIME_UTCL2": (
        _Layout(((Bits("CACHE_PERM[rwx]", 0, 3), Choice("PRIME_MODE", 3, 1, ("DONT_WAIT_FOR_XACK", "WAIT_FOR_XACK")),
                  Bits("ENGINE_SEL", 30, 2)), Address("ADDR"), Number("REQUESTED_PAGES", 14))),
    ),
    "ATOMIC_MEM": (
        _Layout(((Bits("ATOMIC", 0, 7), Bits("COMMAND", 8, 4), Bits("CACHE_POLICY", 25, 2), Bits("ENGINE_SEL", 30, 2)),
                 Address("ADDR"), Number("SRC_DATA_LO"), Number("SRC_DATA_HI"), Number("CMP_DATA_LO"),
                 Number("CMP_DATA_HI"), (Bits("LOOP_INTERVAL", 0, 13),))),
    ),
    "COND_EXEC": (
        _Layout((Address("ADDR"), Number("reserved"), (Bits("SIZE", 0, 14, 4),)), first=70),
        _Layout((Address("ADDR"), (Bits("SIZE", 0, 14, 4),))),
    ),
    "REWIND": (_Layout(((Bits("VALID", 31, 1), Bits("OFFLOAD_ENABLE", 24, 1)),)),),
}


def layout(name: str, level: int, body: Sequence[int]) -> tuple[Word, ...]:
    """Return the words of a packet; empty for one that the tables do not describe.

    Parameters
    ----------
    name : str
        The packet's name.
    level : int
        Hardware level times ten.
    body : sequence of int
        The dwords behind the header.
    """
    for candidate in _LAYOUTS.get(name, ()):
        if candidate.first <= level <= candidate.last and (candidate.fits is None or candidate.fits(body)):
            return candidate.words
    return ()
