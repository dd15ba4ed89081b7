"""ACO IR as text: printer and reader.

The form is ACO's own (``aco_print_ir``), so that programs can be compared with its dumps line by line. What ACO leaves out of the
text and a program needs is printed as additions that the reader takes and ACO's form never has: ``/ mode: 0xf0`` and ``/ depth: 1``
in the comment of a block, ``vop3`` after an instruction whose encoding is longer than it must be.

One line of the grammar::

    [definitions "="] opcode [operands] suffixes
    definition   class ":" flags "%" id [":" register]
    operand      ["-"] ["|"] ["lo(" | "hi("] flags (("%" id [":" register]) | constant | class " undef") ...
    register     vcc m0 null exec scc | s[4] s[4-7] v[0] v[0-1], then [lo:hi] for part of a dword
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pyaco import targets
from pyaco._core.aco import build
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa import names as isa_names
from pyaco.isa import opcodes

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["format_block", "format_instruction", "format_program", "parse_program"]

# Values of the data sheet (_core/ir/program.pxd).
TEMP, CONSTANT, UNDEF, FIXED, KILL, LATE_KILL, BITS16, BITS24 = 1, 2, 4, 8, 0x10, 0x40, 0x80, 0x100
D_TEMP, D_FIXED, D_KILL, D_PRECISE, D_NUW, D_NO_CSE = 1, 2, 4, 8, 0x10, 0x20
NO_REGISTER = 0xFFFF
VOP1, VOP2, VOPC, VOP3, VOP3P, SDWA, DPP16, DPP8 = 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000
VALU_BITS = 0xF80
(PSEUDO, BRANCH, BARRIER, REDUCTION, SOP1, SOP2, SOPK, SOPP, SOPC, SMEM, DS, LDSDIR, MTBUF, MUBUF, MIMG, EXP, FLAT, GLOBAL,
 SCRATCH, VINTRP, VINTERP, VOPD) = range(22)  # fmt: skip

KINDS = ("uniform", "top-level", "loop-preheader", "loop-header", "loop-exit", "continue", "break", "continue_or_break", "branch",
         "merge", "invert", "discard_early_exit", "uses_discard", "resume", "export_end", "end_with_regs")  # fmt: skip
STORAGE = ("buffer", "gds", "image", "shared", "vmem_output", "task_payload", "scratch", "vgpr_spill")
SEMANTICS = ("acquire", "release", "volatile", "private", "reorder", "atomic", "rmw")
SCOPES = ("invocation", "subgroup", "workgroup", "queuefamily", "device")
DIMENSIONS = ("1d", "2d", "3d", "cube", "1darray", "2darray", "2dmsaa", "2darraymsaa")
DATA_FORMATS = ("invalid", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
                "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "reserved15")  # fmt: skip
NUMBER_FORMATS = ("unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "snorm_ogl", "float")
_REDUCTION_WIDTHS = (("iadd", (8, 16, 32, 64)), ("imul", (8, 16, 32, 64)), ("fadd", (16, 32, 64)), ("fmul", (16, 32, 64)),
                     ("imin", (8, 16, 32, 64)), ("imax", (8, 16, 32, 64)), ("umin", (8, 16, 32, 64)), ("umax", (8, 16, 32, 64)),
                     ("fmin", (16, 32, 64)), ("fmax", (16, 32, 64)), ("iand", (8, 16, 32, 64)), ("ior", (8, 16, 32, 64)),
                     ("ixor", (8, 16, 32, 64)))  # fmt: skip
#: Reduction operations by number (``reduce_operation`` of the modifiers).
REDUCTIONS = tuple(f"{name}{bits}" for name, widths in _REDUCTION_WIDTHS for bits in widths)
TEMPORAL_LOAD = ("", "non_temporal", "high_temporal", "last_use_discard", "near_non_temporal_far_regular_temporal",
                 "near_regular_temporal_far_non_temporal", "near_non_temporal_far_high_temporal", "reserved7")  # fmt: skip
CACHE_SCOPES = ("", "se", "device", "memory")
ATOMIC_HINTS = ("atomic_return", "non_temporal", "accum_deferred_scope")
INLINE_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "1/(2*PI)")
INLINE_F32 = (0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983)
INLINE_F16 = (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118)
INLINE_F64 = (0x3FE0000000000000, 0xBFE0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x4000000000000000,
              0xC000000000000000, 0x4010000000000000, 0xC010000000000000, 0x3FC45F306DC9C882)  # fmt: skip
SPECIAL = {"vcc": 106, "m0": 124, "null": 125, "exec": 126, "scc": 253}
SPECIAL_NAMES = {number: name for name, number in SPECIAL.items()}
MIX = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16")
HEADERS = ("After Instruction Selection:", "After Spilling:", "After RA:")
BRANCHES = ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz",
            "s_cbranch_execnz", "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
            "s_cbranch_cdbgsys_and_user", "s_cbranch_i_fork", "s_cbranch_join", "s_call_b64",
            "s_subvector_loop_begin", "s_subvector_loop_end")  # fmt: skip
# s_waitcnt_depctr: name, first bit, width; a full field is not printed.
DEPCTR = (("va_vdst", 12, 4), ("va_sdst", 9, 3), ("va_ssrc", 8, 1), ("hold_cnt", 7, 1), ("vm_vsrc", 2, 3), ("va_vcc", 1, 1),
          ("sa_sdst", 0, 1))  # fmt: skip
DELAYS = ("", "valu_dep_1", "valu_dep_2", "valu_dep_3", "valu_dep_4", "trans32_dep_1", "trans32_dep_2", "trans32_dep_3",
          "fma_accum_cycle_1", "salu_cycle_1", "salu_cycle_2", "salu_cycle_3")  # fmt: skip
MESSAGES = {"save_wave": 4, "stall_wave_gen": 5, "halt_waves": 6, "ordered_ps_done": 7, "early_prim_dealloc": 8,
            "gs_alloc_req": 9, "get_doorbell": 10, "get_ddid": 11}  # fmt: skip
DPP_FIXED = {0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x140: "row_mirror",
             0x141: "row_half_mirror", 0x142: "row_bcast:15", 0x143: "row_bcast:31"}  # fmt: skip
DPP_RANGES = (("row_shl", 0x100), ("row_shr", 0x110), ("row_ror", 0x120), ("row_share", 0x150), ("row_xmask", 0x160))


@cache
def fields() -> dict[str, tuple[int, int]]:
    """First bit and width of every field of the modifier column."""
    text = resources.files("pyaco.isa").joinpath("data/modifiers.txt").read_text()
    rows = (line.split("#")[0].split() for line in text.splitlines())
    return {words[0]: (int(words[1]), int(words[2])) for words in rows if words}


def get(word: int, name: str) -> int:
    """Field `name` of a modifier word."""
    first, width = fields()[name]
    return (word >> first) & ((1 << width) - 1)


def put(word: int, name: str, value: int) -> int:
    """A modifier word with field `name` set."""
    first, width = fields()[name]
    mask = (1 << width) - 1
    if value & ~mask:
        raise InputError(f"{name}: {value} does not fit {width} bits")
    return (word & ~(mask << first)) | (value << first)


# ---------------------------------------------------------------------------------------------------------------- printing
def class_name(register_class: int) -> str:
    """The text of a register class: s2, v1, v2b, lv1."""
    size = register_class & 0x1F
    if register_class & 0x40:
        return f"v{size}b"
    if register_class & 0x20:
        return f"{'l' if register_class & 0x80 else ''}v{size}"
    return f"s{size or 32}"


def class_bytes(register_class: int) -> int:
    """Bytes that a register class holds."""
    size = register_class & 0x1F
    return size if register_class & 0x40 else size * 4


def register_name(address: int, size: int) -> str:
    """The text of `size` bytes of registers from a byte address on."""
    number, byte = address >> 2, address & 3
    if number in SPECIAL_NAMES:
        return SPECIAL_NAMES[number]
    last = number + (size + 3) // 4 - 1
    index = number & 255
    text = f"{'v' if number >= 256 else 's'}[{index}" + (f"-{last & 255}]" if last > number else "]")
    return text + (f"[{byte * 8}:{(byte + size) * 8}]" if byte or size & 3 else "")


def constant_text(data: int, reg: int, size: int) -> str:
    """The text of a constant operand."""
    code = reg >> 2
    if size == 1:
        return f"0x{data & 0xFF:02x}"
    if code == 255:
        return f"0x{data:04x}" if size == 2 else f"0x{data:x}"
    if code <= 192:
        return str(code - 128)
    return str(192 - code) if code <= 208 else INLINE_FLOATS[code - 240]


def _operand_text(data: int, reg: int, register_class: int, flags: int, kills: bool) -> str:
    if flags & CONSTANT:
        return constant_text(data, reg, 1 << ((flags >> 10) & 3))
    if flags & UNDEF:
        return f" {class_name(register_class)}: undef"
    text = "(latekill)" if flags & LATE_KILL else ""
    text += ("(is16bit)" if flags & BITS16 else "") + ("(is24bit)" if flags & BITS24 else "")
    text += "(kill)" if kills and flags & KILL else ""
    text += f"%{data if flags & TEMP else 0}"
    return text + (f":{register_name(reg, class_bytes(register_class))}" if flags & FIXED else "")


def _definition_text(temp: int, reg: int, register_class: int, flags: int, kills: bool) -> str:
    text = f" {class_name(register_class)}: "
    text += ("(precise)" if flags & D_PRECISE else "") + ("(nuw)" if flags & D_NUW else "")
    text += ("(noCSE)" if flags & D_NO_CSE else "") + ("(kill)" if kills and flags & D_KILL else "")
    return text + f"%{temp}" + (f":{register_name(reg, class_bytes(register_class))}" if flags & D_FIXED else "")


def _flag_names(value: int, names: Iterable[str]) -> list[str]:
    return [name for bit, name in enumerate(names) if value >> bit & 1]


def _sync_text(word: int) -> list[str]:
    out = []
    if storage := get(word, "storage"):
        out.append("storage:" + ",".join(_flag_names(storage, STORAGE)))
    if semantics := get(word, "semantics"):
        out.append("semantics:" + ",".join(_flag_names(semantics, SEMANTICS)))
    if scope := get(word, "scope"):
        out.append("scope:" + SCOPES[scope])
    return out


def _cache_text(word: int, gfx: int, atomic: bool) -> list[str]:
    if gfx < 120:
        return [name for name in ("glc", "dlc", "slc") if get(word, f"cache_{name}")]
    hint, scope = get(word, "cache_temporal_hint"), get(word, "cache_scope")
    out = _flag_names(hint, ATOMIC_HINTS) if atomic else ([TEMPORAL_LOAD[hint]] if hint else [])
    return out + ([CACHE_SCOPES[scope]] if scope else [])


def waitcnt_fields(gfx: int) -> tuple[tuple[str, tuple[tuple[int, int, int], ...]], ...]:
    """Counters of ``s_waitcnt``: name and its pieces (first bit in the immediate, width, first bit in the count)."""
    if gfx >= 110:
        return (("lgkmcnt", ((4, 6, 0),)), ("expcnt", ((0, 3, 0),)), ("vmcnt", ((10, 6, 0),)))
    lgkm = 6 if gfx >= 100 else 4
    vm = ((0, 4, 0), (14, 2, 4)) if gfx >= 90 else ((0, 4, 0),)
    return (("lgkmcnt", ((8, lgkm, 0),)), ("expcnt", ((4, 3, 0),)), ("vmcnt", vm))


def _waitcnt_text(immediate: int, gfx: int) -> list[str]:
    out = []
    order = {"expcnt": 0, "lgkmcnt": 1, "vmcnt": 2}
    for name, pieces in sorted(waitcnt_fields(gfx), key=lambda entry: order[entry[0]]):
        value = sum(((immediate >> first) & ((1 << width) - 1)) << at for first, width, at in pieces)
        if value != (1 << sum(width for _, width, _ in pieces)) - 1:
            out.append(f"{name}({value})")
    return out


def _depctr_text(immediate: int) -> list[str]:
    out = []
    for name, first, width in DEPCTR:
        value = (immediate >> first) & ((1 << width) - 1)
        if value != (1 << width) - 1:
            out.append(f"{name}({value})")
    return out


def _delay_text(immediate: int) -> list[str]:
    out = []
    for index, shift in ((0, 0), (1, 7)):
        wait, skip = (immediate >> shift) & 15, (immediate >> 4) & 7
        if index == 1 and wait:
            out.append("next" if skip == 1 else f"skip_{skip - 1}" if skip else "same")
        if wait:
            out.append(DELAYS[wait] if wait < len(DELAYS) else f"delay_{wait}")
    return out


def _sopp_text(name: str, immediate: int, gfx: int) -> list[str]:
    if name in BRANCHES:
        return [f"block:BB{immediate}"]
    if name == "s_waitcnt":
        return _waitcnt_text(immediate, gfx)
    if name == "s_waitcnt_depctr":
        return _depctr_text(immediate)
    if name == "s_delay_alu":
        return _delay_text(immediate)
    if name == "s_sendmsg":
        if immediate == 3 and gfx >= 110:
            return ["sendmsg(dealloc_vgprs)"]
        for message, number in MESSAGES.items():
            if immediate == number:
                return [f"sendmsg({message})"]
    always = name == "s_setprio" or opcodes.row(name).latency == "waitcnt"
    return [f"imm:{immediate}"] if immediate or always else []


def _dpp_text(word: int) -> list[str]:
    control = get(word, "dpp_ctrl")
    if control <= 0xFF:
        out = ["quad_perm:[" + ",".join(str(control >> shift & 3) for shift in (0, 2, 4, 6)) + "]"]
    elif control in DPP_FIXED:
        out = [DPP_FIXED[control]]
    else:
        names = [f"{name}:{control - base}" for name, base in DPP_RANGES if 0 <= control - base < 16]
        out = names[:1] or [f"dpp_ctrl:0x{control:x}"]
    for name, full in (("row_mask", 15), ("bank_mask", 15)):
        if get(word, f"dpp_{name}") != full:
            out.append(f"{name}:0x{get(word, f'dpp_{name}'):x}")
    out += ["bound_ctrl:1"] if get(word, "dpp_bound_ctrl") else []
    return out + (["fi"] if get(word, "dpp_fetch_inactive") else [])


def _selection_text(selection: int) -> str:
    size, offset, sign = selection & 3, selection >> 2 & 3, "s" if selection >> 4 else "u"
    return "dword" if size == 2 else f"{sign}word{offset >> 1}" if size else f"{sign}byte{offset}"


def _sdwa_text(word: int, format_: int, operand_count: int) -> list[str]:
    out = []
    if not format_ & VOPC:
        destination = get(word, "sdwa_dst_sel")
        out.append("dst_sel:" + _selection_text(destination & 15))
        out += ["dst_preserve"] if destination & 16 else []
    return out + [f"src{i}_sel:{_selection_text(get(word, f'sdwa_sel{i}'))}" for i in range(min(2, operand_count))]


def _full_mask(definitions: list[Any]) -> int:
    """The component mask that the text leaves out: as many components as the result has dwords."""
    return (1 << min(4, (class_bytes(definitions[0][2]) + 3) // 4)) - 1 if definitions else 15


def _mimg_text(word: int, gfx: int, atomic: bool, full: int) -> list[str]:
    out = []
    mask = get(word, "dmask")
    if mask & full != full:
        out.append("dmask:" + "".join(_flag_names(mask, "xyzw")))
    out.append(DIMENSIONS[get(word, "dim")])
    out += ["unrm"] if get(word, "unrm") else []
    out += _cache_text(word, gfx, atomic)
    names = (("tfe", "image_tfe"), ("da", "da"), ("lwe", "lwe"), ("r128", "r128"), ("a16", "a16"), ("d16", "d16"),
             ("g16", "g16"), ("disable_wqm", "image_disable_wqm"), ("strict_wqm", "strict_wqm"))  # fmt: skip
    return out + [text for text, field in names if get(word, field)]


def _export_text(word: int) -> list[str]:
    mask, target = get(word, "exp_enabled_mask"), get(word, "exp_target")
    compressed = get(word, "exp_compressed")
    identity = 5 if compressed else 15
    out = []
    if mask & identity != identity:
        out.append("en:" + "".join(name if mask >> bit & 1 else "*" for bit, name in enumerate("rgba")))
    out += [text for text, field in (("compr", "exp_compressed"), ("done", "exp_done"), ("vm", "exp_valid_mask"),
                                     ("row", "exp_row")) if get(word, field)]  # fmt: skip
    places = ((0, 8, "mrt"), (12, 16, "pos"), (32, 64, "param"))
    named = [f"{name}{target - first}" for first, end, name in places if first <= target < end]
    return out + (named or [{8: "mrtz", 9: "null"}.get(target, f"target{target}")])


def _memory_text(name: str, format_: int, word: int, immediate: int, gfx: int, atomic: bool, full: int) -> list[str]:
    out = []
    if format_ == MTBUF:
        encoded = isa_names.split_format(get(word, "format"), gfx)
        out = [f"dfmt:{DATA_FORMATS[encoded & 15]}", f"nfmt:{NUMBER_FORMATS[encoded >> 4]}"]
    if format_ == MIMG:
        out += _mimg_text(word, gfx, atomic, full)
    elif format_ == DS:
        out += [f"offset0:{immediate & 0xFFFF}"] if immediate & 0xFFFF else []
        out += [f"offset1:{immediate >> 16 & 0xFF}"] if immediate >> 16 else []
        out += ["gds"] if get(word, "gds") else []
    elif format_ == SMEM:
        out += _cache_text(word, gfx, atomic)
    else:
        signed = immediate - (1 << 32) if immediate >> 31 else immediate
        out += [f"offset:{signed}"] if immediate else []
        if format_ in (MUBUF, MTBUF):
            out += [text for text in ("offen", "idxen", "addr64") if get(word, text)]
        out += _cache_text(word, gfx, atomic)
        if format_ in (MUBUF, MTBUF):
            out += [text for text in ("tfe", "lds", "disable_wqm") if get(word, text)]
    return out + _sync_text(word)


def _pseudo_text(name: str, format_: int, word: int, immediate: int) -> list[str]:
    if format_ == BRANCH:
        targets = ([f"BB{immediate}"] if immediate else []) + (
            [f"BB{get(word, 'branch_target1')}"] if get(word, "branch_target1") else [])
        out = [", ".join(targets)] if targets else []
        return out + [text for text in ("rarely_taken", "never_taken") if get(word, text)]
    if format_ == BARRIER:
        return [*_sync_text(word), "exec_scope:" + SCOPES[get(word, "execution_scope")]]
    if format_ == REDUCTION:
        size = get(word, "cluster_size")
        return [f"op:{REDUCTIONS[get(word, 'reduce_operation')]}"] + ([f"cluster_size:{size}"] if size else [])
    if not word:
        return []
    out = [f"scratch:{register_name(get(word, 'scratch_register'), 4)}"] if get(word, "scratch_register") != 0xFFFF else []
    return out + [text for text in ("scc_live", "needs_scratch") if get(word, text)]


def _valu_text(format_: int, word: int, operand_count: int) -> list[str]:
    out = ["", "*2", "*4", "*0.5"][get(word, "omod")].split()
    out += ["clamp"] if get(word, "clamp") else []
    out += ["opsel_hi"] if get(word, "opsel") & 8 else []
    if format_ & DPP16:
        out += _dpp_text(word)
    elif format_ & DPP8:
        lanes = get(word, "dpp8_lane_sel")
        out.append("dpp8:[" + ",".join(str(lanes >> 3 * lane & 7) for lane in range(8)) + "]")
        out += ["fi"] if get(word, "dpp8_fetch_inactive") else []
    elif format_ & SDWA:
        out += _sdwa_text(word, format_, operand_count)
    return out


def _attribute_text(word: int) -> list[str]:
    out = [f"attr{get(word, 'ldsdir_attr')}.{'xyzw'[get(word, 'ldsdir_channel')]}"]
    return out + (["high"] if get(word, "interp_high") else [])


def _suffixes(name: str, format_: int, word: int, immediate: int, gfx: int, operand_count: int, full: int) -> list[str]:
    row = opcodes.row(name)
    if format_ <= REDUCTION:
        return _pseudo_text(name, format_, word, immediate)
    if format_ == SOPP:
        return _sopp_text(name, immediate, gfx)
    if format_ == SOPK:
        if name in BRANCHES:
            return [f"block:BB{immediate}"]
        return [f"imm:{(immediate & 0xFFFF) - (0x10000 if immediate & 0x8000 else 0)}"]
    if format_ == EXP:
        return _export_text(word)
    if format_ == LDSDIR:
        out = _attribute_text(word)[:1] if name == "lds_param_load" else []
        out += [f"wait_vdst:{get(word, 'wait_vdst')}"] if get(word, "wait_vdst") != 15 else []
        return out + (["wait_vsrc:0"] if not get(word, "wait_vsrc") else []) + _sync_text(word)
    if format_ == VINTRP:
        return _attribute_text(word)
    if format_ == VINTERP:
        out = [f"wait_exp:{get(word, 'wait_exp')}"] if get(word, "wait_exp") != 7 else []
        return out + (["clamp"] if get(word, "clamp") else []) + (["opsel_hi"] if get(word, "opsel") & 8 else [])
    if SMEM <= format_ <= SCRATCH:
        return _memory_text(name, format_, word, immediate, gfx, "atomic" in row.flags, full)
    if SOP1 <= format_ <= SOPC or format_ == VOPD:
        return []
    return (_attribute_text(word) if "interpolation" in row.flags else []) + _valu_text(format_, word, operand_count)


def _modified_operand(text: str, index: int, name: str, format_: int, word: int) -> str:
    """Wrap an operand in the input modifiers of its instruction."""
    if not (format_ & VALU_BITS or format_ == VINTERP):
        return text
    packed, mix = bool(format_ & VOP3P), name in MIX
    negative = opsel = absolute = half = 0
    if index < 3:
        if mix:
            negative, absolute = get(word, "neg") >> index & 1, get(word, "neg_hi") >> index & 1
            half = get(word, "opsel_hi") >> index & 1
            opsel = half and get(word, "opsel") >> index & 1
        elif not packed:
            negative, absolute = get(word, "neg") >> index & 1, get(word, "abs") >> index & 1
            opsel = get(word, "opsel") >> index & 1
    literal_sign = negative and not (absolute or opsel or half) and text[:1] not in "% (" and text != "0"
    out = ("-(" if literal_sign else "-" if negative else "") + ("|" if absolute else "")
    out += "hi(" if opsel else "lo(" if half else ""
    out += text + (")" if opsel or half else "") + ("|" if absolute else "") + (")" if literal_sign else "")
    if packed and not mix and index < 3:
        low, high = get(word, "opsel") >> index & 1, get(word, "opsel_hi") >> index & 1
        out += f".{'xy'[low]}{'xy'[high]}" if low or not high else ""
        signs = get(word, "neg") >> index & 1, get(word, "neg_hi") >> index & 1
        out += f"*[{'-1' if signs[0] else '1'},{'-1' if signs[1] else '1'}]" if any(signs) else ""
    return out


def _must_be_vop3(name: str, word: int, definitions: list[Any], operands: list[Any], gfx: int, native: int) -> bool:
    """Whether a VOP1, VOP2 or VOPC opcode cannot be said in its short encoding."""
    if any(get(word, field) for field in ("neg", "abs", "opsel", "omod", "clamp")):
        return True
    for index, (_, reg, register_class, flags) in enumerate(operands):
        constant = flags & CONSTANT
        scalar = not register_class & 0x20 and not flags & UNDEF
        takes_scalar = name.startswith(("v_readlane", "v_writelane")) or name.endswith(("mk_f32", "mk_f16"))
        if index == 1 and native != VOP1 and (constant or scalar) and not takes_scalar:
            return True
        if index == 2 and scalar and not constant and flags & FIXED and reg != SPECIAL["vcc"] * 4:
            return True
    return bool(any(not rc & 0x20 and flags & D_FIXED and reg != SPECIAL["vcc"] * 4
                    for _, reg, rc, flags in definitions) and native in (VOP2, VOPC)
                and not name.startswith(("v_cmpx", "v_readlane")))  # fmt: skip


def _expected_format(name: str, word: int, definitions: list[Any], operands: list[Any], gfx: int, encoding: int) -> int:
    """The format that the reader gives an instruction that says no more than the text does."""
    native = opcodes.FORMATS[opcodes.row(name).format]
    if not native & (VOP1 | VOP2 | VOPC):
        return native | encoding
    if encoding & SDWA:
        return native | encoding
    if encoding:
        plain = not any(get(word, field) for field in ("opsel", "omod", "clamp"))
        placed = [(reg, rc) for _, reg, rc, flags in operands[1:] if flags & FIXED]
        placed += [(reg, rc) for _, reg, rc, flags in definitions if flags & D_FIXED]
        vop3 = not plain or any(not rc & 0x20 and reg != SPECIAL["vcc"] * 4 for reg, rc in placed)
        return native | encoding | (VOP3 if vop3 else 0)
    return native | (VOP3 if _must_be_vop3(name, word, definitions, operands, gfx, native) else 0)


class _Columns:
    """Plain Python lists of a program's columns: quicker to walk than NumPy scalars."""

    def __init__(self, program: Program) -> None:
        instructions, operands, definitions = program.instructions, program.operands, program.definitions
        self.gfx = program.gfx_level
        self.names = opcodes.names()
        self.opcode = instructions.opcode.tolist()
        self.format = instructions.format.tolist()
        self.modifiers = instructions.modifiers.tolist()
        self.immediate = instructions.immediate.tolist()
        self.spans = list(zip(instructions.definition_first.tolist(), instructions.definition_count.tolist(),
                              instructions.operand_first.tolist(), instructions.operand_count.tolist(), strict=True))  # fmt: skip
        self.operands = list(zip(operands.data.tolist(), operands.reg.tolist(), operands.register_class.tolist(),
                                 operands.flags.tolist(), strict=True))  # fmt: skip
        self.definitions = list(zip(definitions.temp.tolist(), definitions.reg.tolist(), definitions.register_class.tolist(),
                                    definitions.flags.tolist(), strict=True))  # fmt: skip

    def text(self, row: int, kills: bool) -> str:
        """One instruction."""
        name, format_, word = self.names[self.opcode[row]], self.format[row], self.modifiers[row]
        first_definition, definition_count, first_operand, operand_count = self.spans[row]
        definitions = self.definitions[first_definition : first_definition + definition_count]
        operands = self.operands[first_operand : first_operand + operand_count]
        if format_ == VOPD:
            return self._dual_text(name, word, definitions, operands, kills)
        out = ", ".join(_definition_text(*definition, kills) for definition in definitions) + (" = " if definitions else "")
        out += name
        if operands:
            texts = (_modified_operand(_operand_text(*operand, kills), index, name, format_, word)
                     for index, operand in enumerate(operands))  # fmt: skip
            out += " " + ", ".join(texts)
        full = _full_mask(definitions)
        for suffix in _suffixes(name, format_, word, self.immediate[row], self.gfx, operand_count, full):
            out += " " + suffix
        if format_ & VOP3:
            encoding = format_ & (SDWA | DPP16 | DPP8)
            if _expected_format(name, word, definitions, operands, self.gfx, encoding) != format_:
                out += " vop3"
        return out

    def _dual_text(self, name: str, word: int, definitions: list[Any], operands: list[Any], kills: bool) -> str:
        second = self.names[get(word, "vopd_opcode_y")]
        count = len(opcodes.row(name).operands)
        if name in ("v_dual_fmaak_f32", "v_dual_fmamk_f32", "v_dual_fmac_f32"):
            count = 3
        halves: list[tuple[str, list[Any], list[Any]]] = [
            (name, definitions[:1], operands[:count]), (second, definitions[1:], operands[count:]),
        ]
        texts = []
        for half, results, sources in halves:
            text = ", ".join(_definition_text(t, reg, class_, flags, kills) for t, reg, class_, flags in results) + f" = {half} "
            texts.append(text + ", ".join(_operand_text(data, reg, class_, flags, kills) for data, reg, class_, flags in sources))
        return " ::".join(texts)


