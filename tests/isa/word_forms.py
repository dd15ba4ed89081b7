"""Machine words of every opcode with every value that matters in every field of its format, one field at a time.

The layouts below say where the fields of each format are, independently of the encoder and the decoder that they test.
Source: AMD "Southern Islands" to "RDNA 4" ISA documents, chapter "Microcode formats".
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyaco.isa import opcodes

LITERAL = 0x3456
FLOATS = (240, 241, 247, 248)
SPECIAL = (106, 107, 108, 123, 124, 125, 126, 127)
BEYOND = (235, 238, 239, 251, 252, 253, 254)
SCALARS = (0, 1, 2, 101, 104, *SPECIAL, 128, 129, 192, 193, 208, *FLOATS, *BEYOND, 255)
VECTORS = (256, 257, 383, 384, 511)
HALVES = (0, 1, 127, 128, 255)

# What the fields of a kind take, first the plain value.
VALUES: dict[str, Sequence[int]] = {
    "src": (260, *VECTORS, *SCALARS), "ssrc": (16, *SCALARS), "sdst": (16, 0, 1, 2, 101, 104, *SPECIAL),
    "sreg": (16, 0, 1, 2, 101, 104, *SPECIAL), "vgpr": (4, *HALVES), "vdst": (20, *HALVES), "vdata": (40, *HALVES),
    "vaddr": (30, *HALVES), "simm16": (0, 1, 7, 0x1234, 0x7FFF, 0x8000, 0xFFFF),
    "offset16": (0, 1, 0x1234, 0xFFFF), "offset8": (0, 1, 255),
    "offset12": (0, 1, 0x7FF, 0x800, 0xFFF), "offset13": (0, 1, 0x800, 0xFFF, 0x1000, 0x1FFF),
    "offset20": (0, 4, 0x12344, 0xFFFFF), "offset21": (0, 4, 0x12344, 0xFFFFF, 0x100000, 0x1FFFFF),
    "offset24": (0, 4, 0x123456, 0x7FFFFF, 0x800000, 0xFFFFFF), "bit": (0, 1), "bits2": range(4), "bits3": range(8), "bits4": range(16),
    "set3": (0, 1, 2, 4, 7), "set4": (0, 1, 2, 4, 8, 15), "mask4": (15, 0, 1, 2, 3, 7, 8), "all3": (7, 0, 1, 2, 4),
    "sbase": (8, 0, 1, 50, 53), "quad": (4, 0, 1, 25, 27), "format": (1, 0, 5, 22, 63, 64, 77, 127),
    "dpp": (0, 0xE4, 0x101, 0x10F, 0x111, 0x121, 0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15F, 0x160, 0x16F),
    "lanes": (0xFAC688, 0, 0xFFFFFF), "select": (6, 0, 1, 2, 3, 4, 5), "unused": (0, 1, 2),
    "target": (0, 1, 7, 8, 9, 12, 13, 14, 15, 16, 20, 21, 22, 32, 33, 63), "attribute": (0, 1, 31, 32, 33, 63), "imm9": (0, 1, 2, 3),
    "vdst7": (10, 0, 1, 127), "vgpr2": (5, *HALVES), "dsrc": (260, *VECTORS, *SCALARS), "on": (1,), "message": (128, 129, 131, 133),
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of a format: first bit in the instruction, width and what it takes."""

    first: int
    width: int
    kind: str


Layout = dict[str, Field]


def layout(text: str) -> Layout:
    """A layout from lines "name first width kind"."""
    return {name: Field(int(first), int(width), kind) for name, first, width, kind in (item.split() for item in text.split(","))}


SOURCES3 = "src0 32 9 src,src1 41 9 src,src2 50 9 src"
MODIFIERS3 = "abs 8 3 set3,op_sel 11 4 set4,clamp 15 1 bit,omod 59 2 bits2,neg 61 3 set3"
DPP16 = (
    "src0 0 8 vgpr,dpp_ctrl 8 9 dpp,fi 18 1 bit,bound_ctrl 19 1 bit,neg0 20 1 bit,abs0 21 1 bit,neg1 22 1 bit,abs1 23 1 bit,"
    "bank_mask 24 4 mask4,row_mask 28 4 mask4"
)
DPP8 = "src0 0 8 vgpr,lanes 8 24 lanes"
SDWA1 = "src0 0 8 vgpr,sel0 16 3 select,sext0 19 1 bit,neg0 20 1 bit,abs0 21 1 bit"
SDWA_OUT = "dst_sel 8 3 select,dst_unused 11 2 unused,clamp 13 1 bit"
SDWA2 = "sel1 24 3 select,sext1 27 1 bit,neg1 28 1 bit,abs1 29 1 bit"


