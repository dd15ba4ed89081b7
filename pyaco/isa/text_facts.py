"""What the text kernels need to know about a chip: names by domain, and facts about opcodes that only text needs."""

from __future__ import annotations

import re
from array import array
from functools import cache
from importlib import resources
from typing import Any

from pyaco._core.common.vocabulary import Format
from pyaco._core.isa.assemble_text import DIRECTIVES, FACTS
from pyaco._core.isa.statement import FUNCTIONS, MODIFIERS, MODIFIERS_12_5, MODIFIERS_13
from pyaco.isa import names, opcodes, waits
from pyaco.isa.processors import processor
from pyaco.isa.table import CDNA
from pyaco.targets.target_id import generic_members

__all__ = ["explicit", "field_bits", "mnemonics", "text_facts"]

#: What words in names of opcodes generic processors lack although all their members have them: 8-bit floats and XF32, as LLVM's manual says; sparse
#: matrices and sums of absolute differences, as LLVM 23's assembler does.
NOT_IN_GENERIC = {"gfx9-4-generic": ("fp8", "bf8", "xf32"), "gfx12-5-generic": ("swmmac", "sad_")}
BRANCHES = frozenset(
    ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz", "s_cbranch_execnz",
     "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user",
     "s_call_b64", "s_subvector_loop_begin", "s_subvector_loop_end", "s_cbranch_i_fork")
)  # fmt: skip
#: D = src0 * K + src1.
MULTIPLY_CONSTANT = frozenset(["v_fmamk_f64", "v_madmk_f32", "v_madmk_f16", "v_fmamk_f32", "v_fmamk_f16", "s_fmamk_f32"])
SWAPS = frozenset(["v_swap_b32", "v_swap_b16", "v_swaprel_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32"])
MIXES = frozenset(["v_fma_mix_f32_bf16", "v_fma_mixlo_bf16", "v_fma_mixhi_bf16",
                   "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16"])
WAITS_WITH_REGISTER = frozenset(["s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt"])
#: ACO does not use source modifiers here, but the hardware has them.
SIGNED = frozenset(
    ("v_cndmask_b32", "v_mov_b32", "v_cmp_class_f32", "v_cmp_class_f64", "v_cmp_class_f16", "v_cmpx_class_f32",
     "v_cmpx_class_f64", "v_cmpx_class_f16", "v_ldexp_f64", "v_ldexp_f32", "v_ldexp_f16", "v_trig_preop_f64",
     "v_dot2_f16_f16", "v_dot2_bf16_bf16", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cndmask_b16", "v_dot2c_f32_f16",
     "v_pk_fmac_f16")
)  # fmt: skip
OPSEL_LANES = frozenset(["v_permlane16_b32", "v_permlanex16_b32", "v_permlane16_var_b32", "v_permlanex16_var_b32"])
OPSEL_OTHER = frozenset(
    ("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cvt_f32_fp8", "v_cvt_f32_bf8",
     "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8", "v_cvt_f16_fp8", "v_cvt_f16_bf8", "v_cvt_sr_fp8_f16", "v_cvt_sr_bf8_f16")
)  # fmt: skip
WITHOUT_OPSEL_12 = frozenset(
    ("v_max_i16_e64", "v_max_u16_e64", "v_min_i16_e64", "v_min_u16_e64", "v_lshlrev_b16_e64", "v_lshrrev_b16_e64",
     "v_ashrrev_i16_e64", "v_mul_lo_u16_e64")
)  # fmt: skip
#: Pairs of binary16 in other formats than VOP3P, and the first two sources of dot products.
HALF_PAIRS = frozenset(["v_cvt_pk_fp8_f16", "v_cvt_pk_bf8_f16",
                        "v_pk_fmac_f16", "v_dot2c_f32_f16", "v_dot2_f16_f16", "v_dot2_f32_f16", "v_dual_dot2acc_f32_f16"])