def format_instruction(program: Program, row: int, kills: bool = False) -> str:
    """Return the text of one instruction."""
    return _Columns(program).text(row, kills)


def format_block(program: Program, block: int, kills: bool = False) -> str:
    """Return the text of one block."""
    return "\n".join(_block_lines(program, block, _Columns(program), kills, 0xC0)) + "\n"


def _block_lines(program: Program, block: int, columns: _Columns, kills: bool, mode: int) -> list[str]:
    blocks, lists = program.blocks, program.edge_lists.block
    edges = []
    for kind in ("logical", "linear"):
        first = getattr(blocks, f"{kind}_pred_first")[block]
        count = getattr(blocks, f"{kind}_pred_count")[block]
        edges.append("".join(f"BB{pred}, " for pred in lists[first : first + count].tolist()))
    kinds = "".join(f"{name}, " for name in _flag_names(int(blocks.kind[block]), KINDS))
    extra = "" if blocks.fp_mode[block] == mode else f"/ mode: 0x{int(blocks.fp_mode[block]):x} "
    extra += f"/ depth: {blocks.loop_depth[block]} " if blocks.loop_depth[block] else ""
    lines = [f"BB{block}", f"/* logical preds: {edges[0]}/ linear preds: {edges[1]}/ kind: {kinds}{extra}*/"]
    first, count = int(blocks.order_first[block]), int(blocks.order_count[block])
    lines += ["\t" + columns.text(row, kills) for row in program.order.instruction[first : first + count].tolist()]
    return lines


