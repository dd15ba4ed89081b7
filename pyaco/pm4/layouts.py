"""What the dwords of a type 3 packet mean, as tables.

A layout is a sequence of words; a word lists what one dword of the packet holds. Layouts that differ between generations have
one entry each, and the first that fits is taken.

Sources: the comments on packets in the Linux kernel's amdgpu headers (``sid.h``, ``cikd.h``, ``vid.h``, ``soc15d.h``, ``nvd.h``) and in
Mesa's ``sid.h``; the names of fields are those that Mesa's decoder prints (``ac_parse_ib.c``), so that streams can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["REGISTER_SPACES", "Address", "Bits", "Choice", "DataWords", "Layout", "Number", "PacketDword", "Part", "RegisterPlace", "RegisterWord",
           "Repeat", "Word", "layout", "layouts"]


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
class RegisterPlace:
    """Low 16 bits of a dword: a register's place in the register space that starts at byte `space`."""

    name: str
    space: int


@dataclass(frozen=True)
class DataWords:
    """All dwords that are left."""

    name: str


@dataclass(frozen=True)
class Repeat:
    """Groups of dwords to the end of the packet."""

    words: tuple[RegisterPlace | Number, ...]


Part = Bits | Choice | RegisterWord | RegisterPlace | Number
Word = RegisterWord | PacketDword | Number | RegisterPlace | Address | DataWords | Repeat | tuple[Part, ...]