PLAIN_DOTS = frozenset(["v_dot4_f32_fp8_bf8", "v_dot4_f32_bf8_fp8", "v_dot4_f32_fp8_fp8", "v_dot4_f32_bf8_bf8"])
#: Names of signed dot products where one opcode does both: its neg_lo says which operands are signed ("RDNA 3 ISA", V_DOT4_I32_IU8).
SIGNED_DOTS = frozenset(["v_dot4_i32_i8", "v_dot8_i32_i4"])
#: GFX9's names of sums with a carry, which LLVM takes on GFX6 and GFX7 for the long form alone.
LONG_SUMS = frozenset(["v_add_co_u32", "v_sub_co_u32", "v_subrev_co_u32"])
#: What GFX13, whose waves have 32 or 64 lanes, has in those of 32 alone (LLVM 23).
WAVE32_ONLY = ("v_cvt_scale", "v_permlane_", "ds_load_tr")
#: Formats of one dword whose instructions VOP3 can encode too.
VALU_ONE_DWORD = Format.VOP1 | Format.VOP2 | Format.VOPC
#: SOPP instructions whose immediate may be left out.
OPTIONAL = frozenset(["s_endpgm", "s_sethalt", "s_setkill", "s_icache_inv", "s_ttracedata"])


@cache
def field_bits() -> dict[str, tuple[int, int]]:
    """First bit and width of the packed modifiers (``data/modifiers.txt``)."""
    text = (resources.files("pyaco.isa") / "data/modifiers.txt").read_text()
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return {words[0]: (int(words[1]), int(words[2])) for words in lines if words}


def _has_bfloat_sources(name: str) -> bool:
    """Whether constants of an operation that is GFX12.5's alone are bfloat16."""
    one = name in ("v_cvt_f32_bf16_true16", "v_wmma_bf16_16x16x32_bf16")
    operations = ("v_pk_", "v_tanh_", "v_rcp_", "v_sqrt_", "v_rsq_", "v_log_", "v_exp_", "v_sin_", "v_cos_")
    return one or (name.endswith("_bf16") and name.startswith(operations))