@checked
def format_program(program: Program, kills: bool | None = None) -> str:
    """Return a program as text.

    Parameters
    ----------
    program : Program
        Any stage of the backend.
    kills : bool, optional
        Mark killed operands and unused definitions; by default after spilling, as ACO does.
    """
    progress = build.progress(program)
    if kills is None:
        kills = progress == 1
    lines = [HEADERS[min(progress, 2)], "ACO shader stage: SW (CS), HW (COMPUTE_SHADER)"]
    columns = _Columns(program)
    for block in range(len(program.blocks)):
        lines += _block_lines(program, block, columns, kills, 0xC0)
    if data := program.constant_data:
        lines += ["", "/* constant data */"]
        for start in range(0, len(data), 32):
            words = (data[at : at + 4] for at in range(start, min(start + 32, len(data)), 4))
            lines.append(f"[{start:06d}] " + " ".join(f"{int.from_bytes(word, 'little'):08x}" for word in words))
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------------------------ reading
_CLASS = re.compile(r"(s|v|lv)(\d+)(b?)\Z")
_DEFINITION = re.compile(r"\s*(s\d+|l?v\d+b?): ((?:\(\w+\))*)%(\d+)(?::(\S+))?\Z")
_OPERAND = re.compile(r"((?:\(\w+\))*)%(\d+)(?::(\S+))?\Z")
_REGISTER = re.compile(r"([sv])\[?(\d+)(?:-(\d+))?\]?(?:\[(\d+):(\d+)\])?\Z")
_UNDEF = re.compile(r"(s\d+|l?v\d+b?):? undef\Z")
_SWIZZLE = re.compile(r"(.*?)(?:\.([xy])([xy]))?(?:\*\[(-?1),(-?1)\])?\Z")
_NAMED = re.compile(r"(\w+)\((\w+)\)\Z")
_BLOCK = re.compile(r"/\* logical preds: ((?:BB\d+, )*)/ linear preds: ((?:BB\d+, )*)/ kind: ((?:[\w-]+, )*)((?:/ \w+: \w+ )*)\*/\Z")