@dataclass(frozen=True)
class Layout:
    """A form of a packet: its words, and the levels that have it.

    Attributes
    ----------
    words : tuple
    first, last : int
        Levels times ten.
    fits : callable or None
        Says of a body whether it has this form.
    optional : int
        How many words at the end may be missing.
    """

    words: tuple[Word, ...]
    first: int = 0
    last: int = 999
    fits: Callable[[Sequence[int]], bool] | None = None
    optional: int = 0


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
_MULTI_COUNT: tuple[Word, ...] = (Number("COUNT"), Address("COUNT_ADDR"), Number("STRIDE"))
_MESH_ENABLES = (Bits("THREAD_TRACE_MARKER_ENABLE", 29, 1), Bits("COUNT_INDIRECT_ENABLE", 30, 1), Bits("DRAW_INDEX_ENABLE", 31, 1))
_DRAW_INDIRECT: tuple[Word, ...] = (
    Number("OFFSET"), Number("VERTEX_OFFSET_REG"), Number("START_INSTANCE_REG"), RegisterWord("VGT_DRAW_INITIATOR"),
)
_DISPATCH: tuple[Word, ...] = _registers("COMPUTE_DIM_X", "COMPUTE_DIM_Y", "COMPUTE_DIM_Z", "COMPUTE_DISPATCH_INITIATOR")
_DISPATCH_OFFSET: tuple[Word, ...] = (Number("DATA_OFFSET"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"))
_DISPATCH_ADDRESS: tuple[Word, ...] = (Address("ADDR"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"))
_INDIRECT_BUFFER: tuple[Word, ...] = (PacketDword(0x3F0), PacketDword(0x3F1), PacketDword(0x3F2))
_RESERVED: tuple[Word, ...] = (Number("reserved"),)
_FUNCTIONS = ("ALWAYS", "LESS", "LESS_OR_EQUAL", "EQUAL", "NOT_EQUAL", "GREATER_OR_EQUAL", "GREATER", "RESERVED")
_SPACES = ("REGISTER", "MEMORY")


def _loads(space: int) -> tuple[Layout, ...]:
    """Register writes from memory: each run from where the registers of the space lie behind the address."""
    return (Layout((Address("ADDR"), Repeat((RegisterPlace("REG_OFFSET", space), Number("NUM_DWORDS", 14))))),)


def _indexed_loads(space: int) -> tuple[Layout, ...]:
    """Register writes from memory: the address is that of the first dword."""
    return (Layout(((Bits("INDEX", 0, 2), Bits("ADDRESS_LO", 2, 30, 4)), Number("ADDRESS_HI"),
                     (RegisterPlace("REG_OFFSET", space), Choice("DATA_FORMAT", 31, 1, ("OFFSET_AND_SIZE", "OFFSET_AND_DATA"))),
                     (Bits("NUM_DWORDS", 0, 14),))),)


def _waits_for_pixels(body: Sequence[int]) -> bool:
    """Whether an ACQUIRE_MEM is of the pixel-wait-sync form."""
    return len(body) > 5 and bool(body[5] >> 31)


_LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "ACQUIRE_MEM": (
        Layout(_COHER, last=94),
        Layout((*_COHER, PacketDword(0x586)), last=103),
        Layout((PacketDword(0x580), *_GCR_RANGE, PacketDword(0x585), PacketDword(0x586)), fits=_waits_for_pixels),
        Layout(((Choice("ENGINE_SEL", 31, 1, _ENGINE),), *_GCR_RANGE, Number("POLL_INTERVAL", 16), PacketDword(0x586))),
    ),
    "SURFACE_SYNC": (Layout((*_registers("CP_COHER_CNTL", "CP_COHER_SIZE", "CP_COHER_BASE"), Number("POLL_INTERVAL", 16))),),
    "EVENT_WRITE": (Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), Bits("INV_L2", 20, 1)), Address("ADDR")), optional=1),),
    "EVENT_WRITE_EOP": (
        Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), *_EVENT_CACHES),
                 Address("ADDR", (Bits("DST_SEL", 48, 2), Bits("INT_SEL", 56, 3), Bits("DATA_SEL", 61, 3)), 48),
                 Number("DATA_LO"), Number("DATA_HI"))),
    ),
    "EVENT_WRITE_EOS": (
        Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4)), Number("ADDRESS_LO"),
                 (Bits("ADDRESS_HI", 0, 16), Bits("DATA_SEL", 29, 3)), Number("DATA"))),
    ),
    "EVENT_WRITE_ZPASS": (Layout((Address("ADDR"),)),),
    "RELEASE_MEM": (
        Layout(((_EVENT_TYPE, Bits("EVENT_INDEX", 8, 4), *_EVENT_CACHES, *_EVENT_CACHES_9), *_RELEASE), last=94),
        Layout((PacketDword(0x490), *_RELEASE)),
    ),
    "WAIT_REG_MEM": (
        Layout(((Number("OP"), Choice("FUNCTION", 0, 3, _FUNCTIONS), Choice("MEM_SPACE", 4, 1, _SPACES), Bits("OPERATION", 6, 2),
                  Choice("ENGINE_SEL", 8, 1, ("ME", "PFP"))),
                 Number("ADDRESS_LO"), Number("ADDRESS_HI"), Number("REF"), Number("MASK"), Number("POLL_INTERVAL", 16))),
    ),
    "COND_WRITE": (
        Layout(((Choice("FUNCTION", 0, 3, _FUNCTIONS), Choice("POLL_SPACE", 4, 1, _SPACES), Bits("WRITE_SPACE", 8, 2),
                  Bits("WR_CONFIRM", 20, 1)), Address("POLL_ADDR"), Number("REF"), Number("MASK"), Address("WRITE_ADDR"), Number("DATA"))),
    ),
    "MEM_SEMAPHORE": (
        Layout((Number("ADDRESS_LO"), (Bits("ADDRESS_HI", 0, 8), Bits("USE_MAILBOX", 16, 1), Bits("SIGNAL_TYPE", 20, 1),
                                        Bits("CLIENT_CODE", 24, 2), Bits("SEM_SEL", 29, 3)))),
    ),
    "MEM_WRITE": (
        Layout((Number("ADDRESS_LO"), (Bits("ADDRESS_HI", 0, 8), Bits("WR_CONFIRM", 17, 1), Bits("WR32", 18, 1)),
                 Number("DATA_LO"), Number("DATA_HI"))),
    ),
    "OCCLUSION_QUERY": (Layout((Address("START_ADDR"), Address("QUERY_ADDR"))),),
    "PRED_EXEC": (Layout(((Bits("SIZE", 0, 14, 4), Bits("DEVICE_SELECT", 24, 8)),)),),
    "CONTEXT_REG_RMW": (Layout((RegisterPlace("REG_OFFSET", 0x28000), Number("MASK"), Number("DATA"))),),
    "ONE_REG_WRITE": (Layout((RegisterPlace("REG_OFFSET", 0), Number("DATA"))),),
    "SET_SH_REG_OFFSET": (
        Layout(((RegisterPlace("REG_OFFSET", 0xB000), Bits("INDEX", 30, 2)), Number("DATA_OFFSET"), Number("DUMMY"))),
    ),
    "LOAD_UCONFIG_REG": _loads(0x30000),
    "LOAD_SH_REG": _loads(0xB000),
    "LOAD_CONTEXT_REG": _loads(0x28000),
    "LOAD_SH_REG_INDEX": _indexed_loads(0xB000),
    "LOAD_CONTEXT_REG_INDEX": _indexed_loads(0x28000),
    "LOAD_CONST_RAM": (Layout((Address("ADDR"), (Bits("NUM_DWORDS", 0, 15),), (Bits("START", 0, 16),))),),
    "WRITE_CONST_RAM": (Layout(((Bits("OFFSET", 0, 16),), DataWords("data"))),),
    "DUMP_CONST_RAM": (Layout(((Bits("OFFSET", 0, 16),), (Bits("NUM_DWORDS", 0, 15),), Address("ADDR"))),),
    "WAIT_ON_CE_COUNTER": (Layout(((Bits("COND_SURFACE_SYNC", 0, 1), Bits("FORCE_SYNC", 1, 1)),)),),
    "ME_INITIALIZE": (Layout((DataWords("data"),)),),
    "PREAMBLE_CNTL": (Layout(((Bits("COMMAND", 28, 4),),)),),
    "MPEG_INDEX": (Layout((Number("NUM_INDICES"), DataWords("data"))),),
    "STRMOUT_BUFFER_UPDATE": (
        Layout(((Bits("UPDATE_MEMORY", 0, 1), Choice("SOURCE_SELECT", 1, 2, ("OFFSET_IN_PACKET", "VGT_FILLED_SIZE", "OFFSET_IN_MEMORY", "NONE")),
                  Bits("DATA_TYPE", 7, 1), Bits("BUFFER_SELECT", 8, 2)), Address("DST_ADDR"), Address("SRC_ADDR")), last=103),
        Layout(((Bits("UPDATE_MEMORY", 0, 1), Choice("SOURCE_SELECT", 1, 2, ("OFFSET_IN_PACKET", "VGT_FILLED_SIZE", "OFFSET_IN_MEMORY", "NONE")),
                  Bits("DATA_TYPE", 7, 1), Bits("BUFFER_SELECT", 8, 2)), Address("ADDR"), Address("CONTROL_ADDR"))),
    ),
    "DRAW_INDEX_AUTO": (Layout((RegisterWord("VGT_NUM_INDICES"), RegisterWord("VGT_DRAW_INITIATOR"))),),
    "DRAW_INDEX_2": (
        Layout((RegisterWord("VGT_DMA_MAX_SIZE"), Address("INDEX_ADDR"), RegisterWord("VGT_NUM_INDICES"),
                 RegisterWord("VGT_DRAW_INITIATOR"))),
    ),
    "DRAW_INDEX_OFFSET_2": (
        Layout((RegisterWord("VGT_DMA_MAX_SIZE"), Number("INDEX_OFFSET"), RegisterWord("VGT_NUM_INDICES"),
                 RegisterWord("VGT_DRAW_INITIATOR"))),
    ),
    "DRAW_INDIRECT": (Layout(_DRAW_INDIRECT),),
    "DRAW_INDEX_INDIRECT": (Layout(_DRAW_INDIRECT),),
    "DRAW_INDIRECT_MULTI": (Layout(_DRAW_MULTI),),
    "DRAW_INDEX_INDIRECT_MULTI": (Layout(_DRAW_MULTI),),
    "DRAW_INDEX_IMMD": (Layout((RegisterWord("VGT_NUM_INDICES"), RegisterWord("VGT_DRAW_INITIATOR"), DataWords("data"))),),
    "DRAW_INDEX_MULTI_AUTO": (
        Layout((Number("PRIM_COUNT"), RegisterWord("VGT_DRAW_INITIATOR"),
                 (Bits("INDEX_OFFSET", 0, 16), Bits("PRIM_TYPE", 16, 5), Bits("INDEX_COUNT", 21, 11)))),
    ),
    "DISPATCH_MESH_DIRECT": (Layout((Number("X_DIM"), Number("Y_DIM"), Number("Z_DIM"), RegisterWord("VGT_DRAW_INITIATOR"))),),
    "DISPATCH_MESH_INDIRECT_MULTI": (
        Layout((Number("DATA_OFFSET"), (Bits("XYZ_DIM_REG", 0, 16), Bits("DRAW_INDEX_REG", 16, 16)), _MESH_ENABLES, *_MULTI_COUNT,
                 RegisterWord("VGT_DRAW_INITIATOR")), last=103),
        Layout((Number("DATA_OFFSET"), (Bits("XYZ_DIM_REG", 0, 16), Bits("DRAW_INDEX_REG", 16, 16)),
                 (*_MESH_ENABLES, Bits("XYZ_DIM_ENABLE", 28, 1), Bits("MODE1_ENABLE", 27, 1)), *_MULTI_COUNT,
                 RegisterWord("VGT_DRAW_INITIATOR"))),
    ),
    "DISPATCH_TASK_STATE_INIT": (Layout((Address("CONTROL_ADDR"),)),),
    "DISPATCH_TASKMESH_INDIRECT_MULTI_ACE": (
        Layout((Address("DATA_ADDR"), (Bits("RING_ENTRY_REG", 0, 16),),
                 (Bits("THREAD_TRACE_MARKER_ENABLE", 0, 1), Bits("COUNT_INDIRECT_ENABLE", 1, 1), Bits("DRAW_INDEX_ENABLE", 2, 1),
                  Bits("XYZ_DIM_ENABLE", 3, 1), Bits("DRAW_INDEX_REG", 16, 16)),
                 (Bits("XYZ_DIM_REG", 0, 16),), *_MULTI_COUNT, RegisterWord("COMPUTE_DISPATCH_INITIATOR"))),
    ),
    "INDEX_BASE": (Layout((Address("ADDR"),)),),
    "INDEX_TYPE": (Layout((RegisterWord("VGT_DMA_INDEX_TYPE"),)),),
    "INDEX_BUFFER_SIZE": (Layout((Number("COUNT"),)),),
    "NUM_INSTANCES": (Layout((RegisterWord("VGT_NUM_INSTANCES"),)),),
    "CONTEXT_CONTROL": (Layout((Number("LOAD_ENABLES"), Number("SHADOW_ENABLES"))),),
    "WRITE_DATA": (Layout((PacketDword(0x370), Address("DST_ADDR"), DataWords("data"))),),
    "COPY_DATA": (
        Layout(((Bits("SRC_SEL", 0, 4), Bits("DST_SEL", 8, 4), Bits("COUNT_SEL", 16, 1), Bits("WR_CONFIRM", 20, 1),
                  Choice("ENGINE_SEL", 30, 1, ("ME", "PFP"))), Address("SRC"), Address("DST"))),
    ),
    "CP_DMA": (Layout((PacketDword(0x410), PacketDword(0x411), PacketDword(0x412), PacketDword(0x413), PacketDword(0x415))),),
    "DMA_DATA": (Layout((PacketDword(0x501), Address("SRC_ADDR"), Address("DST_ADDR"), PacketDword(0x415))),),
    "INDIRECT_BUFFER": (Layout(_INDIRECT_BUFFER),),
    "INDIRECT_BUFFER_SI": (Layout(_INDIRECT_BUFFER),),
    "INDIRECT_BUFFER_CONST": (Layout(_INDIRECT_BUFFER),),
    "CLEAR_STATE": (Layout(_RESERVED),),
    "INCREMENT_DE_COUNTER": (Layout(_RESERVED),),
    "INCREMENT_CE_COUNTER": (Layout(_RESERVED),),
    "PFP_SYNC_ME": (Layout(_RESERVED),),
    "NOP": (Layout((DataWords("unused"),)),),
    "DISPATCH_DIRECT": (Layout(_DISPATCH),),
    "DISPATCH_DIRECT_INTERLEAVED": (Layout(_DISPATCH),),
    "DISPATCH_INDIRECT": (Layout(_DISPATCH_ADDRESS, fits=lambda body: len(body) > 2), Layout(_DISPATCH_OFFSET)),
    "DISPATCH_INDIRECT_INTERLEAVED": (Layout(_DISPATCH_ADDRESS, fits=lambda body: len(body) > 2), Layout(_DISPATCH_OFFSET)),
    "DISPATCH_TASKMESH_GFX": (
        Layout(((Bits("RING_ENTRY_REG", 16, 16), Bits("XYZ_DIM_REG", 0, 16)), (Bits("THREAD_TRACE_MARKER_ENABLE", 31, 1),),
                 Number("DI_SRC_SEL_AUTO_INDEX")), last=103),
        Layout(((Bits("RING_ENTRY_REG", 16, 16), Bits("XYZ_DIM_REG", 0, 16)),
                 (Bits("THREAD_TRACE_MARKER_ENABLE", 31, 1), Bits("XYZ_DIM_ENABLE", 30, 1), Bits("MODE1_ENABLE", 29, 1),
                  Bits("LINEAR_DISPATCH_ENABLED", 28, 1)), Number("DI_SRC_SEL_AUTO_INDEX"))),
    ),
    "DISPATCH_TASKMESH_DIRECT_ACE": (
        Layout((Number("X_DIM"), Number("Y_DIM"), Number("Z_DIM"), RegisterWord("COMPUTE_DISPATCH_INITIATOR"),
                 Number("RING_ENTRY_REG", 16))),
    ),
    "SET_BASE": (Layout(((Bits("BASE_INDEX", 0, 4),), Address("ADDR"))),),
    "SET_PREDICATION": (
        Layout(((Bits("OP", 16, 3), Bits("HINT", 12, 1), Bits("DRAW_VISIBLE", 8, 1), Bits("CONTINUE", 31, 1)), Address("ADDR")),
                first=90),
        Layout((Number("ADDRESS_LO"), (Bits("ADDRESS_HI", 0, 8), Bits("OP", 16, 3), Bits("HINT", 12, 1),
                                         Bits("DRAW_VISIBLE", 8, 1), Bits("CONTINUE", 31, 1)))),
    ),
    "PRIME_UTCL2": (
        Layout(((Bits("CACHE_PERM[rwx]", 0, 3), Choice("PRIME_MODE", 3, 1, ("DONT_WAIT_FOR_XACK", "WAIT_FOR_XACK")),
                  Bits("ENGINE_SEL", 30, 2)), Address("ADDR"), Number("REQUESTED_PAGES", 14))),
    ),
    "ATOMIC_MEM": (
        Layout(((Bits("ATOMIC", 0, 7), Bits("COMMAND", 8, 4), Bits("CACHE_POLICY", 25, 2), Bits("ENGINE_SEL", 30, 2)),
                 Address("ADDR"), Number("SRC_DATA_LO"), Number("SRC_DATA_HI"), Number("CMP_DATA_LO"),
                 Number("CMP_DATA_HI"), (Bits("LOOP_INTERVAL", 0, 13),))),
    ),
    "COND_EXEC": (
        Layout((Address("ADDR"), Number("reserved"), (Bits("SIZE", 0, 14, 4),)), first=70),
        Layout((Address("ADDR"), (Bits("SIZE", 0, 14, 4),))),
    ),
    "REWIND": (Layout(((Bits("VALID", 31, 1), Bits("OFFLOAD_ENABLE", 24, 1)),)),),
}


def layouts(name: str, level: int) -> tuple[Layout, ...]:
    """Return the forms that a packet has on a level, of which the first that fits is taken.

    Parameters
    ----------
    name : str
        The packet's name.
    level : int
        Hardware level times ten.
    """
    return tuple(candidate for candidate in _LAYOUTS.get(name, ()) if candidate.first <= level <= candidate.last)


def layout(name: str, level: int, body: Sequence[int]) -> tuple[Word, ...]:
    """Return the words of a packet with a certain body; empty for one that the tables do not describe."""
    for candidate in layouts(name, level):
        if candidate.fits is None or candidate.fits(body):
            return candidate.words
    return ()
