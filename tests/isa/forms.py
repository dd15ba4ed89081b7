"""Instructions of every opcode in many forms: what the encoder, the decoder and the text tools must agree on.

A form is the dict of fields that the encoder takes. ``plain`` forms (registers, constants, literals, offsets) exist for
every opcode; ``lanes`` forms (SDWA, DPP) and ``modifiers`` forms do not, and a peer may refuse them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from pyaco.isa import opcodes
from pyaco.isa.text_facts import explicit, field_bits

NONE, VGPR0, LITERAL, VCC, EXEC = 0xFFFF, 256 * 4, 255 * 4, 106 * 4, 126 * 4
# From a VGPR to the AGPR of the same number, and the levels that load and store AGPRs.
AGPRS, UNIFIED = 256 * 4, range(92, 100)
VOP1, VOP2, VOPC, VOP3, VOP3P, SDWA, DPP16, DPP8 = 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000
# Text and encoding of images and interpolation come with their own tests; buffer-to-LDS stores have a syntax of their own.
SKIPPED = ("mimg", "vintrp", "vinterp_inreg", "ldsdir", "vopd", "exp")
Form = dict[str, Any]


def modifier(word: int, name: str, value: int) -> int:
    first, width = field_bits()[name]
    assert value >> width == 0
    return word & ~(((1 << width) - 1) << first) | value << first


class Maker:
    """Random forms of one opcode on one gfx level."""

    def __init__(self, row: opcodes.Row, number: int, level: int, generator: random.Random) -> None:
        self.row = row
        self.number = number
        self.level = level
        self.random = generator
        self.mask_dwords = 2 if level < 100 else 1

    def sgpr(self, dwords: int) -> int:
        step = min(dwords, 4) if dwords != 3 else 4
        return self.random.randrange(0, (96 - dwords) // step) * step * 4

    def vgpr(self, dwords: int, limit: int = 256) -> int:
        number = self.random.randrange(0, limit - dwords + 1)
        # CDNA 2 and later, and GFX12.5, align tuples
        return VGPR0 + (number & ~1 if dwords > 1 and (self.level in UNIFIED or 125 <= self.level < 130) else number) * 4

    def register(self, token: str) -> int:
        if token == "mask":
            return self.sgpr(self.mask_dwords)
        if token == "v2b":
            return self.vgpr(1, 128)
        if token == "lit":
            return LITERAL
        if token[0] == "a":
            return self.vgpr(1) + AGPRS
        return self.sgpr(int(token[1:])) if token[0] == "s" else self.vgpr(int(token[1:]))

    def base(self) -> Form:
        return {
            "opcode": self.number, "format": opcodes.FORMATS[self.row.format], "sources": [], "destinations": [],
            "literal": None, "immediate": 0, "modifiers": 0,
        }  # fmt: skip

    def definitions(self) -> tuple[str, ...]:
        return explicit(self.row.definitions)

    def operands(self) -> tuple[str, ...]:
        return explicit(self.row.operands)

    def filled(self) -> Form:
        """Registers everywhere."""
        form = self.base()
        form["destinations"] = [self.register(token) for token in self.definitions()]
        form["sources"] = [self.register(token) for token in self.operands()]
        if "tied" in self.row.flags:
            form["sources"][-1] = form["destinations"][0]
        if self.row.name.startswith("v_writelane") and self.level < 100:
            form["sources"][1] = 133 * 4
        if "literal" in self.row.flags:
            wide = self.row.operands[-1] == "v2"  # a literal of two dwords
            form["sources"][-1] = 254 * 4 if wide else LITERAL
            form["literal"] = 0x1234 if self.row.name.endswith("f16") else 0x12345678
            form["immediate"] = 0x3FF40000 if wide else 0
        return form

    # ---------------------------------------------------------------------------------------------------- scalar ALU
    def salu(self) -> Iterator[tuple[str, Form]]:
        name = self.row.name
        for variant in range(4):
            form = self.filled()
            if name in ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"):
                form["immediate"] = 128 + variant
            if name == "s_set_gpr_idx_on":
                form["immediate"] = variant
            variable = [i for i in range(len(form["sources"])) if form["sources"][i] != LITERAL]
            if "tied" in self.row.flags:
                variable = variable[:-1]
            if "barrier" in name:
                form["sources"][0] = 124 * 4
            if variant and variable and not name.startswith(("s_setpc", "s_swappc", "s_rfe", "s_movrel", "s_cbranch")):
                where = variable[variant % len(variable)]
                if name.startswith("s_barrier") or name in ("s_get_barrier_state", "s_alloc_vgpr", "s_wakeup_barrier"):
                    form["sources"][where] = 129 * 4
                elif variant == 3 and "literal" not in self.row.flags and "jump" not in name:
                    form["sources"][where], form["literal"] = LITERAL, 0x1234 if "f16" in name else 0x12345678
                else:
                    form["sources"][where] = self.random.choice((128, 140, 192, 193, 208, 242)) * 4
            yield "plain", form

    def sopk(self) -> Iterator[tuple[str, Form]]:
        for value in (0, 1, 0x7FFF, 0x8000, 0x1234):
            form = self.filled()
            if self.row.name == "s_setreg_imm32_b32":
                form["sources"], form["literal"] = [LITERAL], 0x1234567
            form["immediate"] = value
            if self.row.name.startswith("s_waitcnt"):
                form["sources"] = [125 * 4]
            yield "plain", form

    def sopp(self) -> Iterator[tuple[str, Form]]:
        values = (0, 1, 7, 15 if "gpr_idx" in self.row.name else 0x1234) if "imm" in self.row.operands else (0,)
        for value in values:
            yield "plain", self.base() | {"immediate": value}

    # ------------------------------------------------------------------------------------------------- scalar memory
    def smem(self) -> Iterator[tuple[str, Form]]:
        operands, definitions = self.operands(), self.definitions()
        for variant in range(4):
            form = self.base()
            form["destinations"] = [self.register(token) for token in definitions]
            if not operands:
                yield "plain", form
                return
            offset = self.sgpr(1) if variant & 1 else NONE
            relative = self.row.name.endswith("pc_rel")
            form["sources"] = [NONE if relative else self.register(operands[0]), offset]
            number = "prefetch" in self.row.name or "probe" in self.row.name or "discard" in self.row.name
            if len(operands) > 2 or number:
                form["sources"].append(0 if number else self.register(operands[2]))
            # GFX9 has one encoding for a register without an immediate
            form["immediate"] = 0 if variant < 2 else 0x1230
            yield "plain", form
        if definitions and self.level >= 100:
            name = "cache_scope" if self.level >= 120 else "cache_glc"
            yield "plain", form | {"modifiers": modifier(0, name, 1)}

    # ---------------------------------------------------------------------------------------------------- vector ALU
    def vop(self) -> Iterator[tuple[str, Form]]:
        native = opcodes.FORMATS[self.row.format]
        generation = opcodes.generation_of(self.level)
        if generation in self.row.second:
            native = opcodes.FORMATS[self.row.second[generation][0]]
        short = native & (VOP1 | VOP2 | VOPC)
        if short:
            yield from self.short(short)
        if "literal" not in self.row.flags:
            yield from self.long(short | VOP3 if short else native)
        if short:
            yield from self.short_lanes(short)

    def vector_fields(self, form_bits: int) -> Form:
        form = self.filled()
        form["format"] = form_bits
        name = self.row.name
        if name.startswith("v_cmpx") and self.level >= 100:
            form["destinations"] = [EXEC]
        if name.startswith("v_swap") or name.endswith("_swap_b32"):
            form["sources"][1] = form["destinations"][0]
            form["destinations"][1] = form["sources"][0]
        if not form_bits & VOP3:
            for where, tokens in (("destinations", self.definitions()), ("sources", self.operands())):
                for i, token in enumerate(tokens):
                    if token == "mask" and form[where][i] != EXEC:
                        form[where][i] = VCC
        return form

    def free_source(self) -> bool:
        """Whether the first source may be a scalar or a constant."""
        tokens = self.operands()
        vector_only = ("v_swap", "v_movrel", "v_readfirst", "v_readlane", "v_permlane", "v_interp", "v_writelane")
        return bool(tokens) and tokens[0][0] == "v" and not self.row.name.startswith((*vector_only, "v_s_"))

    def short(self, bits: int) -> Iterator[tuple[str, Form]]:
        yield "plain", self.vector_fields(bits)
        if not self.free_source():
            return
        form = self.vector_fields(bits)
        width = self.operands()[0]
        if self.level < 100 and "mask" in self.operands():
            return
        form["sources"][0] = self.sgpr(2 if width == "v2" else 1)
        yield "modifiers" if "literal" in self.row.flags else "plain", form
        form = self.vector_fields(bits)
        floats = () if self.row.name == "v_pk_fmac_f16" else (240, 242)
        form["sources"][0] = self.random.choice((128, 131, 192, 193, *floats)) * 4
        yield "plain", form
        if "literal" not in self.row.flags:
            form = self.vector_fields(bits)
            form["sources"][0], form["literal"] = LITERAL, 0x5678 if width == "v2b" else 0x12345678
            yield "plain", form

    def long(self, bits: int) -> Iterator[tuple[str, Form]]:
        form = self.vector_fields(bits)
        yield "modifiers" if "one_form" in self.row.flags else "plain", form
        if self.free_source():
            form = self.vector_fields(bits)
            form["sources"][0] = self.random.choice((128, 131, 193, 242)) * 4
            yield "modifiers", form
        if "input_modifiers" in self.row.flags:
            count = sum(token != "mask" for token in self.operands()) - ("tied" in self.row.flags)
            form = self.vector_fields(bits)
            form["modifiers"] = modifier(0, "neg", self.random.randrange(1 << min(count, 3)))
            if len(self.definitions()) < 2:
                form["modifiers"] = modifier(form["modifiers"], "abs", self.random.randrange(1 << min(count, 3)))
            yield "modifiers", form
        if "output_modifiers" in self.row.flags:
            form = self.vector_fields(bits)
            form["modifiers"] = modifier(modifier(0, "clamp", 1), "omod", self.random.randrange(4))
            yield "modifiers", form
        if self.level >= 110 and self.operands() and not self.row.name.startswith(("v_swap", "v_s_")):
            form = self.vector_fields(bits | DPP16)
            form["modifiers"] = self.lane_modifiers(0)
            yield "lanes", form
            form = self.vector_fields(bits | DPP8)
            form["modifiers"] = modifier(0, "dpp8_lane_sel", self.random.getrandbits(24))
            yield "lanes", form

    def lane_modifiers(self, word: int) -> int:
        controls = [self.random.randrange(256), 0x100 + self.random.randrange(1, 16), 0x140, 0x141]
        controls.append(0x150 + self.random.randrange(16) if self.level >= 100 else 0x142)
        word = modifier(word, "dpp_ctrl", self.random.choice(controls))
        word = modifier(word, "dpp_row_mask", self.random.randrange(16))
        word = modifier(word, "dpp_bank_mask", self.random.randrange(16))
        return modifier(word, "dpp_bound_ctrl", self.random.randrange(2))

    def short_lanes(self, bits: int) -> Iterator[tuple[str, Form]]:
        if not self.operands() or "literal" in self.row.flags:
            return
        form = self.vector_fields(bits | DPP16)
        form["modifiers"] = self.lane_modifiers(0)
        yield "lanes", form
        if self.level >= 100:
            form = self.vector_fields(bits | DPP8)
            form["modifiers"] = modifier(0, "dpp8_lane_sel", self.random.getrandbits(24))
            yield "lanes", form
        if self.level < 110:
            form = self.vector_fields(bits | SDWA)
            select = [0, 4, 8, 12, 1, 9, 2]
            word = modifier(0, "sdwa_sel0", self.random.choice(select))
            if bits != VOP1:
                word = modifier(word, "sdwa_sel1", self.random.choice(select))
            if bits != VOPC:
                word = modifier(word, "sdwa_dst_sel", self.random.choice(select) | self.random.choice((0, 16)))
            form["modifiers"] = word
            yield "lanes", form

    def matrix(self) -> Iterator[tuple[str, Form]]:
        """Matrix operations of CDNA: each register file for A, B, and C with D; constants for C; cbsz, abid, blgp."""
        for variant in range(16):
            form = self.filled()
            accumulation = AGPRS if variant & 4 or self.level == 91 else 0
            sparse = "tied" in self.row.flags
            form["destinations"][0] += accumulation
            form["sources"][0] += AGPRS * (variant & 1)
            form["sources"][1] += AGPRS * (variant >> 1 & 1)
            if sparse:
                form["sources"][3] = form["destinations"][0]
            elif variant & 8:
                form["sources"][2] = self.random.choice((128, 131, 193)) * 4
            else:
                form["sources"][2] += accumulation
            if "scale" in self.row.name:
                form["modifiers"] = modifier(modifier(0, "opsel", variant & 3), "opsel_hi", variant >> 2)
            elif "f8f6f4" not in self.row.name:
                word = modifier(modifier(0, "cbsz", self.random.randrange(4)), "abid", self.random.randrange(4))
                form["modifiers"] = modifier(word, "blgp", 0 if sparse else self.random.randrange(8))
            yield "plain" if not variant & 8 else "modifiers", form

    def vop3p(self) -> Iterator[tuple[str, Form]]:
        if "matrix" in self.row.flags:
            yield from self.matrix()
            return
        for variant in range(3):
            form = self.filled()
            if self.row.name.startswith("v_accvgpr"):
                yield "plain", form | {"modifiers": modifier(0, "opsel_hi", 7)}
                return
            count = len(self.operands())
            mixes = "mix" in self.row.name
            word = modifier(0, "opsel_hi", 0 if mixes or "ld_scale" in self.row.name or "f8f6f4" in self.row.name else 7)
            if variant == 1 and self.free_source() and "wmma" not in self.row.name and "swmmac" not in self.row.name:
                form["sources"][1] = self.random.choice((128, 131, 193)) * 4
            if variant == 2 and (self.row.name.startswith("v_pk") or mixes):
                word = modifier(word, "opsel", self.random.randrange(1 << count))
                low = self.random.randrange(1 << count) | (0 if count == 3 else 4)
                word = modifier(word, "opsel_hi", low)
                if "input_modifiers" in self.row.flags:
                    word = modifier(word, "neg", self.random.randrange(1 << count))
                    word = modifier(word, "neg_hi", self.random.randrange(1 << count))
            form["modifiers"] = word
            yield "plain" if variant < 2 else "modifiers", form

    # -------------------------------------------------------------------------------------------------------- memory
    def ds(self) -> Iterator[tuple[str, Form]]:
        for offset in (0, 5):
            form = self.filled()
            two = "two_offsets" in self.row.flags
            if offset and self.level in UNIFIED:
                first = 0 if "no_address" in self.row.flags else 1
                form["sources"][first:] = [source + AGPRS for source in form["sources"][first:]]
                form["destinations"] = [destination + AGPRS for destination in form["destinations"]]
            takes_offset = not self.row.name.startswith(("ds_nop", "ds_gws", "ds_bvh"))
            form["immediate"] = (offset | offset << 17 if two else offset * 3) if takes_offset else 0
            if self.row.name.startswith(("ds_gws", "ds_ordered")) or "gs_reg" in self.row.name:
                form["modifiers"] = modifier(0, "gds", 1)
            yield "plain", form

    def buffer(self) -> Iterator[tuple[str, Form]]:
        if not self.operands():
            yield "plain", self.base()
            return
        for address in range(4):
            for cached in (False, True):
                form = self.base()
                word = modifier(modifier(0, "offen", address & 1), "idxen", address >> 1)
                vaddr = NONE if address == 0 else self.vgpr(2 if address == 3 else 1)
                form["sources"] = [self.register("s4"), vaddr, self.sgpr(1)]
                form["immediate"] = self.random.choice((0, 4, 4095))
                if self.row.format == "mtbuf":
                    word = modifier(word, "format", self.random.randrange(64))
                form["modifiers"] = self.cache(word) if cached else word
                if "lds" in self.row.name:
                    return
                self.data(form, 3, cached)
                yield "plain", form

    def cache(self, word: int) -> int:
        if self.level >= 120:
            return modifier(modifier(word, "cache_temporal_hint", 1), "cache_scope", self.random.randrange(4))
        word = modifier(modifier(word, "cache_glc", 1), "cache_slc", self.random.randrange(2))
        if self.level in UNIFIED:
            return modifier(word, "cache_sc1", self.random.randrange(2))
        coherent = self.level >= 110 or (self.level >= 100 and "atomic" not in self.row.flags)
        return modifier(word, "cache_dlc", 1) if coherent else word

    def data(self, form: Form, fixed: int, returns: bool) -> None:
        operands = self.operands()
        if self.definitions():
            form["destinations"] = [self.register(self.definitions()[0])]
        elif len(operands) > fixed:
            form["sources"].append(self.register(operands[fixed]))
            if returns and "atomic" in self.row.flags:
                dwords = int(operands[fixed][1:]) // (2 if "cmpswap" in self.row.name else 1)
                same = self.row.format in ("mubuf", "mtbuf")
                form["destinations"] = [form["sources"][-1] if same else self.vgpr(dwords)]
        if returns and self.level in UNIFIED:
            form["destinations"] = [destination + AGPRS for destination in form["destinations"]]
            form["sources"][fixed:] = [source + AGPRS for source in form["sources"][fixed:]]
        if "csub" in self.row.name and not returns and self.level < 120:
            # the subtraction that saturates always returns its old value before GFX12
            form["sources"] = []

    def flat(self) -> Iterator[tuple[str, Form]]:
        scratch, based = self.row.format == "scratch", self.row.format != "flat"
        if not self.operands():
            yield "plain", self.base()
            return
        for address in range(3 if based else 1):
            for cached in (False, True):
                form = self.base()
                base = self.sgpr(1 if scratch else 2) if address == 1 else NONE
                vaddr = self.vgpr(1 if scratch or base != NONE else 2)
                if "no_address" in self.row.flags or (scratch and address == 1):
                    vaddr = NONE
                if scratch and address == 2:
                    if self.level < 110 and self.level not in (94, 95):
                        return
                    base = self.sgpr(1)
                form["sources"] = [vaddr, base]
                form["immediate"] = self.random.choice((0, 16, 2047) if not based else (0, 16, 2047, 0xFFFFFFF0))
                form["modifiers"] = self.cache(0) if cached else 0
                self.data(form, 1 if not based else 2, cached)
                if not based:
                    form["sources"] = [form["sources"][0], NONE, *form["sources"][2:]] if form["sources"] else []
                yield "plain", form

    def forms(self) -> Iterator[tuple[str, Form]]:
        kind = self.row.format
        makers = {
            "sop1": self.salu, "sop2": self.salu, "sopc": self.salu, "sopk": self.sopk, "sopp": self.sopp,
            "smem": self.smem, "ds": self.ds, "mubuf": self.buffer, "mtbuf": self.buffer, "flat": self.flat,
            "global": self.flat, "scratch": self.flat, "vop3p": self.vop3p,
        }  # fmt: skip
        for label, form in makers.get(kind, self.vop)():
            if form["sources"] or not self.operands():
                yield label, form


def all_forms(level: int, seed: int = 1) -> Iterator[tuple[str, opcodes.Row, Form]]:
    """Every form of every opcode of a gfx level."""
    generator = random.Random(seed)
    generation = opcodes.generation_of(level)
    for number, row in enumerate(opcodes.rows()):
        if generation not in row.numbers or row.format in SKIPPED or row.name.startswith("p_"):
            continue
        if level == 120 and re.match(r"v_wmma.*16x16x16_(b?f16|iu)", row.name):
            # GFX12 has narrower operands, the table those of GFX11
            continue
        if (opcodes.is_encode_only(row, generation) and "scale" not in row.name) or row.name.startswith(("v_interp", "buffer_store_lds")):
            continue
        for label, form in Maker(row, number, level, generator).forms():
            yield label, row, form