def parse_class(text: str) -> int:
    """Return the register class that a text such as ``v2b`` names."""
    match = _CLASS.match(text)
    if not match:
        raise InputError(f"no register class: {text!r}")
    file, size, sub = match[1], int(match[2]), match[3]
    if not 1 <= size <= 32 or (sub and file != "v"):
        raise InputError(f"no register class: {text!r}")
    if sub:
        return 0x60 | size
    return (size & 0x1F) | {"s": 0, "v": 0x20, "lv": 0xA0}[file]


def _parse_register(text: str, mask_bytes: int) -> tuple[int, int]:
    """Return (byte address, bytes) of a register."""
    if text in SPECIAL:
        return SPECIAL[text] * 4, mask_bytes if text in ("vcc", "exec") else 4
    halves = {"vcc_lo": 106, "vcc_hi": 107, "exec_lo": 126, "exec_hi": 127}
    if text in halves:
        return halves[text] * 4, 4
    match = _REGISTER.match(text)
    if not match:
        raise InputError(f"no register: {text!r}")
    first = int(match[2])
    last = int(match[3]) if match[3] else first
    if last < first or last > 255:
        raise InputError(f"no register: {text!r}")
    base = (256 + first if match[1] == "v" else first) * 4
    if match[4] is None:
        return base, (last - first + 1) * 4
    low, high = int(match[4]), int(match[5])
    if low % 8 or high % 8 or high <= low:
        raise InputError(f"no part of a register: {text!r}")
    return base + low // 8, (high - low) // 8


