"""What follows the operands in ACO IR's text: immediates, modifiers, memory and synchronisation, in both directions.

``suffix_texts`` gives the words of an instruction, ``read_suffix`` puts one word into the ``InstructionText`` that is being read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyaco._core.common.vocabulary import Format, GfxLevel
from pyaco.aco.text_words import (
    ATOMIC_HINTS,
    BRANCHES,
    CACHE_SCOPES,
    DATA_FORMATS,
    DELAYS,
    DIMENSIONS,
    DOUBLE_WAITS,
    DPP_FIXED,
    DPP_RANGES,
    MESSAGES,
    MIX,
    NUMBER_FORMATS,
    REDUCTIONS,
    RETURNING_MESSAGES,
    SCOPES,
    SEMANTICS,
    STORAGE,
    TEMPORAL_LOAD,
    VALU_FORMATS,
    bits_of,
    class_bytes,
    flag_names,
    get,
    index_of,
    number,
    parse_register,
    put,
    register_name,
)
from pyaco.errors import InputError
from pyaco.isa import names as isa_names
from pyaco.isa import opcodes, waits

_NAMED = re.compile(r"(\w+)\((\w+)\)\Z")


class InstructionText:
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


def set_defaults(item: InstructionText) -> None:
    """Modifiers whose absence means something other than zero."""
    if item.format & Format.VOP3P:
        item.set("opsel_hi", 0 if item.name in MIX else 7)
    if item.format == Format.LDSDIR:
        item.set("wait_vdst", 15)
        item.set("wait_vsrc", 1)
    if item.format == Format.VINTERP_INREG:
        item.set("wait_exp", 7)
    if item.format == Format.MIMG:
        item.set("dmask", 15)
    if item.format == Format.EXP:
        item.set("exp_enabled_mask", 15)
    if item.format == Format.SOPP and item.name == "s_waitcnt_depctr":
        item.immediate = 0xFFFF
    if item.name in DOUBLE_WAITS:
        item.immediate = 0x3F3F


def wait_for_nothing(gfx: int) -> int:
    """The immediate of an ``s_waitcnt`` that waits for nothing."""
    return sum(counter.put(0, counter.limit) for counter in waits.counters("waitcnt", gfx).values())


# ---------------------------------------------------------------------------------------------------------------- printing
def _sync_text(word: int) -> list[str]:
    out = []
    if storage := get(word, "storage"):
        out.append("storage:" + ",".join(flag_names(storage, STORAGE)))
    if semantics := get(word, "semantics"):
        out.append("semantics:" + ",".join(flag_names(semantics, SEMANTICS)))
    if scope := get(word, "scope"):
        out.append("scope:" + SCOPES[scope])
    return out


def _cache_text(word: int, gfx: int, atomic: bool) -> list[str]:
    if gfx < 120:
        return [name for name in ("glc", "dlc", "slc") if get(word, f"cache_{name}")]
    hint, scope = get(word, "cache_temporal_hint"), get(word, "cache_scope")
    out = flag_names(hint, ATOMIC_HINTS) if atomic else ([TEMPORAL_LOAD[hint]] if hint else [])
    return out + ([CACHE_SCOPES[scope]] if scope else [])


def _dependency_counters() -> dict[str, waits.Counter]:
    """Return the counters of ``s_waitcnt_depctr``: all of them, on every level, as ACO prints them."""
    return waits.counters("depctr", int(GfxLevel.GFX12))


def _counters_text(counters: Iterable[tuple[str, waits.Counter]], immediate: int) -> list[str]:
    return [f"{name}({count})" for name, counter in counters if (count := counter.get(immediate)) != counter.limit]


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
        return _counters_text(sorted(waits.counters("waitcnt", gfx).items()), immediate)
    if name == "s_waitcnt_depctr":
        return _counters_text(_dependency_counters().items(), immediate)
    if name in DOUBLE_WAITS and not immediate & ~0x3F3F:
        return [f"{counter}({immediate >> shift & 63})" for counter, shift in DOUBLE_WAITS[name].items()]
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


def _returning_message_text(immediate: int, gfx: int) -> list[str]:
    """The message of an instruction that returns an answer: an inline constant, and its name."""
    if not 128 <= immediate <= 192:
        return [f"imm:{immediate}"]
    name = isa_names.messages(gfx).get(immediate)
    return [str(immediate - 128)] + ([f"sendmsg({name.removeprefix('MSG_').lower()})"] if name else [])


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
    if not format_ & Format.VOPC:
        destination = get(word, "sdwa_dst_sel")
        out.append("dst_sel:" + _selection_text(destination & 15))
        out += ["dst_preserve"] if destination & 16 else []
    return out + [f"src{i}_sel:{_selection_text(get(word, f'sdwa_sel{i}'))}" for i in range(min(2, operand_count))]


def full_mask(definitions: list[Any]) -> int:
    """The component mask that the text leaves out: as many components as the result has dwords."""
    return (1 << min(4, (class_bytes(definitions[0][2]) + 3) // 4)) - 1 if definitions else 15


def _mimg_text(word: int, gfx: int, atomic: bool, full: int) -> list[str]:
    out = []
    mask = get(word, "dmask")
    if mask & full != full:
        out.append("dmask:" + "".join(flag_names(mask, "xyzw")))
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
    if format_ == Format.MTBUF:
        encoded = isa_names.split_format(get(word, "format"), gfx)
        out = [f"dfmt:{DATA_FORMATS[encoded & 15]}", f"nfmt:{NUMBER_FORMATS[encoded >> 4]}"]
    if format_ == Format.MIMG:
        out += _mimg_text(word, gfx, atomic, full)
    elif format_ == Format.DS:
        out += [f"offset0:{immediate & 0xFFFF}"] if immediate & 0xFFFF else []
        out += [f"offset1:{immediate >> 16 & 0xFF}"] if immediate >> 16 else []
        out += ["gds"] if get(word, "gds") else []
    elif format_ == Format.SMEM:
        out += _cache_text(word, gfx, atomic)
    else:
        signed = immediate - (1 << 32) if immediate >> 31 else immediate
        out += [f"offset:{signed}"] if immediate else []
        if format_ in (Format.MUBUF, Format.MTBUF):
            out += [text for text in ("offen", "idxen", "addr64") if get(word, text)]
        out += _cache_text(word, gfx, atomic)
        if format_ in (Format.MUBUF, Format.MTBUF):
            out += [text for text in ("tfe", "lds", "disable_wqm") if get(word, text)]
    return out + _sync_text(word)


def _pseudo_text(name: str, format_: int, word: int, immediate: int) -> list[str]:
    if format_ == Format.PSEUDO_BRANCH:
        targets = ([f"BB{immediate}"] if immediate else []) + (
            [f"BB{get(word, 'branch_target1')}"] if get(word, "branch_target1") else [])
        out = [", ".join(targets)] if targets else []
        return out + [text for text in ("rarely_taken", "never_taken") if get(word, text)]
    if format_ == Format.PSEUDO_BARRIER:
        return [*_sync_text(word), "exec_scope:" + SCOPES[get(word, "execution_scope")]]
    if format_ == Format.PSEUDO_REDUCTION:
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
    if format_ & Format.DPP16:
        out += _dpp_text(word)
    elif format_ & Format.DPP8:
        lanes = get(word, "dpp8_lane_sel")
        out.append("dpp8:[" + ",".join(str(lanes >> 3 * lane & 7) for lane in range(8)) + "]")
        out += ["fi"] if get(word, "dpp8_fetch_inactive") else []
    elif format_ & Format.SDWA:
        out += _sdwa_text(word, format_, operand_count)
    return out


def _attribute_text(word: int) -> list[str]:
    out = [f"attr{get(word, 'ldsdir_attr')}.{'xyzw'[get(word, 'ldsdir_channel')]}"]
    return out + (["high"] if get(word, "interp_high") else [])


def suffix_texts(name: str, format_: int, word: int, immediate: int, gfx: int, operand_count: int, full: int) -> list[str]:
    """The words after the operands of an instruction."""
    row = opcodes.row(name)
    if format_ <= Format.PSEUDO_REDUCTION:
        return _pseudo_text(name, format_, word, immediate)
    if format_ == Format.SOPP:
        return _sopp_text(name, immediate, gfx)
    if name in RETURNING_MESSAGES:
        return _returning_message_text(immediate, gfx)
    if format_ == Format.SOPK:
        if name in BRANCHES:
            return [f"block:BB{immediate}"]
        return [f"imm:{(immediate & 0xFFFF) - (0x10000 if immediate & 0x8000 else 0)}"]
    if format_ == Format.EXP:
        return _export_text(word)
    if format_ == Format.LDSDIR:
        out = _attribute_text(word)[:1] if name == "lds_param_load" else []
        out += [f"wait_vdst:{get(word, 'wait_vdst')}"] if get(word, "wait_vdst") != 15 else []
        return out + (["wait_vsrc:0"] if not get(word, "wait_vsrc") else []) + _sync_text(word)
    if format_ == Format.VINTRP:
        return _attribute_text(word)
    if format_ == Format.VINTERP_INREG:
        out = [f"wait_exp:{get(word, 'wait_exp')}"] if get(word, "wait_exp") != 7 else []
        return out + (["clamp"] if get(word, "clamp") else []) + (["opsel_hi"] if get(word, "opsel") & 8 else [])
    if Format.SMEM <= format_ <= Format.SCRATCH:
        return _memory_text(name, format_, word, immediate, gfx, "atomic" in row.flags, full)
    if Format.SOP1 <= format_ <= Format.SOPC or format_ == Format.VOPD:
        return []
    return (_attribute_text(word) if "interpolation" in row.flags else []) + _valu_text(format_, word, operand_count)


# ------------------------------------------------------------------------------------------------------------------ reading
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


def _call_suffix(item: InstructionText, name: str, value: str, gfx: int) -> None:
    """A suffix of the form name(value)."""
    if item.name == "s_waitcnt":
        counter = waits.counters("waitcnt", gfx).get(name)
        if counter is None:
            raise InputError(f"no counter: {name!r}")
        item.immediate = counter.put(item.immediate, number(value))
        return
    if item.name in DOUBLE_WAITS and name in DOUBLE_WAITS[item.name]:
        shift, count = DOUBLE_WAITS[item.name][name], number(value)
        if count > 63:
            raise InputError(f"{name}({count}): the counter has 6 bits")
        item.immediate = item.immediate & ~(63 << shift) | count << shift
        return
    if item.name == "s_waitcnt_depctr" and (dependency := _dependency_counters().get(name)):
        item.immediate = dependency.put(item.immediate, number(value))
        return
    if name == "sendmsg" and item.name in RETURNING_MESSAGES:
        if isa_names.messages(gfx).get(item.immediate) != f"MSG_{value.upper()}":
            raise InputError(f"{item.name}: message {item.immediate - 128} is not {value!r}")
        return
    if name == "sendmsg" and value == "dealloc_vgprs":
        item.immediate = 3
        return
    if name == "sendmsg" and value in MESSAGES:
        item.immediate = MESSAGES[value]
        return
    raise InputError(f"no suffix of {item.name}: {name}({value})")


def _delay_suffix(item: InstructionText, text: str) -> bool:
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


def _dpp_suffix(item: InstructionText, name: str, value: str) -> bool:
    fixed = {text: control for control, text in DPP_FIXED.items()}
    whole = f"{name}:{value}" if value else name
    ranges = dict(DPP_RANGES)
    if name == "quad_perm":
        lanes = [number(lane) for lane in value.strip("[]").split(",")]
        control = sum((lane & 3) << 2 * at for at, lane in enumerate(lanes))
    elif whole in fixed:
        control = fixed[whole]
    elif name in ranges:
        control = ranges[name] + number(value)
    elif name == "dpp_ctrl":
        control = number(value)
    else:
        return False
    item.format |= Format.DPP16
    item.set("dpp_ctrl", control)
    item.set("dpp_row_mask", 15)
    item.set("dpp_bank_mask", 15)
    return True


def _export_target(name: str) -> int | None:
    if name in ("mrtz", "null"):
        return {"mrtz": 8, "null": 9}[name]
    match = re.fullmatch(r"(mrt|pos|param|target)(\d+)", name)
    return {"mrt": 0, "pos": 12, "param": 32, "target": 0}[match[1]] + int(match[2]) if match else None


def _valu_suffix(item: InstructionText, name: str, value: str) -> bool:
    if name in ("*2", "*4", "*0.5"):
        item.set("omod", ("*2", "*4", "*0.5").index(name) + 1)
    elif name == "clamp":
        item.set("clamp", 1)
    elif name == "opsel_hi":
        item.set("opsel", get(item.word, "opsel") | 8)
    elif name == "vop3":
        item.long = True
    elif name in ("row_mask", "bank_mask"):
        item.set(f"dpp_{name}", number(value))
    elif name == "bound_ctrl":
        item.set("dpp_bound_ctrl", number(value))
    elif name == "fi":
        item.set("dpp8_fetch_inactive" if item.format & Format.DPP8 else "dpp_fetch_inactive", 1)
    elif name == "dpp8":
        item.format |= Format.DPP8
        lanes = [number(lane) for lane in value.strip("[]").split(",")]
        item.set("dpp8_lane_sel", sum((lane & 7) << 3 * at for at, lane in enumerate(lanes)))
    elif name in ("dst_sel", "src0_sel", "src1_sel"):
        item.format |= Format.SDWA
        field = {"dst_sel": "sdwa_dst_sel", "src0_sel": "sdwa_sel0", "src1_sel": "sdwa_sel1"}[name]
        item.set(field, _parse_selection(value) & (15 if name == "dst_sel" else 31))
    elif name == "dst_preserve":
        item.set("sdwa_dst_sel", get(item.word, "sdwa_dst_sel") | 16)
    elif name == "wait_exp":
        item.set("wait_exp", number(value))
    else:
        return _dpp_suffix(item, name, value)
    return True


def _sync_suffix(item: InstructionText, name: str, value: str) -> bool:
    if name == "storage":
        item.set("storage", bits_of(value, STORAGE, "storage class"))
    elif name == "semantics":
        item.set("semantics", bits_of(value, SEMANTICS, "memory semantics"))
    elif name == "scope":
        item.set("scope", index_of(value, SCOPES, "scope"))
    elif name == "exec_scope":
        item.set("execution_scope", index_of(value, SCOPES, "scope"))
    else:
        return False
    return True


def _cache_suffix(item: InstructionText, name: str, gfx: int) -> bool:
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


def _memory_suffix(item: InstructionText, name: str, value: str, gfx: int) -> bool:
    prefix = "image_" if item.format == Format.MIMG else ""
    if name in ("offset", "offset0"):
        item.immediate |= number(value) & (0xFFFF if item.format == Format.DS else 0xFFFFFFFF)
    elif name == "offset1":
        item.immediate |= (number(value) & 0xFF) << 16
    elif name in ("offen", "idxen", "addr64", "lds", "gds", "unrm", "lwe", "r128", "a16", "d16", "g16", "da", "strict_wqm"):
        item.set(name, 1)
    elif name in ("tfe", "disable_wqm"):
        item.set(prefix + name, 1)
    elif name == "dfmt":
        item.set("format", get(item.word, "format") & 0x70 | index_of(value, DATA_FORMATS, "data format"))
    elif name == "nfmt":
        item.set("format", get(item.word, "format") & 15 | index_of(value, NUMBER_FORMATS, "number format") << 4)
    elif name == "dmask":
        item.set("dmask", sum(1 << "xyzw".index(letter) for letter in value if letter in "xyzw"))
    elif name in DIMENSIONS:
        item.set("dim", DIMENSIONS.index(name))
    else:
        return _cache_suffix(item, name, gfx)
    return True


def _export_suffix(item: InstructionText, name: str, value: str) -> bool:
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


def read_message(item: InstructionText, operands: list[Any]) -> None:
    """Take the number of a returning message out of the operands, where text has it as an inline constant."""
    if item.name not in RETURNING_MESSAGES or not operands:
        return
    code = operands.pop()[1] >> 2
    if operands or not 128 <= code <= 192:
        raise InputError(f"{item.name} takes the number of a message, from 0 to 64")
    item.immediate = code


def read_suffix(item: InstructionText, text: str, gfx: int) -> None:
    """One word after the operands."""
    if match := _NAMED.match(text):
        _call_suffix(item, match[1], match[2], gfx)
        return
    name, _, value = text.partition(":")
    if name == "imm":
        item.immediate = number(value) & 0xFFFF
    elif name == "block":
        item.immediate = number(value.removeprefix("BB"))
    elif re.fullmatch(r"BB\d+,?", text):
        target = int(text.removeprefix("BB").rstrip(","))
        if item.immediate:
            item.set("branch_target1", target)
        else:
            item.immediate = target
    elif name in ("rarely_taken", "never_taken", "scc_live", "needs_scratch"):
        item.set(name, 1)
    elif name == "op":
        item.set("reduce_operation", index_of(value, REDUCTIONS, "reduction"))
    elif name == "cluster_size":
        item.set("cluster_size", number(value))
    elif name == "scratch":
        item.set("scratch_register", parse_register(value, 4)[0])
    elif match := re.fullmatch(r"attr(\d+)\.([xyzw])", text):
        item.set("ldsdir_attr", int(match[1]))
        item.set("ldsdir_channel", "xyzw".index(match[2]))
    elif name == "high" and "interpolation" in opcodes.row(item.name).flags:
        item.set("interp_high", 1)
    elif name in ("wait_vdst", "wait_vsrc"):
        item.set(name, number(value))
    elif not (_sync_suffix(item, name, value) or _delay_suffix(item, text)
              or (item.format == Format.EXP and _export_suffix(item, name, value))
              or (Format.SMEM <= item.format <= Format.SCRATCH and _memory_suffix(item, name, value, gfx))
              or (item.format & VALU_FORMATS and _valu_suffix(item, name, value))
              or (item.format == Format.VINTERP_INREG and _valu_suffix(item, name, value))):  # fmt: skip
        raise InputError(f"no suffix of {item.name}: {text!r}")
