"""Forms and modifiers of vector ALU instructions: how LLVM spells them, and what they make of sources and results.

Sources: AMD "Vega", "RDNA 2", "RDNA3" and "RDNA4" Instruction Set Architecture documents, chapters "Vector ALU Operations" and "Data Parallel
Processing"; "Instruction Set Architecture" of CDNA 3 for packed singles. What an assembler takes is LLVM's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

SELECTIONS = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32)}
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
QUAD, EIGHT = (3, 0, 2, 1), (7, 1, 2, 0, 5, 6, 4, 3)
M16, M32 = 0xFFFF, 0xFFFFFFFF


@dataclass(frozen=True)
class Variant:
    """A form of an instruction and its modifiers; masks have a bit for each source.

    Packed operations: `negative` is neg_lo, `absolute` neg_hi, `high` op_sel; `other_high` are the bits of op_sel_hi that are not as usual.
    """

    form: str = ""                    # "": as the instruction is usually written; e32, e64, sdwa, dpp, e64_dpp
    negative: int = 0
    absolute: int = 0
    high: int = 0                     # bit 3: of the result
    other_high: int = 0
    output: str = ""                  # clamp or the output scale
    selections: tuple[str, str] = ("DWORD", "DWORD")
    extended: int = 0
    written: str = "DWORD"
    unused: str = "UNUSED_PAD"
    control: str = ""                 # DPP

    def __str__(self) -> str:
        shown = [f"{name}={value}" for name, value in vars(self).items() if value and value != Variant.__dataclass_fields__[name].default]
        return " ".join(shown)


PLAIN = Variant()


def encoded_slots(sources: tuple[str, ...]) -> list[int]:
    """The sources that the text names."""
    return [slot for slot, kind in enumerate(sources) if not kind.startswith("old_") and kind not in ("vcc", "lane")]


def bits_of(kind: str) -> int:
    """The size of a type; of two small floats together."""
    kind = kind.removeprefix("old_")
    if kind.endswith("x2"):
        return 2 * bits_of(kind.removesuffix("x2"))
    return int(re.sub(r"\D", "", kind) or 0)


# --------------------------------------------------------------------------------------------------------------- which
#: Sources of a byte, which op_sel chooses: bit 0 the half of the register, bit 1 the byte of the half.
BYTE_SOURCES = ("v_cvt_f32_fp8", "v_cvt_f32_bf8")
#: Results of a byte, whose place in the register bits 2 and 3 of op_sel choose.
BYTE_RESULTS = ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32")


def chosen_byte(variant: Variant) -> int:
    return 2 * (variant.high & 1) + (variant.high >> 1 & 1)


def sign_variants(slots: list[int], form: str) -> Iterator[Variant]:
    for slot in slots:
        yield Variant(form, negative=1 << slot)
        yield Variant(form, absolute=1 << slot)
    if slots:
        yield Variant(form, negative=1, absolute=1)


def output_variants(form: str) -> Iterator[Variant]:
    yield from (Variant(form, output=text) for text in (" clamp", " mul:2", " mul:4", " div:2"))


def long_variants(slots: list[int], packed: bool, form: str = "e64") -> Iterator[Variant]:
    """Modifiers of VOP3 and VOP3P."""
    yield Variant(form)
    yield from sign_variants(slots, form)
    yield from output_variants(form)
    yield Variant(form, negative=1, output=" clamp")
    for slot in slots if packed else [*slots, 3]:
        yield Variant(form, high=1 << slot)
    yield Variant(form, high=7 if packed else 15)
    if packed:
        for slot in slots:
            yield Variant(form, other_high=1 << slot)
            yield Variant(form, high=1 << slot, negative=1 << slot, output=" clamp")


def selected_variants(slots: list[int]) -> Iterator[Variant]:
    """SDWA."""
    for slot in slots[:2]:
        for name in SELECTIONS:
            selections = (name, "DWORD") if slot == 0 else ("WORD_1", name)
            yield Variant("sdwa", selections=selections)
            yield Variant("sdwa", selections=selections, extended=1 << slot)
        yield Variant("sdwa", selections=("WORD_1", "BYTE_2"), negative=1 << slot)
        yield Variant("sdwa", selections=("WORD_0", "WORD_1"), absolute=1 << slot)
    for name in SELECTIONS:
        yield from (Variant("sdwa", written=name, unused=unused) for unused in UNUSED)
    yield from output_variants("sdwa")


def lane_controls(level: int) -> list[str]:
    controls = [f"quad_perm:{list(QUAD)}".replace(" ", ""), "row_shl:3", "row_shr:1", "row_ror:5", "row_mirror", "row_half_mirror"]
    controls += ["wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1", "row_bcast:15", "row_bcast:31"] if level < 100 else []
    controls += ["row_share:7", "row_xmask:9"] if level >= 100 else []
    controls += ["row_newbcast:5"] if 92 <= level < 100 else []
    masks = (" row_mask:0xf bank_mask:0xf", " row_mask:0x5 bank_mask:0xf bound_ctrl:1", " row_mask:0xf bank_mask:0xa")
    found = [control + mask for control in controls for mask in masks]
    return found + ([f"dpp8:{list(EIGHT)}".replace(" ", "")] if level >= 100 else [])


def moved_variants(slots: list[int], packed: bool, level: int) -> Iterator[Variant]:
    """DPP, in the short and the long form."""
    for number, control in enumerate(lane_controls(level)):
        yield Variant("dpp", control=control)
        if number % 6 == 0:
            yield from (replace(variant, control=control) for variant in sign_variants(slots[:2], "dpp"))
        if level >= 110 and number % 5 == 0:
            yield from (replace(variant, control=control) for variant in long_variants(slots, packed, "e64_dpp"))


def narrow_slots(sources: tuple[str, ...], results: tuple[str, ...]) -> list[int]:
    """The sources, and 3 for the result, that are halves of registers."""
    return [slot for slot in encoded_slots(sources) if bits_of(sources[slot]) == 16] + ([3] if bits_of(results[0]) == 16 else [])


def half_variants(sources: tuple[str, ...], results: tuple[str, ...]) -> Iterator[Variant]:
    """Halves of registers in the short form."""
    narrow = narrow_slots(sources, results)
    yield from (Variant("e32", high=1 << slot) for slot in narrow)
    if narrow:
        yield Variant("e32", high=sum(1 << slot for slot in narrow))


def variants(name: str, row_format: str, sources: tuple[str, ...], results: tuple[str, ...], level: int) -> list[Variant]:
    """Every candidate for an instruction; LLVM refuses those that it does not have."""
    slots = [slot for slot in encoded_slots(sources) if sources[slot] != "mask"]
    found = list(long_variants(slots, row_format == "vop3p"))
    if name in BYTE_SOURCES:
        found += [Variant("e64", high=2), Variant("e64", high=3)]
    if row_format in ("vop1", "vop2", "vopc"):
        found += [] if level >= 110 else selected_variants(slots)
        found += half_variants(sources, results) if level >= 110 else []
    return found + list(moved_variants(slots, row_format == "vop3p", level))


# ---------------------------------------------------------------------------------------------------------------- text
def mnemonic_of(mnemonic: str, row_format: str, variant: Variant) -> str:
    short = row_format in ("vop1", "vop2", "vopc")
    if variant.form in ("", "e64") and not short:
        return mnemonic
    if variant.form.startswith("e64_dpp") and not short:
        return mnemonic + "_e64_dpp"
    return mnemonic + (f"_{variant.form}" if variant.form else "")


def has_lists_of_signs(name: str, packed: bool) -> bool:
    """Whether signs follow the operands, as neg_lo and neg_hi; V_FMA_MIX has one sign for each operand, written like those of VOP3."""
    return packed and "_mix" not in name


def decorated(text: str, name: str, variant: Variant, slot: int, packed: bool, half: str) -> str:
    """A source with its signs, and the half of its register where `half` names one."""
    text += half
    if variant.extended >> slot & 1:
        return f"sext({text})"
    if has_lists_of_signs(name, packed):
        return text
    text = f"|{text}|" if variant.absolute >> slot & 1 else text
    return f"-{text}" if variant.negative >> slot & 1 else text


def listed(name: str, mask: int, slots: list[int], usual: int = 0) -> str:
    if mask == usual:
        return ""
    return f" {name}:[{','.join(str(mask >> slot & 1) for slot in slots)}]"


def usual_high(name: str) -> int:
    """op_sel_hi where the text does not say it."""
    return 0 if "_mix" in name else 7


def after_operands(name: str, variant: Variant, slots: list[int], packed: bool, is_compare: bool, dotted: bool) -> str:
    """What follows the operands."""
    text = ""
    if packed:
        text += listed("op_sel", variant.high & 7, slots)
        text += listed("op_sel_hi", usual_high(name) ^ variant.other_high, slots, usual_high(name))
        if has_lists_of_signs(name, packed):
            text += listed("neg_lo", variant.negative, slots) + listed("neg_hi", variant.absolute, slots)
    elif name in BYTE_SOURCES and variant.high < 4:
        text += f" byte_sel:{chosen_byte(variant)}" if variant.high else ""
    elif variant.high and not dotted:
        text += listed("op_sel", variant.high, slots if is_compare else [*slots, 3])
    text += variant.output
    if variant.form == "sdwa":
        if not is_compare:
            text += f" dst_sel:{variant.written} dst_unused:{variant.unused}"
        text += "".join(f" src{slot}_sel:{variant.selections[slot]}" for slot in slots[:2])
    return text + (" " + variant.control if variant.control else "")


# ------------------------------------------------------------------------------------------------------------- sources
def half_chosen(bits: int, low: int, high: int, width: int) -> int:
    mask = (1 << width) - 1
    return (bits >> width * low & mask) | (bits >> width * high & mask) << width


def packed_source(name: str, variant: Variant, slot: int, kind: str, bits: int) -> tuple[str, int]:
    """A source of VOP3P."""
    if name == "v_pk_mov_b32":                              # op_sel alone chooses, as its text says; op_sel_hi has no say
        return kind, bits
    low, high = variant.high >> slot & 1, (usual_high(name) ^ variant.other_high) >> slot & 1
    flips = variant.negative >> slot & 1, variant.absolute >> slot & 1
    if "_mix" in name:
        kind, bits = ("f16", bits >> 16 * low & M16) if high else (kind, bits & M32)
        sign = 1 << bits_of(kind) - 1
        return kind, (bits & ~sign if flips[1] else bits) ^ (sign if flips[0] else 0)
    if kind == "f32":                                       # what a dot product adds to
        return kind, bits ^ (1 << 31 if flips[0] else 0)
    if name.startswith(("v_dot4", "v_dot8")) or (name.startswith("v_dot2") and slot == 2):
        return kind, bits
    width = 32 if kind == "u64" else 16
    floating = re.search(r"_b?f(16|32)$", name) is not None
    bits = half_chosen(bits, low, high, width)
    return kind, bits ^ (sum(flip << width * (part + 1) - 1 for part, flip in enumerate(flips)) if floating else 0)


def selected_source(variant: Variant, slot: int, kind: str, bits: int) -> int:
    """A source of SDWA."""
    shift, width = SELECTIONS[variant.selections[slot]]
    value = bits >> shift & (1 << width) - 1
    if variant.extended >> slot & 1 and value >> width - 1:
        value |= M32 & -(1 << width)
    return value & (1 << bits_of(kind)) - 1


def source_bits(name: str, row_format: str, variant: Variant, slot: int, kind: str, bits: int) -> tuple[str, int]:
    """What the operation sees of a source: its type and its bits."""
    if variant.form == "":
        return kind, bits
    if row_format == "vop3p":
        return packed_source(name, variant, slot, kind, bits)
    size = bits_of(kind)
    if variant.form == "sdwa" and slot < 2:
        bits = selected_source(variant, slot, kind, bits)
    elif name in BYTE_SOURCES:
        bits >>= 8 * chosen_byte(variant)
    elif variant.high >> slot & 1 and size == 16:
        bits >>= 16
    sign = 1 << size - 1
    bits = bits & ~sign if variant.absolute >> slot & 1 else bits
    return kind, bits ^ (sign if variant.negative >> slot & 1 else 0)


def source_lane(control: str, lane: int, lanes: int) -> int | None:
    """The lane that DPP reads; None where there is none."""
    row, place = lane & ~15, lane & 15
    name, _, number = control.split(" ")[0].partition(":")
    amount = int(number) if number.isdigit() else 0
    if name == "row_bcast":
        return (row - 1 if row else None) if amount == 15 else 31 if lane >= 32 else None
    shifted = {"row_shl": place + amount, "row_shr": place - amount}.get(name)
    if shifted is not None:
        return row + shifted if 0 <= shifted < 16 else None
    moved = {"wave_shl": lane + 1, "wave_shr": lane - 1}.get(name)
    if moved is not None:
        return moved if 0 <= moved < lanes else None
    return {"quad_perm": lane & ~3 | QUAD[lane & 3], "row_ror": row + (place - amount) % 16, "row_mirror": row + 15 - place,
            "row_half_mirror": lane ^ 7, "wave_rol": (lane + 1) % lanes, "wave_ror": (lane - 1) % lanes, "row_share": row + amount,
            "row_newbcast": row + amount, "row_xmask": row + (place ^ amount), "dpp8": lane & ~7 | EIGHT[lane & 7]}[name]


def is_written(control: str, lane: int, found: bool) -> bool:
    """Whether DPP writes a lane; `found`: it reads one."""
    masks = dict(re.findall(r"(row_mask|bank_mask):0x([0-9a-f])", control))
    if not masks:
        return True
    allowed = int(masks["row_mask"], 16) >> (lane >> 4) & int(masks["bank_mask"], 16) >> (lane >> 2 & 3) & 1
    return bool(allowed) and (found or "bound_ctrl" in control)


# ------------------------------------------------------------------------------------------------------------- results
def selected_result(variant: Variant, old: int, bits: int) -> int:
    """A register that SDWA writes."""
    shift, width = SELECTIONS[variant.written]
    bits &= (1 << width) - 1
    if variant.unused == "UNUSED_SEXT" and bits >> width - 1:
        bits |= M32 & -(1 << width)
    kept = old & ~((1 << width) - 1 << shift) if variant.unused == "UNUSED_PRESERVE" else 0
    return (kept | bits << shift) & M32


#: Integer operations whose results clamp limits to what the type holds.
SATURATING = re.compile(r"v_(pk_)?((add|sub|subrev|addc|subb|subbrev|mad)_|mul_(lo_u16|[iu]32_[iu]24)|m?sad_|dot\d)")


def limits(name: str, size: int) -> tuple[int, int] | None:
    """The least and the greatest integer that clamp leaves; None: it has no say."""
    if not SATURATING.match(name) or "legacy_f" in name:
        return None
    if re.search(r"_iu?(4|8|16|24|32|64)(_|$)", name):
        return -(1 << size - 1), (1 << size - 1) - 1
    return 0, (1 << size) - 1