class _Reader:
    """State of reading one program."""

    def __init__(self, gfx: int, wave: int) -> None:
        self.gfx = gfx
        self.mask_bytes = 4 if wave == 32 else 8
        self.classes: dict[int, int] = {}

    # --- operands
    def definition(self, text: str) -> tuple[int, int, int, int]:
        """One definition."""
        match = _DEFINITION.match(text)
        if not match:
            raise InputError(f"no definition: {text.strip()!r}")
        register_class, temp = parse_class(match[1]), int(match[3])
        flags = D_TEMP if temp else 0
        for flag in re.findall(r"\((\w+)\)", match[2]):
            values = {"precise": D_PRECISE, "nuw": D_NUW, "noCSE": D_NO_CSE, "kill": D_KILL}
            if flag not in values:
                raise InputError(f"no flag of a definition: {flag!r}")
            flags |= values[flag]
        reg = NO_REGISTER
        if match[4]:
            reg, _ = _parse_register(match[4], self.mask_bytes)
            flags |= D_FIXED
        elif not temp:
            raise InputError("a definition needs a temp or a register")
        if temp >= 1 << 24:
            raise InputError(f"temp %{temp} is too large")
        if temp:
            self.classes.setdefault(temp, register_class)
        return temp, reg, register_class, flags

    def constant(self, text: str, size: int) -> tuple[int, int, int, int] | None:
        """A constant operand of `size` bytes, or None."""
        if text in INLINE_FLOATS:
            index = INLINE_FLOATS.index(text)
            values = INLINE_F16 if size == 2 else INLINE_F64 if size == 8 else INLINE_F32
            return build.constant(values[index], 4 if size == 1 else size)
        if re.fullmatch(r"0x[0-9a-f]+", text):
            value = int(text, 16)
            if value >> 32:
                raise InputError(f"{text}: a literal has 32 bits")
            return build.constant(value, size, size != 1)
        if re.fullmatch(r"-?\d+", text):
            value = int(text)
            if not -16 <= value <= 64:
                raise InputError(f"{text}: inline integers go from -16 to 64; write a literal in hexadecimal")
            return build.constant(value & (1 << 8 * size) - 1, size)
        return None

    def operand(self, text: str, size: int) -> tuple[int, int, int, int]:
        """One operand without its modifiers."""
        text = text.strip()
        if match := _UNDEF.match(text):
            return 0, NO_REGISTER, parse_class(match[1]), UNDEF
        constant = self.constant(text, size)
        if constant is not None:
            return constant
        match = _OPERAND.match(text)
        if not match:
            raise InputError(f"no operand: {text!r}")
        temp = int(match[2])
        flags = TEMP if temp else 0
        for flag in re.findall(r"\((\w+)\)", match[1]):
            values = {"latekill": LATE_KILL, "lateKill": LATE_KILL, "is16bit": BITS16, "is24bit": BITS24, "kill": KILL}
            if flag not in values:
                raise InputError(f"no flag of an operand: {flag!r}")
            flags |= values[flag]
        reg, register_class = NO_REGISTER, self.classes.get(temp, 0)
        if match[3]:
            reg, bytes_ = _parse_register(match[3], self.mask_bytes)
            flags |= FIXED
            if not register_class:
                vector = reg >= 1024
                register_class = (0x60 | bytes_ if bytes_ & 3 else 0x20 | bytes_ // 4) if vector else (bytes_ + 3) // 4
                if temp:
                    self.classes[temp] = register_class
        if not register_class:
            raise InputError(f"%{temp} is not defined")
        return temp, reg, register_class, flags


def _split_line(line: str) -> tuple[str, str]:
    """Definitions and the rest."""
    depth = line.split(" = ", 1)
    return (depth[0], depth[1]) if len(depth) == 2 else ("", depth[0])


def _constant_size(name: str, index: int, results: list[Any]) -> int:
    """Bytes that a constant operand stands for."""
    row = opcodes.row(name)
    if row.format.startswith("pseudo"):
        if name in ("p_linear_phi", "p_phi", "p_parallelcopy") and results:
            size = class_bytes(results[0 if "phi" in name else min(index, len(results) - 1)][2])
            return size if size in (2, 8) else 4
        return 4
    tokens = [token for token in row.operands if token not in ("scc", "vcc", "exec", "m0")]
    token = tokens[index] if index < len(tokens) else "v1"
    if token in ("s2", "v2"):
        return 8
    if token == "v2b" or (re.search(r"(_f16|_u16|_i16|_b16)$", name) and row.format.startswith("vop") and "v_cvt" not in name):
        return 2 if row.format != "vop3p" else 4
    return 4


class _Instruction:
    """Collects one instruction while its line is read."""

    def __init__(self, name: str, format_: int) -> None:
        self.name = name
        self.format = format_
        self.word = 0
        self.immediate = 0
        self.long = False

    def set(self, field: str, value: int) -> None:
        """Set a modifier."""
        self.word = put(self.word, field, value)


def _defaults(item: _Instruction) -> None:
    """Modifiers whose absence means something other than zero."""
    if item.format & VOP3P:
        item.set("opsel_hi", 0 if item.name in MIX else 7)
    if item.format == LDSDIR:
        item.set("wait_vdst", 15)
        item.set("wait_vsrc", 1)
    if item.format == VINTERP:
        item.set("wait_exp", 7)
    if item.format == MIMG:
        item.set("dmask", 15)
    if item.format == EXP:
        item.set("exp_enabled_mask", 15)
    if item.format == SOPP and item.name == "s_waitcnt_depctr":
        item.immediate = 0xFFFF


def _bits(values: str, names: Iterable[str], what: str) -> int:
    table = {name: 1 << bit for bit, name in enumerate(names)}
    total = 0
    for value in values.split(","):
        if value not in table:
            raise InputError(f"no {what}: {value!r}")
        total |= table[value]
    return total


def _index(value: str, names: tuple[str, ...], what: str) -> int:
    if value not in names:
        raise InputError(f"no {what}: {value!r}")
    return names.index(value)


def _parse_selection(text: str) -> int:
    match = re.fullmatch(r"(?:([us])(byte|word)(\d)|dword)", text)
    if not match:
        raise InputError(f"no SDWA selection: {text!r}")
    if text == "dword":
        return 2
    size = 1 if match[2] == "word" else 0
    offset = int(match[3]) << size
    if offset > 3:
        raise InputError(f"no SDWA selection: {text!r}")
    return size | offset << 2 | (16 if match[1] == "s" else 0)


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"no number: {text!r}") from None