class Formats:
    """The formats of one gfx level."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.generation = opcodes.generation_of(level)
        self.old = level < 80
        self.compact = level < 80 or level >= 100  # GFX8 and GFX9 moved several fields
        self.unified = 92 <= level < 100  # CDNA 2 and later: memory accesses name the register file, and have another scope bit

    def has_constants(self, row: opcodes.Row, form: str) -> bool:
        """Whether the constant 0 stands in the fields of sources that the opcode lacks, as LLVM 23 has it."""
        return self.level in (117, 130) and (form in ("vop3", "vop3p") or (form.startswith("vop3_dpp") and row.name.startswith("v_cmpx")))

    # ---------------------------------------------------------------------------------------------------- scalar ALU
    def sop1(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        source = "message" if "sendmsg" in row.name else "ssrc"
        yield "sop1", 0xBE800000 | row.numbers[self.generation] << 8, layout(f"ssrc0 0 8 {source},sdst 16 7 sdst")

    def sop2(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        word = 0x80000000 | row.numbers[self.generation] << 23 | ("literal" in row.flags) * (LITERAL << 32 | 1 << 64)
        yield "sop2", word, layout("ssrc0 0 8 ssrc,ssrc1 8 8 ssrc,sdst 16 7 sdst")

    def sopc(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        second = "bits4" if row.name == "s_set_gpr_idx_on" else "ssrc"
        yield "sopc", 0xBF000000 | row.numbers[self.generation] << 16, layout(f"ssrc0 0 8 ssrc,ssrc1 8 8 {second}")

    def sopk(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        word = 0xB0000000 | row.numbers[self.generation] << 23
        if row.name == "s_setreg_imm32_b32":
            word |= LITERAL << 32 | 1 << 64
        yield "sopk", word, layout("simm16 0 16 simm16,sdst 16 7 sdst")

    def sopp(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        yield "sopp", 0xBF800000 | row.numbers[self.generation] << 16, layout("simm16 0 16 simm16")

    def smem(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        number = row.numbers[self.generation]
        if self.old:
            word = 0xC0000000 | number << 22
            yield "smrd", word | 1 << 8, layout("offset 0 8 offset8,sbase 9 6 sbase,sdst 15 7 sdst")
            yield "smrd", word, layout("offset 0 8 sreg,sbase 9 6 sbase,sdst 15 7 sdst")
            if self.level >= 70:
                yield "smrd", word | 0xFF | LITERAL << 32 | 1 << 64, layout("sbase 9 6 sbase,sdst 15 7 sdst")
        elif self.level < 100:
            base = "sbase 0 6 sbase,sdst 6 7 sdst,glc 16 1 bit"
            word = 0xC0000000 | number << 18
            offset = "offset20" if self.level < 90 else "offset21"
            yield "smem", word | 1 << 17, layout(f"{base},offset 32 {offset[-2:]} {offset}")
            yield "smem", word, layout(f"{base},soffset 32 7 sreg")
            if self.level >= 90:
                yield "smem", word | 3 << 17 - 1 & ~(1 << 16) | 1 << 14, layout(f"{base},offset 32 21 offset21,soffset 57 7 sreg")
        elif self.level < 120:
            cache = "dlc 14 1 bit,glc 16 1 bit" if self.level < 110 else "dlc 13 1 bit,glc 14 1 bit"
            none = 125 if self.level < 110 else 124
            base = f"sbase 0 6 sbase,sdst 6 7 sdst,{cache},offset 32 21 offset21"
            yield "smem", 0xF4000000 | number << 18 | none << 57, layout(base)
            yield "smem", 0xF4000000 | number << 18, layout(f"{base},soffset 57 7 sreg")
        else:
            base = "sbase 0 6 sbase,sdst 6 7 sdst,scope 21 2 bits2,th 23 2 bits2,offset 32 24 offset24"
            base += ",nv 20 1 bit,scale 56 1 bit" if self.level >= 125 else ""
            yield "smem", 0xF4000000 | number << 13 | 124 << 57, layout(base)
            yield "smem", 0xF4000000 | number << 13, layout(f"{base},soffset 57 7 sreg")

    # ---------------------------------------------------------------------------------------------------- vector ALU
    def vop(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        form, number = row.format, row.numbers.get(self.generation, -1)
        if self.generation in row.second:
            form, number = row.second[self.generation]
        if form == "vop1":
            yield from self.short(row, 0x7E000000 | number << 9, "vdst 17 8 vdst")
        elif form == "vop2":
            yield from self.short(row, number << 25, "vsrc1 9 8 vgpr2,vdst 17 8 vdst")
        elif form == "vopc":
            yield from self.short(row, 0x7C000000 | number << 17, "vsrc1 9 8 vgpr2")
        wide = {"vop1": 0x180 if self.compact else 0x140, "vop2": 0x100}.get(form, 0) + number
        if "literal" not in row.flags:
            yield from self.vop3(row, wide)

    def short(self, row: opcodes.Row, word: int, fields: str) -> Iterator[tuple[str, int, Layout]]:
        kind = row.format if row.format in ("vop1", "vop2", "vopc") else "vop2"
        if "literal" in row.flags:
            yield kind, word | LITERAL << 32 | 1 << 64, layout(f"{fields},src0 0 9 src")
            return
        yield kind, word, layout(f"{fields},src0 0 9 src")
        if not opcodes_sources(row):
            return
        two = kind != "vop1"
        if self.level >= 80:
            yield f"{kind}_dpp16", word | 250, {**layout(fields), **shifted(DPP16, 32)}
        if self.level >= 100:
            yield f"{kind}_dpp8", word | 233, {**layout(fields), **shifted(DPP8, 32)}
            yield f"{kind}_dpp8", word | 234, {**layout(fields), **shifted(DPP8, 32)}
        if 80 <= self.level < 110:
            parts = [SDWA1, *([SDWA2] if two else [])]
            if kind != "vopc":
                parts.append(SDWA_OUT + (",omod 14 2 bits2" if self.level >= 90 else ""))
            elif self.level >= 90:
                yield f"{kind}_sdwa", word | 249 | 1 << 47, {**layout(fields), **shifted(",".join([*parts, "sdst 8 7 sdst"]), 32)}
            yield f"{kind}_sdwa", word | 249, {**layout(fields), **shifted(",".join(parts), 32)}
            if self.level >= 90:
                yield f"{kind}_sdwa", word | 249 | 1 << 55, {**layout(fields), **shifted("src0 0 8 ssrc", 32)}
                if two:
                    second = layout(fields) | {"vsrc1": Field(9, 8, "ssrc")}
                    yield f"{kind}_sdwa", word | 249 | 1 << 63, {**second, **shifted(SDWA1, 32)}

    def vop3(self, row: opcodes.Row, number: int) -> Iterator[tuple[str, int, Layout]]:
        two_results = len([token for token in row.definitions if token not in opcodes.IMPLICIT]) > 1
        if "interpolation" in row.flags or row.format == "vintrp":
            attribute = "attribute 32 6 attribute,channel 38 2 bits2,high 40 1 bit,src1 41 9 src,src2 50 9 src"
            word = (0xD4000000 if self.level >= 100 else 0xD0000000) | number << 16
            yield "vop3_interp", word, layout(f"vdst 0 8 vdst,{attribute},{MODIFIERS3}")
            return
        sources = SOURCES3 if row.format == "vop3" else SOURCES3.replace(",src2", ",src2")
        tail = "omod 59 2 bits2,neg 61 3 set3"
        if self.old:
            head = "sdst 8 7 sdst" if two_results else "abs 8 3 set3,clamp 11 1 bit"
            yield "vop3", 0xD0000000 | number << 17, layout(f"vdst 0 8 vdst,{head},{sources},{tail}")
            return
        head = f"sdst 8 7 sdst,clamp 15 1 bit,{tail}" if two_results else MODIFIERS3
        word = (0xD4000000 if self.level >= 100 else 0xD0000000) | number << 16
        yield "vop3", word, layout(f"vdst 0 8 vdst,{head},{sources}")
        if self.level >= 110 and opcodes_sources(row):
            rest = sources.split(",", 1)[1]
            control = DPP16.replace(",neg0 20 1 bit,abs0 21 1 bit,neg1 22 1 bit,abs1 23 1 bit", "")
            fields = layout(f"vdst 0 8 vdst,{head},{rest}")
            yield "vop3_dpp16", word | 250 << 32, {**fields, **shifted(control, 64)}
            yield "vop3_dpp8", word | 233 << 32, {**fields, **shifted(DPP8, 64)}
            yield "vop3_dpp8", word | 234 << 32, {**fields, **shifted(DPP8, 64)}

    def vop3p(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        if "matrix" in row.flags:
            yield from self.matrix(row)
            return
        word = (0xCC000000 if self.level >= 100 else 0xD3800000) | row.numbers[self.generation] << 16
        if "scale" in row.name and self.level >= 125:
            yield from self.scaled(row, word)
            return
        head = "vdst 0 8 vdst,neg_hi 8 3 set3,op_sel 11 3 set3,op_sel_hi2 14 1 on,clamp 15 1 bit,neg_lo 61 3 set3"
        if "f8f6f4" in row.name or "mix" in row.name:
            head = head.replace("14 1 on", "14 1 bit") + ",op_sel_hi 59 2 bits2"
        else:
            head += ",op_sel_hi 59 2 all3"
        yield "vop3p", word, layout(f"{head},{SOURCES3}")
        if self.level >= 110:
            rest = SOURCES3.split(",", 1)[1]
            control = DPP16.replace(",neg0 20 1 bit,abs0 21 1 bit,neg1 22 1 bit,abs1 23 1 bit", "")
            yield "vop3p_dpp16", word | 250 << 32, {**layout(f"{head},{rest}"), **shifted(control, 64)}
            yield "vop3p_dpp8", word | 233 << 32, {**layout(f"{head},{rest}"), **shifted(DPP8, 64)}

    def matrix(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        """Matrix operations of CDNA; those with scales have them in an instruction in front."""
        word = 0xD3800000 | row.numbers[self.generation] << 16
        fields = f"vdst 0 8 vdst,cbsz 8 3 bits3,abid 11 4 bits4,acc_cd 15 1 bit,{SOURCES3},acc_a 59 1 bit,acc_b 60 1 bit,blgp 61 3 bits3"
        if opcodes_count(row) < 5:
            yield "vop3p", word, layout(fields)
            return
        scales = layout("op_sel 11 2 bits2,scale0 32 9 src,scale1 41 9 src,op_sel_hi 59 2 bits2")
        moved = {name: Field(field.first + 64, field.width, field.kind) for name, field in layout(fields.replace("abid 11 4", "abid 12 3")).items()}
        yield "vop3p_scaled", 0xD3AC0000 | word << 64 | 1 << 75, {**scales, **moved}

    def scaled(self, row: opcodes.Row, word: int) -> Iterator[tuple[str, int, Layout]]:
        """Scales of wave matrix operations (GFX12.5), alone or in front of an operation."""
        scales = "scale_fmt_b 8 2 bits2,scale_a 11 1 bit,reuse 13 2 bits2,src0 32 9 src,src1 41 9 src,scale_b 59 1 bit,scale_fmt_a 61 2 bits2"
        if not row.definitions:
            yield "vop3p", word | 0x100 << 50, layout(scales)
            return
        front = 0xCC000000 | (0x3A if "scale16" in row.name else 0x35) << 16 | 0x100 << 50
        kinds = "abs2 10 1 bit,neg2 63 1 bit"
        if "f8f6f4" in row.name:
            kinds += ",type_a 11 3 bits3,type_b 59 2 bits2,type_b2 14 1 bit"
        else:
            word |= 1 << 14 | 3 << 59
        moved = {name: Field(field.first + 64, field.width, field.kind) for name, field in layout(f"vdst 0 8 vdst,{SOURCES3},{kinds}").items()}
        yield "vop3p_scaled", front | word << 64, {**{f"front_{name}": field for name, field in layout(scales).items()}, **moved}

    def vintrp(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        word = (0xC8000000 if self.compact else 0xD4000000) | row.numbers[self.generation] << 16
        source = "imm9" if row.name == "v_interp_mov_f32" else "vgpr"
        yield "vintrp", word, layout(f"vsrc 0 8 {source},channel 8 2 bits2,attribute 10 6 attribute,vdst 18 8 vdst")
        if self.generation in row.second:
            yield from self.vop3(row, row.second[self.generation][1])

    def vinterp_inreg(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        word = 0xCD000000 | row.numbers[self.generation] << 16
        fields = "vdst 0 8 vdst,wait_exp 8 3 bits3,op_sel 11 4 set4,clamp 15 1 bit,neg 61 3 set3"
        yield "vinterp", word, layout(f"{fields},{SOURCES3}")

    def vopd(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        if self.generation not in row.numbers:
            return
        for other in opcodes.rows():
            if other.is_second_half(self.generation):
                word = 0xC8000000 | row.numbers[self.generation] << 22 | other.second_half << 17
                if row.name.endswith(("aak_f32", "amk_f32")) or other.name.endswith(("aak_f32", "amk_f32")):
                    word |= LITERAL << 64 | 1 << 96
                first = "srcx0 0 9 src,vsrcx1 9 8 vgpr,srcy0 32 9 dsrc,vsrcy1 41 8 vgpr2,vdsty 49 7 vdst7,vdstx 56 8 vdst"
                yield "vopd", word, {name: pair_friendly(name, field) for name, field in layout(first).items()}

    def vopd3(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        """Dual instructions of three dwords (GFX12.5), each with every second half."""
        if row.wide_number < 0 or "wide_second" in row.flags or not row.is_dual_half(self.generation):
            return
        for other in opcodes.rows():
            if other.wide_number >= 0 and other.is_dual_half(self.generation) and "wide_first" not in other.flags:
                word = 0xCF000000 | row.wide_number << 18 | other.wide_number << 12
                fields = "srcx0 0 9 wide0,srcy0 32 9 wide3,vdstx 64 8 vdst,vdsty 88 8 vgpr2"
                fields += "".join(f",neg{half}{i} {41 + 3 * k + i} 1 bit" for k, half in enumerate("xy") for i in range(2))
                for half, part, second, third in (("x", row, 48, 56), ("y", other, 72, 80)):
                    count = opcodes_count(part) - (part.name.endswith("fmac_f32") or "dot2acc" in part.name)
                    fields += f",src{half}1 {second} 8 wide{half}" if count > 1 else ""
                    if "cndmask" in part.name:
                        fields += f",mask{half} {third} 7 sreg"
                    elif count > 2 or "bitop2" in part.name:
                        fields += f",src{half}2 {third} 8 third{half}"
                yield "vopd3", word, layout(fields)

    # -------------------------------------------------------------------------------------------------------- memory
    def ds(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        number = row.numbers[self.generation]
        word = 0xD8000000 | number << (18 if self.compact else 17)
        gds = "" if self.level >= 120 else ",gds 17 1 bit" if self.compact else ",gds 16 1 bit"
        if "gws" in row.name or "ordered" in row.name:
            word |= 1 << (17 if self.compact else 16)
            gds = ""
        gds += ",acc 25 1 bit" if self.unified else ""
        offsets = "offset0 0 8 offset8,offset1 8 8 offset8" if "two_offsets" in row.flags else "offset 0 16 offset16"
        yield "ds", word, layout(f"{offsets},addr 32 8 vaddr,data0 40 8 vdata,data1 48 8 vgpr2,vdst 56 8 vdst{gds}")

    def ldsdir(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        wait = ",wait_vsrc 23 1 bit" if self.level >= 120 else ""
        fields = f"vdst 0 8 vdst,channel 8 2 bits2,attribute 10 6 attribute,wait_vdst 16 4 bits4{wait}"
        yield "ldsdir", 0xCE000000 | row.numbers[self.generation] << 20, layout(fields)

    def buffer(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        number, typed, level = row.numbers[self.generation], row.format == "mtbuf", self.level
        if level >= 120:
            first = 0xE0 if level >= 130 else 0x80
            word = 0xC4000000 | (number | typed * first) << 14 | (0 if typed else 1 << 55)
            fields = (
                "soffset 0 7 sreg,tfe 22 1 bit,vdata 32 8 vdata,rsrc 41 7 sreg4,scope 50 2 bits2,th 52 3 bits3,vaddr 64 8 vaddr,offset 72 24 offset24"
            )
            both = 62
            fields += ",format 55 7 format" if typed else ""
            fields += ",nv 7 1 bit" if level >= 125 else ""
        elif level >= 110:
            word = (0xE8000000 if typed else 0xE0000000) | number << (15 if typed else 18)
            fields = (
                "offset 0 12 offset12,slc 12 1 bit,dlc 13 1 bit,glc 14 1 bit,vaddr 32 8 vaddr,vdata 40 8 vdata,rsrc 48 5 quad,"
                "tfe 53 1 bit,soffset 56 8 ssrc"
            )
            both = 54
            fields += ",format 19 7 format" if typed else ""
        else:
            fields = "offset 0 12 offset12,glc 14 1 bit,vaddr 32 8 vaddr,vdata 40 8 vdata,rsrc 48 5 quad,tfe 55 1 bit,soffset 56 8 ssrc"
            fields += ",slc 54 1 bit" if typed or self.compact else ",slc 17 1 bit"
            fields += ",dlc 15 1 bit" if level >= 100 else ""
            fields += (",sc1 53 1 bit" if typed else ",sc1 15 1 bit") if self.unified else ""
            to_lds = row.name == "buffer_store_lds_dword" and 80 <= level < 100
            fields += ",format 19 7 format" if typed else f",lds 16 1 {'on' if to_lds else 'bit'}"
            fields = fields.replace("vdata 40 8 vdata,", "") if to_lds else fields
            both = 12
            if typed and self.compact:
                word = 0xE8000000 | (number & 7) << 16 | (number >> 3) << 53
            elif typed:
                word = 0xE8000000 | number << 15
            else:
                word = 0xE0000000 | (number & 0x7F) << 18 | (number >> 7) << 25
        if not row.operands:
            yield row.format, word & ~(1 << 55), {}
            return
        for address in range(4):
            yield row.format, word | address << both, layout(fields)
        if self.old:
            yield row.format, word | 1 << 15, layout(fields)

    def flat(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        number, level = row.numbers[self.generation], self.level
        segment = {"flat": 0, "scratch": 1, "global": 2}[row.format]
        none = 0x7C if level >= 110 else 0x7D if level >= 100 else 0x7F
        if level >= 120:
            word = 0xEC000000 | number << 14 | segment << 24
            fields = "vdst 32 8 vdst,scope 50 2 bits2,th 52 3 bits3,vdata 55 8 vdata,vaddr 64 8 vaddr,offset 72 24 offset24"
            fields += ",nv 7 1 bit,scale 48 1 bit" if level >= 125 else ""
            saddr, offset_on = 0, 49
        else:
            word = 0xDC000000 | number << 18 | segment << (16 if level >= 110 else 14)
            fields = "vaddr 32 8 vaddr,vdata 40 8 vdata,vdst 56 8 vdst"
            if level >= 90:
                width = (11 if segment == 0 else 12) if 100 <= level < 110 else 12 if segment == 0 else 13
                fields += f",offset 0 {width} offset{12 if width < 12 else width}"
            fields += ",dlc 13 1 bit,glc 14 1 bit,slc 15 1 bit" if level >= 110 else ",glc 16 1 bit,slc 17 1 bit"
            fields += ",dlc 12 1 bit" if 100 <= level < 110 else ""
            fields += ",lds 13 1 bit" if 90 <= level < 110 else ""
            fields += ",sc1 25 1 bit,acc 55 1 bit" if self.unified else ""
            saddr, offset_on = 48, 55
        if segment == 0:
            yield "flat", word | (none << saddr if level >= 100 else 0), layout(fields)
            if level >= 125:
                yield "flat", word, layout(f"{fields},saddr {saddr} 7 sreg")
            return
        yield row.format, word | none << saddr | (segment == 1 and level >= 110) << offset_on, layout(fields)
        yield row.format, word, layout(f"{fields},saddr {saddr} 7 sreg")
        if segment == 1:
            if level >= 110:
                yield "scratch", word | 1 << offset_on, layout(f"{fields},saddr {saddr} 7 sreg")
                yield "scratch", word | none << saddr, layout(fields)
            elif level >= 100:
                yield "scratch", word | 0x7F << saddr, layout(fields)

    # -------------------------------------------------------------------------------------------- images and exports
    def mimg(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        """Images: every field with the first shape of the address, of the other shapes the addresses alone."""
        number, level = row.numbers[self.generation], self.level
        if "tensor" in row.flags:
            groups = "group0 64 8 sreg4,group1 72 8 sreg8,group2 80 8 sreg4,group3 88 8 sreg4"
            word = 0xD0400001 | number << 14 | 0x7C << 56
            yield "vimage", word, layout(f"{groups},r128 4 1 bit,scope 50 2 bits2,th 52 3 bits3,nv 7 1 bit")
            return
        if level < 100:
            word = 0xF0000000 | (number & 0x7F) << 18 | number >> 7
            yield "mimg", word, layout(f"{IMAGE},{IMAGE_CACHE},lwe 17 1 bit,da 14 1 bit,short 15 1 bit" + (",d16 63 1 bit" if level >= 80 else ""))
            return
        for position, (dim, half, count) in enumerate(image_shapes(row, level)):
            for form, word, registers, fields in self.image_forms(row, number, dim, half, count):
                bits = layout(fields)
                kept = bits if position == 0 else {name: bits[name] for name in bits if name in ("dmask", "rsrc", "vdata", "samp")}
                yield form, word, {**kept, **registers}

    def image_forms(self, row: opcodes.Row, number: int, dim: int, half: bool, count: int) -> Iterator[tuple[str, int, Layout, str]]:
        """Format, fixed bits, address registers and other fields for an address of `count` registers."""
        level, traced = self.level, "bvh" in row.flags
        if level >= 120:
            sampled = "sampler" in row.flags or row.name == "image_msaa_load"
            fields = "r128 4 1 bit,d16 5 1 bit,dmask 22 4 bits4x,vdata 32 8 vdata,rsrc 41 9 sreg8,scope 50 2 bits2,th 52 3 bits3"
            fields += ",tfe 3 1 bit,unrm 13 1 bit,lwe 40 1 bit,samp 55 9 sreg4" if sampled else ",tfe 55 1 bit"
            fields += ",nv 7 1 bit" if level >= 130 else ""
            word = (0xE4000000 if sampled else 0xD0000000) | number << 14 | dim | half << 6 | traced << 4
            yield "vsample" if sampled else "vimage", word, address_fields((64, 72, 80, 88, *(() if sampled else (56,))), count), fields
            return
        sizes = (2, 2, 2, 2, 2) if level >= 110 else (1,) * (5 if level < 103 else 13)
        if level >= 110:
            word = 0xF0000000 | number << 18 | dim << 2 | half << 16 | traced * 0x8080
            fields = (
                f"{IMAGE},unrm 7 1 bit,slc 12 1 bit,dlc 13 1 bit,glc 14 1 bit,r128 15 1 bit,d16 17 1 bit,tfe 53 1 bit,lwe 54 1 bit,samp 58 5 quad"
            )
        else:
            word = 0xF0000000 | (number & 0x7F) << 18 | number >> 7 | dim << 3 | half << 62 | traced * 0x9000
            fields = f"{IMAGE},{IMAGE_CACHE},lwe 17 1 bit,r128 15 1 bit,dlc 7 1 bit,d16 63 1 bit"
        yield "mimg", word, layout("vaddr 32 8 vaddr"), fields
        if level >= 110 and count > 1:
            yield "mimg_nsa", word | 1, address_fields((32, 64, 72, 80, 88), count), fields
        elif 1 < count <= len(sizes):
            positions = (32, *range(64, 160, 8))
            yield "mimg_nsa", word | (count + 2) // 4 << 1, address_fields(positions, count), fields

    def exp(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        fields = "en 0 4 mask4,target 4 6 target,done 11 1 bit,src0 32 8 vgpr,src1 40 8 vgpr2,src2 48 8 vdst,src3 56 8 vdata"
        fields += ",row_en 13 1 bit" if self.level >= 110 else ",compr 10 1 bit,vm 12 1 bit"
        yield "exp", 0xF8000000 if self.compact else 0xC4000000, layout(fields)

    def of(self, row: opcodes.Row) -> Iterator[tuple[str, int, Layout]]:
        """Format name, fixed bits (with a marker above them when a dword has to follow) and layout."""
        makers = {
            "sop1": self.sop1, "sop2": self.sop2, "sopc": self.sopc, "sopk": self.sopk, "sopp": self.sopp, "smem": self.smem,
            "vop1": self.vop, "vop2": self.vop, "vopc": self.vop, "vop3": self.vop, "vop3p": self.vop3p, "vintrp": self.vintrp,
            "vinterp_inreg": self.vinterp_inreg, "vopd": self.vopd, "ds": self.ds, "ldsdir": self.ldsdir, "mubuf": self.buffer,
            "mtbuf": self.buffer, "flat": self.flat, "global": self.flat, "scratch": self.flat, "mimg": self.mimg, "exp": self.exp,
        }  # fmt: skip
        for form, word, fields in makers[row.format](row):
            # a constant in the fields of sources that the opcode lacks
            missing = [name for name in ("src0", "src1", "src2") if name in fields and name not in used_fields(row, fields)]
            constants = sum(0x80 << fields[name].first for name in missing) if self.has_constants(row, form) else 0
            yield form, word | constants, fields
        if row.format == "vopd":
            yield from self.vopd3(row)


VALUES |= {"sreg4": (16, 0, 4, 100, 104), "sreg8": (16, 0, 8, 96, 104), "quad8": (4, 0, 2, 24, 26), "bits4x": (15, *range(15))}


IMAGE = "dmask 8 4 bits4x,vaddr 32 8 vaddr,vdata 40 8 vdata,rsrc 48 5 quad8"
IMAGE_CACHE = "unrm 12 1 bit,glc 13 1 bit,tfe 16 1 bit,slc 25 1 bit,samp 53 5 quad"


def address_fields(positions: Sequence[int], count: int) -> Layout:
    """Registers of an address; what has no register of its own follows the last one."""
    kinds = ("vaddr", "vgpr", "vgpr2", "vdst", "vdata")
    return {f"vaddr{i or ''}": Field(position, 8, kinds[i % 5]) for i, position in enumerate(positions[:count])}


def image_shapes(row: opcodes.Row, level: int) -> Iterator[tuple[int, bool, int]]:
    """Dimension, whether coordinates are 16-bit, and address registers of what an image opcode can be, first the plain one."""
    if "bvh" in row.flags:
        wide = "64" in row.name
        yield from ((0, half, 5 - half if level >= 110 else 11 - 3 * half + wide) for half in (False, True))
        return
    multisampled = row.name == "image_msaa_load"
    for dim in (6, 7) if multisampled else (1, 0, 2, 3, 4, 5) if "sampler" in row.flags else (1, 0, 2, 3, 4, 5, 6, 7):
        for half in (False, True):
            parts = (0 if "resinfo" in row.name else (1, 2, 3, 3, 2, 3, 3, 4)[dim]) + ("lod" in row.flags)
            count = (parts + 1) // 2 if half else parts
            count += ("offset" in row.flags) + ("bias" in row.flags) + ("compare" in row.flags)
            if "gradients" in row.flags:
                gradients = (2, 4, 6, 4, 2, 4)[dim]
                count += (gradients // 2 + 1) // 2 * 2 if "half_gradients" in row.flags else gradients
            yield dim, half, count


def shifted(text: str, bits: int) -> Layout:
    """A layout of a dword behind the instruction."""
    return {f"extra_{name}": Field(field.first + bits, field.width, field.kind) for name, field in layout(text).items()}


def pair_friendly(name: str, field: Field) -> Field:
    """Halves of dual instructions read registers of different banks: their plain values must differ there."""
    kinds = {"vsrcx1": "bank1", "vsrcy1": "bank2", "srcy0": "bank3"}
    return Field(field.first, field.width, kinds.get(name, field.kind))


# some values of the second half lie in the banks of the first one's
VALUES |= {"bank1": (5, *HALVES), "bank2": (6, 9, *HALVES), "bank3": (263, 257, 261, *VECTORS, *SCALARS)}
# VOPD3: registers of both halves in different banks, 64-bit ones at even numbers
VALUES |= {"wide0": (260, 256, 382, 510, *SCALARS), "wide3": (262, 256, 257, 511, *SCALARS), "widex": (8, 0, 128, 254), "widey": (6, 0, 1, 255),
           "thirdx": (12, 0, 254), "thirdy": (10, 0, 1, 255)}  # fmt: skip


def opcodes_sources(row: opcodes.Row) -> bool:
    """Whether the opcode has sources at all."""
    return opcodes_count(row) > 0


def used_fields(row: opcodes.Row, fields: Layout) -> Layout:
    """The fields that count for an opcode; the others stay zero."""
    sources = [token for token in row.operands if token not in (*opcodes.IMPLICIT, "imm")]
    results = [token for token in row.definitions if token not in opcodes.IMPLICIT]
    unused: set[str] = set()
    if row.format.startswith(("sop", "smem")):
        unused |= {"ssrc0"} if not sources and "sendmsg" not in row.name else set()
        unused |= {"ssrc1"} if len(sources) < 2 and row.name != "s_set_gpr_idx_on" else set()
        if (
            not results
            and not (row.format == "sopk" and sources and row.name != "s_setreg_imm32_b32")
            and not (row.format == "smem" and len(sources) > 2)
        ):
            unused.add("sdst")
        if row.format == "smem" and not sources:
            unused |= {"sbase", "offset", "soffset", "glc", "dlc", "scope", "th", "nv", "scale"}
        if row.format == "sopp" and "imm" not in row.operands:
            unused.add("simm16")
    if "attribute" in fields and "src1" in fields:
        unused |= {"src1", "src2"} if row.name == "v_interp_mov_f32" else {"src2"} if len(sources) < 2 else set()
    elif row.format.startswith("vop") and row.format != "vopd":
        count = len(sources) - ("tied" in row.flags or row.name.startswith("v_swap") or row.name.endswith("_swap_b32"))
        unused |= {f"src{i}" for i in range(max(count, 0), 3)}
        if not results:
            unused.add("vdst")
        if not sources:
            unused |= {"src0", "vsrc1"}
    if row.format in ("flat", "global", "scratch"):
        loads = bool(results) or "atomic" in row.flags
        unused |= {"vdst"} if not loads else set()
        unused |= {"vdata"} if results or "load_lds" in row.name else set()
        unused |= {"vaddr"} if "no_address" in row.flags else set()
    if row.format == "mimg" and "tensor" not in row.flags:
        unused |= {"samp"} if "sampler" not in row.flags else set()
        unused |= {"unrm"} if "sampler" not in row.flags and fields["rsrc"].width == 9 else set()
    if row.format == "ds":
        first = 1 if "no_address" in row.flags else 0
        names = ("addr", "data0", "data1")
        unused |= {name for i, name in enumerate(names) if not first <= i < first + len(sources)}
        if not results:
            unused.add("vdst")
    if row.format.startswith("vop") and results and results[0][0] == "s" and "vdst" in fields:
        fields = fields | {"vdst": Field(fields["vdst"].first, fields["vdst"].width, "sdst")}
    return {name: field for name, field in fields.items() if name not in unused}


def opcodes_count(row: opcodes.Row) -> int:
    """How many sources the opcode has."""
    return sum(token not in opcodes.IMPLICIT and token != "imm" for token in row.operands)


def literal_field(fields: Layout, name: str) -> bool:
    return fields[name].kind in ("src", "ssrc", "dsrc", "bank3")


def assembled(fixed: int, fields: Layout, values: dict[str, int]) -> int:
    word = fixed
    for name, value in values.items():
        field = fields[name]
        word |= (value & ((1 << field.width) - 1)) << field.first
    return word


def words_of(form: str, row: opcodes.Row, fixed: int, fields: Layout, values: dict[str, int]) -> list[int]:
    """The dwords; a literal follows where a source says so."""
    word = assembled(fixed, fields, values)
    count = LENGTHS[form]
    marked = fixed >> (32 * count)
    if form.startswith("mimg_nsa"):
        count = 2 + max((field.first - 64) // 32 + 1 for name, field in fields.items() if field.first >= 64)
    result = [word >> (32 * i) & 0xFFFFFFFF for i in range(count)]
    if marked or any(values[name] == 255 and literal_field(fields, name) for name in values):
        # sums and products with a constant of 64 bits have two dwords
        result += [LITERAL] * (2 if "literal" in row.flags and row.operands[-1] == "v2" else 1)
    return result


LENGTHS = {
    **dict.fromkeys(("sop1", "sop2", "sopc", "sopk", "sopp", "smrd", "vop1", "vop2", "vopc", "vintrp", "ldsdir"), 1),
    **dict.fromkeys((""
    "vop3", "vop3_interp", "vop3p", "vinterp", "vopd", "ds", "mubuf", "mtbuf", "flat", "global", "scratch", "mimg", "mimg_nsa", "smem", "exp"), 2),
    **{f"{short}_{extra}": 2 for short in ("vop1", "vop2", "vopc") for extra in ("dpp16", "dpp8", "sdwa")},
    **{f"{wide}_{extra}": 3 for wide in ("vop3", "vop3p") for extra in ("dpp16", "dpp8")},
    "vimage": 3, "vsample": 3, "vopd3": 3, "vop3p_scaled": 4,
}  # fmt: skip


def plain_values(row: opcodes.Row, level: int, fields: Layout) -> dict[str, int]:
    """The plain value of every field; comparisons that write exec name it from GFX10 on."""
    # CDNA 2 and later, and GFX12.5, align tuples of VGPRs
    odd = 92 <= level < 100 or 125 <= level < 130
    plain = {name: VALUES[field.kind][0] + (odd and field.kind == "vgpr2") for name, field in fields.items()}
    sources = [token for token in row.operands if token not in (*opcodes.IMPLICIT, "imm")]
    first = 1 if "attribute" in fields else 0
    for position, token in enumerate(sources):
        name = f"src{position + first}"
        if name in plain and (token[0] == "s" or token == "mask"):
            plain[name] = 16
    if row.name.startswith("v_cmpx") and level >= 100 and "vdst" in plain:
        plain["vdst"] = 126
    return plain


def row_forms(row: opcodes.Row, level: int, generator: random.Random, combinations: int) -> Iterator[tuple[str, list[int]]]:
    """Format name and words: every value of every field with the others plain, then random combinations."""
    for form, fixed, every in Formats(level).of(row):
        fields = used_fields(row, every)
        plain = plain_values(row, level, fields)
        yield form, words_of(form, row, fixed, fields, plain)
        for name, field in fields.items():
            for value in VALUES[field.kind][1:]:
                if value >> field.width == 0:
                    yield form, words_of(form, row, fixed, fields, plain | {name: value})
        for _ in range(combinations):
            chosen = {name: generator.choice(VALUES[field.kind]) if generator.random() < 0.4 else plain[name] for name, field in fields.items()}
            if all(value >> fields[name].width == 0 for name, value in chosen.items()):
                yield form, words_of(form, row, fixed, fields, chosen)


def all_words(
    level: int, combinations: int = 4, seed: int = 1, rows: Iterable[opcodes.Row] | None = None
) -> Iterator[tuple[str, opcodes.Row, list[int]]]:
    """Format name, row and words of every opcode of a gfx level, or of those of `rows`."""
    generator = random.Random(seed)
    generation = opcodes.generation_of(level)
    lengths = 3 if level >= 120 else 2
    for row in opcodes.rows() if rows is None else rows:
        here = generation in row.numbers or generation in row.second or row.is_dual_half(generation)
        hidden = opcodes.is_encode_only(row, generation) and "matrix" not in row.flags and "wmma_scale" not in row.name
        if not here or row.name.startswith("p_") or hidden:
            continue
        for form, words in row_forms(row, level, generator, combinations):
            if form in ("mubuf", "mtbuf", "flat", "global", "scratch") and lengths == 3:
                words = words if len(words) >= 3 else [*words, 0]
            yield form, row, words