@cache
def explicit(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens that are registers in text and encoding."""
    return tuple(token for token in tokens if token not in opcodes.IMPLICIT and token != "imm")


def _has_floating_operands(row: opcodes.Row) -> bool:
    """Whether constants of an instruction are floating-point numbers, as the last type in its name says."""
    if not row.format.startswith("vop"):
        return "f64" in row.name or (row.format == "sop2" and row.name.endswith("_f16"))
    if row.name.startswith("v_perm_pk16_"):
        return False  # its numbers are tables of bits
    kinds = [word for word in row.name.split("_") if word in ("f16", "f32", "f64") or word[1:] in ("16", "32", "64")]
    return not kinds or kinds[-1].startswith("f")


def _facts_of(row: opcodes.Row) -> int:
    """The facts of an opcode (``text_facts.pxd``)."""
    name, form = row.name, row.format
    answers = {
        "packed": (form == "vop3p" and name.startswith("v_pk_") and not name.endswith(("32", "64"))) or name in HALF_PAIRS,
        "scalar_half": name.endswith("_f16") and (form in ("sop2", "sopc") or name.startswith("v_s_")),
        "floating": _has_floating_operands(row),
        "multiply_constant": name in MULTIPLY_CONSTANT,
        "swaps": name in SWAPS,
        "mixes": name in MIXES,
        "branch": name in BRANCHES,
        "cmpx": name.startswith("v_cmpx"),
        "setreg": name.startswith("s_setreg"),
        "getreg": name.startswith("s_getreg"),
        "message": "sendmsg" in name,
        "immediate": "imm" in row.operands,
        "optional": name in OPTIONAL,
        "prefetch": form == "smem" and "prefetch" in name,
        "compare_swap": "cmpswap" in name,
        "loads": bool(explicit(row.definitions)) or "_prefetch_" in name or "atc_probe" in name if form != "mimg" else "store" not in name,
        "waits_with_register": name in WAITS_WITH_REGISTER,
        "signed": name in SIGNED,
        "opsel_lanes": name in OPSEL_LANES,
        "opsel_other": name in OPSEL_OTHER,
        "without_opsel_12": name in WITHOUT_OPSEL_12,
        "plain_dot": name in PLAIN_DOTS,
        "double_matrix": "matrix" in row.flags and "f64" in name,
        "bfloat": name in ("v_dot2_bf16_bf16", "v_dot2_f32_bf16", "v_dot2c_f32_bf16", "v_dual_dot2acc_f32_bf16", "v_cvt_f32_bf16",
                           "v_wmma_bf16_16x16x16_bf16_gfx12") or (name in MIXES and "bf16" in name)
                  or ("12.5" in row.numbers and "12" not in row.numbers and _has_bfloat_sources(name)),
        "wave_matrix": name.startswith(("v_wmma", "v_swmmac")),
        "scope_alone": name in ("global_inv", "global_wb", "global_wbinv"),
        "writes_byte": name in ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cvt_scalef32_pk_fp4_f16", "v_cvt_scalef32_pk_fp4_bf16"),
        "global_wave_sync": name.startswith("ds_gws"),
        "typed_matrix": row.matrix is not None and row.matrix.types[0] == "f8f6f4",
    }
    return sum(FACTS[fact] for fact, answer in answers.items() if answer)


def _is_absent(row: opcodes.Row, generation: str, chip: str) -> bool:
    """Whether `chip` lacks an opcode that others of its generation have, or a member of a generic processor has none or another one there."""
    members = generic_members(chip)
    if any(word in row.name for word in NOT_IN_GENERIC.get(chip, ())):
        return True
    if len(members) == 1:
        return generation in row.chips and not row.on_chip(generation, members[0])
    return any(_is_missing(row, generation, members[0], member) for member in members)


def _is_missing(row: opcodes.Row, generation: str, chip: str, other: str) -> bool:
    """Whether another chip, maybe of a later generation, lacks an opcode of `generation` or calls it otherwise than `chip` does."""
    own = opcodes.generation_of(processor(other)[1])
    differs = row.numbers.get(own) != row.numbers.get(generation) or row.spelling(own, other) != row.spelling(generation, chip)
    return differs or _is_absent(row, own, other)


def mnemonics(level: int, chip: str) -> dict[str, int]:
    """Opcodes of a gfx level by the names that text may use: LLVM's spellings, then aliases."""
    generation = opcodes.generation_of(level)
    found: dict[str, int] = {}
    here = [
        (number, row)
        for number, row in enumerate(opcodes.rows())
        if (generation in row.numbers and not _is_absent(row, generation, chip)) or row.is_dual_half(generation)
    ]
    for number, row in here:
        if not opcodes.is_encode_only(row, generation):
            found.setdefault(row.spelling(generation, chip), number)
    for number, row in here:
        # assemblers for CDNA take the names of other generations as well
        others = (row.name, *row.spellings.values()) if generation in CDNA else ()
        for name in (*others, *row.aliases.get(generation, ())):
            found.setdefault(name, number | _alias_flags(name, generation))
        if row.format == "ldsdir" and level >= 120:
            found.setdefault(row.name.replace("lds_", "ds_"), number)
        if row.format == "exp" and level >= 120:
            found.setdefault("export", number)
        for name in _older_matrix_names(row, generation, chip):
            found.setdefault(name, number)
    return found


def _alias_flags(name: str, generation: str) -> int:
    """What an alias says beside its opcode (``alias_*`` of ``_core/isa/text_facts.pxd``)."""
    if name in SIGNED_DOTS:
        return 0x10000
    return 0x20000 if name in LONG_SUMS and generation in ("6", "7") else 0


def _older_matrix_names(row: opcodes.Row, generation: str, chip: str) -> list[str]:
    """Older names of matrix operations: types directly after the shape (CDNA 3), moves of accumulation registers without a type."""
    if row.name in ("v_accvgpr_read_b32", "v_accvgpr_write_b32"):
        return [row.name.removesuffix("_b32")]
    if row.matrix is None or not ("cdna3" in row.numbers or row.name.startswith("v_smfmac")) or generation not in ("cdna3", "cdna4"):
        return []
    found = re.fullmatch(r"(v_s?mfmac?_\w+?_\d+x\d+x\d+)(?:_\d+b)?_(\w+)", row.spelling(generation, chip))
    return [found[1] + found[2].replace("_", "")] if found else []


def _spellings(level: int, chip: str) -> dict[int, str]:
    """LLVM's name by opcode."""
    listed = dict(enumerate(opcodes.spellings(opcodes.generation_of(level), chip)))
    if level >= 120:
        listed |= {n: row.name.replace("lds_", "ds_") for n, row in enumerate(opcodes.rows()) if row.format == "ldsdir"}
    return listed


def _modifiers(level: int) -> dict[str, int]:
    """Modifiers by name; those that are single words also with ``no`` before them."""
    last_flag = MODIFIERS["high"]
    only = {"scc": level == 92, "sc0": 94 <= level < 100, "sc1": 94 <= level < 100, "nt": 94 <= level < 100}
    later = MODIFIERS_13 if level >= 130 else MODIFIERS_12_5 if level >= 125 else {}
    known = {name: number for name, number in MODIFIERS.items() if only.get(name, True) and number not in later.values()} | later
    return known | {f"no{name}": number | 0x100 for name, number in known.items() if number <= last_flag}


def _dependencies(level: int) -> dict[str, int]:
    """Counters of s_waitcnt_depctr: first bit, width from bit 8."""
    known = {name: counter.bits[0] for name, counter in waits.counters("depctr", level).items()}
    return {f"{prefix}{name}": first | width << 8 for name, (first, width) in known.items() for prefix in ("depctr_", "")}


def _hardware_registers(level: int) -> dict[str, int]:
    """Hardware registers, those of GFX12 by the names of earlier generations as well."""
    known = {text: number for number, text in names.hardware_registers(level).items()}
    return known | {text.replace("HW_REG_WAVE_", "HW_REG_"): number for text, number in known.items()}


def _domains(level: int, chip: str) -> list[dict[str, int] | dict[int, str]]:
    """Names by domain, in the order of ``text_tables.pxd``."""
    return [
        mnemonics(level, chip),
        names.registers(level),
        _modifiers(level),
        {text: number for number, text in names.messages(level).items()},
        {text: number for number, text in enumerate(names.GS_OPERATIONS)},
        {text: number for number, text in (names.SYSTEM_OPERATIONS if level >= 90 else names.SYSTEM_OPERATIONS_6).items()},
        _hardware_registers(level),
        {text: number for number, text in enumerate(names.DELAYS)},
        {text: number for number, text in enumerate(names.SKIPS)},
        {text: number for number, text in enumerate(names.INDEX_MODES)},
        {text: number for number, text in enumerate(names.SCOPES)},
        names.cache_policies("LOAD"),
        names.cache_policies("STORE"),
        names.cache_policies("ATOMIC"),
        {text: number for number, text in enumerate(names.unified_formats(level))} if level >= 100 else {},
        {f"BUF_DATA_FORMAT_{text}": number for number, text in enumerate(names.DATA_FORMATS)},
        {f"BUF_NUM_FORMAT_{text}": number for number, text in enumerate(names.NUMBER_FORMATS if level >= 80 else names.NUMBER_FORMATS_6)},
        names.export_targets(level),
        names.dimensions() if not 125 <= level < 130 else names.SCALE_FORMATS,
        names.SELECTIONS if not 125 <= level < 130 else names.MATRIX_FORMATS,
        {"UNUSED_PAD": 0, "UNUSED_SEXT": 1, "UNUSED_PRESERVE": 2} if not 125 <= level < 130 else names.SCALE_ROWS,
        {name: number for number, name in enumerate(waits.counters("waitcnt", level))},
        _dependencies(level),
        {"p10": 0, "p20": 1, "p0": 2},
        FUNCTIONS,
        DIRECTIVES,
        _spellings(level, chip),
        names.lane_controls(level),
        names.register_texts(level),
        names.VERSIONS,
    ]


def _chip_facts_of(row: opcodes.Row, level: int, generation: str, chip: str) -> int:
    """The facts that depend on the chip."""
    if _is_absent(row, generation, chip):
        return FACTS["absent"]
    if level >= 130 and row.name.startswith(WAVE32_ONLY):
        return FACTS["wave32"]
    unpacked = level == 80 and chip != "gfx810" and ("_format_d16_x" in row.name or row.format == "mimg")
    return FACTS["unpacked"] if unpacked else 0


def text_facts(level: int, chip: str) -> tuple[list[Any], bytes, bytes, bytes]:
    """Names by domain, and the arrays of ``TextTables`` as bytes, of a chip (a gfx name) of a gfx level."""
    generation = opcodes.generation_of(level)
    rows = opcodes.rows()
    short = [opcodes.FORMATS[row.second.get(generation, (row.format, 0))[0]] & VALU_ONE_DWORD for row in rows]
    joined = [names.join_format(split, level) for split in range(128)] if level >= 100 else list(range(128))
    unified = [-1 if number is None else number for number in joined]
    facts = [(_facts_of(row) | _chip_facts_of(row, level, generation, chip)) & 0xFFFFFFFF for row in rows]
    return _domains(level, chip), array("I", facts).tobytes(), array("H", short).tobytes(), array("h", unified).tobytes()