def _wait_suffix(item: _Instruction, name: str, value: int, gfx: int) -> None:
    for counter, pieces in waitcnt_fields(gfx):
        if counter == name:
            for first, width, at in pieces:
                mask = (1 << width) - 1
                item.immediate = item.immediate & ~(mask << first) | (value >> at & mask) << first
            return
    raise InputError(f"no counter: {name!r}")


def _call_suffix(item: _Instruction, name: str, value: str, gfx: int) -> None:
    """A suffix of the form name(value)."""
    if item.name == "s_waitcnt":
        _wait_suffix(item, name, _number(value), gfx)
        return
    if item.name == "s_waitcnt_depctr":
        for field, first, width in DEPCTR:
            if field == name:
                mask = (1 << width) - 1
                item.immediate = item.immediate & ~(mask << first) | (_number(value) & mask) << first
                return
    if name == "sendmsg" and value == "dealloc_vgprs":
        item.immediate = 3
        return
    if name == "sendmsg" and value in MESSAGES:
        item.immediate = MESSAGES[value]
        return
    raise InputError(f"no suffix of {item.name}: {name}({value})")


def _delay_suffix(item: _Instruction, text: str) -> bool:
    if item.name != "s_delay_alu":
        return False
    second = item.immediate & 0x70 or item.long
    if text in DELAYS[1:]:
        item.immediate |= DELAYS.index(text) << (7 if second else 0)
    elif text == "next":
        item.immediate |= 1 << 4
    elif text == "same":
        item.long = True
    elif match := re.fullmatch(r"skip_(\d)", text):
        item.immediate |= int(match[1]) + 1 << 4
    else:
        return False
    return True


def _dpp_suffix(item: _Instruction, name: str, value: str) -> bool:
    fixed = {text: control for control, text in DPP_FIXED.items()}
    whole = f"{name}:{value}" if value else name
    ranges = dict(DPP_RANGES)
    if name == "quad_perm":
        lanes = [_number(lane) for lane in value.strip("[]").split(",")]
        control = sum((lane & 3) << 2 * at for at, lane in enumerate(lanes))
    elif whole in fixed:
        control = fixed[whole]
    elif name in ranges:
        control = ranges[name] + _number(value)
    elif name == "dpp_ctrl":
        control = _number(value)
    else:
        return False
    item.format |= DPP16
    item.set("dpp_ctrl", control)
    item.set("dpp_row_mask", 15)
    item.set("dpp_bank_mask", 15)
    return True


def _export_target(name: str) -> int | None:
    if name in ("mrtz", "null"):
        return {"mrtz": 8, "null": 9}[name]
    match = re.fullmatch(r"(mrt|pos|param|target)(\d+)", name)
    return {"mrt": 0, "pos": 12, "param": 32, "target": 0}[match[1]] + int(match[2]) if match else None


def _valu_suffix(item: _Instruction, name: str, value: str) -> bool:
    if name in ("*2", "*4", "*0.5"):
        item.set("omod", ("*2", "*4", "*0.5").index(name) + 1)
    elif name == "clamp":
        item.set("clamp", 1)
    elif name == "opsel_hi":
        item.set("opsel", get(item.word, "opsel") | 8)
    elif name == "vop3":
        item.long = True
    elif name in ("row_mask", "bank_mask"):
        item.set(f"dpp_{name}", _number(value))
    elif name == "bound_ctrl":
        item.set("dpp_bound_ctrl", _number(value))
    elif name == "fi":
        item.set("dpp8_fetch_inactive" if item.format & DPP8 else "dpp_fetch_inactive", 1)
    elif name == "dpp8":
        item.format |= DPP8
        lanes = [_number(lane) for lane in value.strip("[]").split(",")]
        item.set("dpp8_lane_sel", sum((lane & 7) << 3 * at for at, lane in enumerate(lanes)))
    elif name in ("dst_sel", "src0_sel", "src1_sel"):
        item.format |= SDWA
        field = {"dst_sel": "sdwa_dst_sel", "src0_sel": "sdwa_sel0", "src1_sel": "sdwa_sel1"}[name]
        item.set(field, _parse_selection(value) & (15 if name == "dst_sel" else 31))
    elif name == "dst_preserve":
        item.set("sdwa_dst_sel", get(item.word, "sdwa_dst_sel") | 16)
    elif name == "wait_exp":
        item.set("wait_exp", _number(value))
    else:
        return _dpp_suffix(item, name, value)
    return True


def _sync_suffix(item: _Instruction, name: str, value: str) -> bool:
    if name == "storage":
        item.set("storage", _bits(value, STORAGE, "storage class"))
    elif name == "semantics":
        item.set("semantics", _bits(value, SEMANTICS, "memory semantics"))
    elif name == "scope":
        item.set("scope", _index(value, SCOPES, "scope"))
    elif name == "exec_scope":
        item.set("execution_scope", _index(value, SCOPES, "scope"))
    else:
        return False
    return True


def _cache_suffix(item: _Instruction, name: str, gfx: int) -> bool:
    if gfx < 120:
        if name in ("glc", "slc", "dlc"):
            item.set(f"cache_{name}", 1)
            return True
        return False
    if name in CACHE_SCOPES[1:]:
        item.set("cache_scope", CACHE_SCOPES.index(name))
    elif "atomic" in opcodes.row(item.name).flags and name in ATOMIC_HINTS:
        item.set("cache_temporal_hint", get(item.word, "cache_temporal_hint") | 1 << ATOMIC_HINTS.index(name))
    elif name in TEMPORAL_LOAD[1:]:
        item.set("cache_temporal_hint", TEMPORAL_LOAD.index(name))
    else:
        return False
    return True


def _memory_suffix(item: _Instruction, name: str, value: str, gfx: int) -> bool:
    prefix = "image_" if item.format == MIMG else ""
    if name in ("offset", "offset0"):
        item.immediate |= _number(value) & (0xFFFF if item.format == DS else 0xFFFFFFFF)
    elif name == "offset1":
        item.immediate |= (_number(value) & 0xFF) << 16
    elif name in ("offen", "idxen", "addr64", "lds", "gds", "unrm", "lwe", "r128", "a16", "d16", "g16", "da", "strict_wqm"):
        item.set(name, 1)
    elif name in ("tfe", "disable_wqm"):
        item.set(prefix + name, 1)
    elif name == "dfmt":
        item.set("format", get(item.word, "format") & 0x70 | _index(value, DATA_FORMATS, "data format"))
    elif name == "nfmt":
        item.set("format", get(item.word, "format") & 15 | _index(value, NUMBER_FORMATS, "number format") << 4)
    elif name == "dmask":
        item.set("dmask", sum(1 << "xyzw".index(letter) for letter in value if letter in "xyzw"))
    elif name in DIMENSIONS:
        item.set("dim", DIMENSIONS.index(name))
    else:
        return _cache_suffix(item, name, gfx)
    return True


def _export_suffix(item: _Instruction, name: str, value: str) -> bool:
    flags = {"compr": "exp_compressed", "done": "exp_done", "vm": "exp_valid_mask", "row": "exp_row"}
    if name == "en":
        item.set("exp_enabled_mask", sum(1 << at for at, letter in enumerate(value) if letter != "*"))
    elif name in flags:
        item.set(flags[name], 1)
    else:
        target = _export_target(name)
        if target is None:
            return False
        item.set("exp_target", target)
    return True


def _suffix(item: _Instruction, text: str, reader: _Reader) -> None:
    """One word after the operands."""
    if match := _NAMED.match(text):
        _call_suffix(item, match[1], match[2], reader.gfx)
        return
    name, _, value = text.partition(":")
    if name == "imm":
        item.immediate = _number(value) & 0xFFFF
    elif name == "block":
        item.immediate = _number(value.removeprefix("BB"))
    elif re.fullmatch(r"BB\d+,?", text):
        target = int(text.removeprefix("BB").rstrip(","))
        if item.immediate:
            item.set("branch_target1", target)
        else:
            item.immediate = target
    elif name in ("rarely_taken", "never_taken", "scc_live", "needs_scratch"):
        item.set(name, 1)
    elif name == "op":
        item.set("reduce_operation", _index(value, REDUCTIONS, "reduction"))
    elif name == "cluster_size":
        item.set("cluster_size", _number(value))
    elif name == "scratch":
        item.set("scratch_register", _parse_register(value, 4)[0])
    elif match := re.fullmatch(r"attr(\d+)\.([xyzw])", text):
        item.set("ldsdir_attr", int(match[1]))
        item.set("ldsdir_channel", "xyzw".index(match[2]))
    elif name == "high" and "interpolation" in opcodes.row(item.name).flags:
        item.set("interp_high", 1)
    elif name in ("wait_vdst", "wait_vsrc"):
        item.set(name, _number(value))
    elif not (_sync_suffix(item, name, value) or _delay_suffix(item, text)
              or (item.format == EXP and _export_suffix(item, name, value))
              or (SMEM <= item.format <= SCRATCH and _memory_suffix(item, name, value, reader.gfx))
              or (item.format & VALU_BITS and _valu_suffix(item, name, value))
              or (item.format == VINTERP and _valu_suffix(item, name, value))):  # fmt: skip
        raise InputError(f"no suffix of {item.name}: {text!r}")


def _modified(item: _Instruction, text: str, index: int) -> str:
    """Take the input modifiers off an operand."""
    text = text.strip()
    packed, mix = bool(item.format & VOP3P), item.name in MIX
    if packed and not mix:
        match = _SWIZZLE.match(text)
        assert match is not None
        text = match[1]
        if match[2]:
            item.set("opsel", get(item.word, "opsel") | "xy".index(match[2]) << index)
            high = get(item.word, "opsel_hi") & ~(1 << index)
            item.set("opsel_hi", high | "xy".index(match[3]) << index)
        for field, sign in (("neg", match[4]), ("neg_hi", match[5])):
            if sign == "-1":
                item.set(field, get(item.word, field) | 1 << index)
        return text
    if text.startswith("-") and (not re.fullmatch(r"-(\d+(\.\d+)?|1/\(2\*PI\))", text) or text == "-0"):
        item.set("neg", get(item.word, "neg") | 1 << index)
        text = text[1:]
        if text.startswith("(") and not re.match(r"\((is16bit|is24bit|kill|latekill)\)", text):
            text = text[1:-1]
    if text.startswith("|"):
        field = "neg_hi" if mix else "abs"
        item.set(field, get(item.word, field) | 1 << index)
        text = text[1:-1]
    if text.startswith(("lo(", "hi(")):
        if text.startswith("hi("):
            item.set("opsel", get(item.word, "opsel") | 1 << index)
        if mix:
            item.set("opsel_hi", get(item.word, "opsel_hi") | 1 << index)
        text = text[3:-1]
    return text


def _split_operands(text: str) -> tuple[list[str], list[str]]:
    """Split what follows an opcode into operands (separated by commas) and suffixes (by blanks)."""
    operands: list[str] = []
    rest = text
    while True:
        match = re.match(r"\s*(-?\|?-?(?:lo\(|hi\()?-?\(?(?:(?:s\d+|l?v\d+b?):? undef|1/\(2\*PI\)[|)]*|[^\s,]+\[[^\s\]]*\][^\s,]*|[^\s,]+))",
                         rest)  # fmt: skip
        if not match or not _is_operand(match[1]):
            return operands, rest.split()
        operands.append(match[1])
        rest = rest[match.end() :]
        if not rest.startswith(","):
            return operands, rest.split()
        rest = rest[1:]


def _is_operand(text: str) -> bool:
    bare = text.lstrip("-|(")
    return bool(re.match(r"(?:(?:lo|hi)\()?[-|]*(?:\((?:is16bit|is24bit|kill|latekill|lateKill)\))*(%|0x|\d+\b(?!d)|1/\(|[slv]+\d+b?:? undef)",
                         bare) or re.match(r"(is16bit|is24bit|kill|latekill|lateKill)\)", bare))  # fmt: skip


def _parse_half(reader: _Reader, line: str) -> tuple[_Instruction, list[Any], list[Any]]:
    results, rest = _split_line(line)
    definitions = [reader.definition(part) for part in results.split(",")] if results.strip() else []
    name, _, rest = rest.strip().partition(" ")
    if name not in opcodes.numbers():
        raise InputError(f"no opcode: {name!r}")
    item = _Instruction(name, opcodes.FORMATS[opcodes.row(name).format])
    _defaults(item)
    if name == "s_waitcnt":
        item.immediate = _wait_none(reader.gfx)
    operand_texts, suffixes = _split_operands(rest)
    operands = []
    valu = bool(item.format & VALU_BITS) or item.format == VINTERP
    for index, text in enumerate(operand_texts):
        bare = _modified(item, text, index) if valu else text
        size = _constant_size(name, index, definitions)
        if item.format <= REDUCTION and (match := re.fullmatch(r"0x([0-9a-f]+)", bare.strip())):
            size = {2: 1, 4: 2}.get(len(match[1]), size if size == 8 else 4)
        operands.append(reader.operand(bare, size))
    for suffix in suffixes:
        _suffix(item, suffix, reader)
    return item, definitions, operands


def _wait_none(gfx: int) -> int:
    immediate = 0
    for _, pieces in waitcnt_fields(gfx):
        for first, width, _ in pieces:
            immediate |= ((1 << width) - 1) << first
    return immediate


def _complete_memory(item: _Instruction, definitions: list[Any], line: str, gfx: int) -> None:
    """Modifiers that the text leaves to the result's size or to the gfx level."""
    if item.format == MTBUF:
        number = isa_names.join_format(get(item.word, "format"), gfx)
        if number is None:
            raise InputError("no such buffer format on this gfx level")
        item.set("format", number)
    elif item.format == MIMG and definitions and "dmask:" not in line and "atomic" not in item.name:
        item.set("dmask", (1 << min(4, definitions[0][2] & 0x1F)) - 1)


def _parse_instruction(reader: _Reader, line: str) -> tuple[_Instruction, list[Any], list[Any]]:
    if " :: " not in line:
        item, definitions, operands = _parse_half(reader, line)
        _complete_memory(item, definitions, line, reader.gfx)
        encoding = item.format & (SDWA | DPP16 | DPP8)
        if item.format & (VOP1 | VOP2 | VOPC):
            item.format = _expected_format(item.name, item.word, definitions, operands, reader.gfx, encoding)
            item.format |= VOP3 if item.long else 0
        return item, definitions, operands
    first, second = line.split(" :: ", 1)
    item, definitions, operands = _parse_half(reader, first)
    other, more_definitions, more_operands = _parse_half(reader, second)
    item.set("vopd_opcode_y", opcodes.numbers()[other.name])
    return item, definitions + more_definitions, operands + more_operands


def _lines(text: str, each: Callable[[int, str], None]) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            each(number, line)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None


def _collect_classes(text: str, reader: _Reader) -> None:
    """Phis and loops use temps before their definition is read."""
    def each(number: int, line: str) -> None:
        for half in line.split(" :: ") if line.startswith("\t") else ():
            results = _split_line(half)[0]
            for part in results.split(",") if results.strip() else ():
                reader.definition(part)
    _lines(text, each)


@checked
def parse_program(text: str, gfx_level: int, wave_size: int = 64, *, workgroup_size: int = 0xFFFFFFFF,
                  wgp_mode: bool = False) -> Program:  # fmt: skip
    """Return the program that a text in ACO's form describes.

    Parameters
    ----------
    text : str
        What :func:`format_program` or ACO prints.
    gfx_level : int
        Hardware level times ten, as in ``pyaco.targets.Chip.level``.
    wave_size : int
        32 or 64.
    workgroup_size : int
        Invocations, where known.
    wgp_mode : bool
        Whether workgroups run in workgroup-processor mode.

    Raises
    ------
    InputError
        Naming the line.
    """
    program = build.new_program(gfx_level, wave_size, workgroup_size, wgp_mode)
    reader = _Reader(gfx_level, wave_size)
    _collect_classes(text, reader)
    edges: list[tuple[bool, int, int]] = []
    depth = 0
    block = -1
    expects_header = False
    data = bytearray()

    def block_header(line: str) -> None:
        nonlocal depth
        match = _BLOCK.match(line.strip())
        if not match:
            raise InputError(f"no block comment: {line!r}")
        for linear, group in ((False, match[1]), (True, match[2])):
            edges.extend((linear, int(pred), block) for pred in re.findall(r"BB(\d+)", group))
        kinds = [KINDS.index(kind) if kind in KINDS else -1 for kind in re.findall(r"([\w-]+),", match[3])]
        if -1 in kinds:
            raise InputError(f"no block kind in: {match[3]!r}")
        extra = dict(re.findall(r"/ (\w+): (\w+)", match[4]))
        kind = sum(1 << bit for bit in kinds)
        depth += 1 if kind & 8 else 0
        depth -= 1 if kind & 16 and depth else 0
        build.add_block(program, kind, int(extra.get("mode", "0xc0"), 0), int(extra.get("depth", depth)))

    def each(_: int, line: str) -> None:
        nonlocal block, expects_header
        if expects_header:
            expects_header = False
            block_header(line)
        elif match := re.fullmatch(r"BB(\d+)", line.strip()):
            block += 1
            if int(match[1]) != block:
                raise InputError(f"expected BB{block}, not {line.strip()}")
            expects_header = True
        elif line.startswith("\t"):
            if block < 0:
                raise InputError("an instruction stands before the first block")
            item, definitions, operands = _parse_instruction(reader, line[1:])
            build.add_instruction(program, block, opcodes.numbers()[item.name], item.format, definitions, operands,
                                  item.word, item.immediate)  # fmt: skip
        elif line in HEADERS:
            build.set_progress(program, HEADERS.index(line))
        elif match := re.match(r"\[(\d{6})\] ([0-9a-f ]+)$", line):
            for word in match[2].split():
                data.extend(int(word, 16).to_bytes(4, "little"))
        elif line.strip() and not line.startswith(("ACO shader stage:", "/* constant data */")):
            raise InputError(f"not understood: {line!r}")

    _lines(text, each)
    if block < 0:
        raise InputError("the text has no block")
    _finish(program, reader, edges, block + 1, bytes(data))
    return program


def _finish(program: Program, reader: _Reader, edges: list[tuple[bool, int, int]], blocks: int, data: bytes) -> None:
    highest = max(reader.classes, default=0)
    build.add_temps(program, [reader.classes.get(temp, 0) for temp in range(1, highest + 1)])
    for linear, predecessor, successor in edges:
        if predecessor >= blocks:
            raise InputError(f"BB{successor}: predecessor BB{predecessor} does not exist")
        build.add_edge(program, linear, predecessor, successor)
    build.finish_edges(program)
    build.set_constant_data(program, data)
    levels = {chip.level: chip for chip in reversed(targets.chips())}
    if program.gfx_level in levels:
        build.set_device(program, **targets.wave_limits(levels[program.gfx_level], program.wave_size).as_dict())


def field(word: int, name: str) -> Any:
    """Field `name` of a modifier word (for users' passes and tests)."""
    return get(word, name)
