"""Names of numbers in assembly text: messages, hardware registers, wait counters, lane control, cache policy.

Used by the printer and the reader of assembly. Spellings: LLVM's "Syntax of AMDGPU Instruction Operands"; numbers: the
AMD ISA documents (S_SENDMSG, S_GETREG_B32, S_WAITCNT, S_DELAY_ALU, DPP_CTRL, temporal hints of GFX12).
"""

from __future__ import annotations

from functools import cache

# ------------------------------------------------------------------------------------------------------------- messages
_MESSAGES_9 = {
    1: "MSG_INTERRUPT", 2: "MSG_GS", 3: "MSG_GS_DONE", 4: "MSG_SAVEWAVE", 5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE", 8: "MSG_EARLY_PRIM_DEALLOC", 9: "MSG_GS_ALLOC_REQ", 10: "MSG_GET_DOORBELL",
    15: "MSG_SYSMSG",
}  # fmt: skip
_MESSAGES_11 = {
    1: "MSG_INTERRUPT", 2: "MSG_HS_TESSFACTOR", 3: "MSG_DEALLOC_VGPRS", 5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES",
    9: "MSG_GS_ALLOC_REQ", 128: "MSG_RTN_GET_DOORBELL", 129: "MSG_RTN_GET_DDID", 130: "MSG_RTN_GET_TMA",
    131: "MSG_RTN_GET_REALTIME", 132: "MSG_RTN_SAVE_WAVE", 133: "MSG_RTN_GET_TBA", 134: "MSG_RTN_GET_TBA_TO_PC",
}  # fmt: skip
GS_OPERATIONS = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
SYSTEM_OPERATIONS = {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC"}
SYSTEM_OPERATIONS_6 = {**SYSTEM_OPERATIONS, 3: "SYSMSG_OP_HOST_TRAP_ACK"}


@cache
def messages(level: int) -> dict[int, str]:
    """Names of messages by number."""
    if level >= 120:
        later = {10: "MSG_SAVEWAVE_HAS_TDM", 136: "MSG_RTN_GET_CLUSTER_BARRIER_STATE"} if level >= 125 else {}
        # LLVM 23's number of what LLVM 22 has as 10
        later |= {152: "MSG_RTN_SAVE_WAVE_HAS_TDM"} if 125 <= level < 130 else {}
        return {k: v for k, v in _MESSAGES_11.items() if k not in (5, 6)} | {135: "MSG_RTN_GET_SE_AID_ID"} | later
    if level >= 110:
        return _MESSAGES_11
    if level >= 100:
        return _MESSAGES_9 | {11: "MSG_GET_DDID"}
    if 90 <= level < 100:
        return _MESSAGES_9
    return {number: name for number, name in _MESSAGES_9.items() if number < 5 or number == 15}


# --------------------------------------------------------------------------------------------------- hardware registers
_REGISTERS_9 = {
    1: "HW_REG_MODE", 2: "HW_REG_STATUS", 3: "HW_REG_TRAPSTS", 4: "HW_REG_HW_ID", 5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC", 7: "HW_REG_IB_STS",
}  # fmt: skip
_TRAP_9 = {
    15: "HW_REG_SH_MEM_BASES", 16: "HW_REG_TBA_LO", 17: "HW_REG_TBA_HI", 18: "HW_REG_TMA_LO", 19: "HW_REG_TMA_HI",
}  # fmt: skip
_REGISTERS_CDNA3 = {
    20: "HW_REG_XCC_ID", 21: "HW_REG_SQ_PERF_SNAPSHOT_DATA", 22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO", 24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}  # fmt: skip
_COMMON_10 = {20: "HW_REG_FLAT_SCR_LO", 21: "HW_REG_FLAT_SCR_HI", 23: "HW_REG_HW_ID1", 24: "HW_REG_HW_ID2"}
_REGISTERS_11 = {
    15: "HW_REG_SH_MEM_BASES", 18: "HW_REG_PERF_SNAPSHOT_PC_LO", 19: "HW_REG_PERF_SNAPSHOT_PC_HI",
    27: "HW_REG_PERF_SNAPSHOT_DATA", 29: "HW_REG_SHADER_CYCLES",
}  # fmt: skip
_REGISTERS_12 = {
    1: "HW_REG_WAVE_MODE", 2: "HW_REG_WAVE_STATUS", 4: "HW_REG_WAVE_STATE_PRIV", 5: "HW_REG_WAVE_GPR_ALLOC",
    6: "HW_REG_WAVE_LDS_ALLOC", 7: "HW_REG_IB_STS", 10: "HW_REG_PERF_SNAPSHOT_DATA", 11: "HW_REG_PERF_SNAPSHOT_PC_LO",
    12: "HW_REG_PERF_SNAPSHOT_PC_HI", 15: "HW_REG_PERF_SNAPSHOT_DATA1", 16: "HW_REG_PERF_SNAPSHOT_DATA2",
    17: "HW_REG_WAVE_EXCP_FLAG_PRIV", 18: "HW_REG_WAVE_EXCP_FLAG_USER", 19: "HW_REG_WAVE_TRAP_CTRL",
    20: "HW_REG_WAVE_SCRATCH_BASE_LO", 21: "HW_REG_WAVE_SCRATCH_BASE_HI", 23: "HW_REG_WAVE_HW_ID1",
    24: "HW_REG_WAVE_HW_ID2", 26: "HW_REG_WAVE_SCHED_MODE", 29: "HW_REG_SHADER_CYCLES_LO",
    30: "HW_REG_SHADER_CYCLES_HI", 31: "HW_REG_WAVE_DVGPR_ALLOC_LO", 32: "HW_REG_WAVE_DVGPR_ALLOC_HI",
}  # fmt: skip


@cache
def hardware_registers(level: int) -> dict[int, str]:
    """Names of hardware registers by number."""
    if level >= 125:
        return _REGISTERS_12 | {28: "HW_REG_IB_STS2", 33: "HW_REG_XNACK_STATE_PRIV", 34: "HW_REG_XNACK_MASK"}
    if level >= 120:
        return _REGISTERS_12
    without_id = {number: name for number, name in _REGISTERS_9.items() if number != 4}
    if level >= 110:
        return without_id | _COMMON_10 | _REGISTERS_11
    if level >= 100:
        last = {29: "HW_REG_SHADER_CYCLES"} if level > 100 else {22: "HW_REG_XNACK_MASK"}
        later = {25: "HW_REG_POPS_PACKER"} | last
        return without_id | _TRAP_9 | _COMMON_10 | later
    return _REGISTERS_9 | (_TRAP_9 if level >= 90 else {}) | (_REGISTERS_CDNA3 if level in (94, 95) else {})


# ------------------------------------------------------------------------------------------------------- waits, delays
DELAYS = ("NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2",
          "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3")  # fmt: skip
SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
INDEX_MODES = ("SRC0", "SRC1", "SRC2", "DST")
#: Operands of s_version, which LLVM has as symbols on every target.
VERSIONS = {"UC_VERSION_GFX7": 0, "UC_VERSION_GFX10": 4, "UC_VERSION_GFX11": 6, "UC_VERSION_GFX12": 9,
            "UC_VERSION_W64_BIT": 0x2000, "UC_VERSION_W32_BIT": 0x4000, "UC_VERSION_MDP_BIT": 0x8000}  # fmt: skip


# --------------------------------------------------------------------------------------------------------- lane control
DPP_SHIFTS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror"}
DPP_WAVES = {0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x142: "row_bcast:15",
         0x143: "row_bcast:31"}  # fmt: skip
DPP_MIRRORS = {0x140: "row_mirror", 0x141: "row_half_mirror"}
DPP_SHARES = {0x150: "row_share", 0x160: "row_xmask"}
_BROADCASTS = {0x150: "row_newbcast"}


@cache
def lane_controls(level: int) -> dict[str, int]:
    """DPP16 controls other than quad_perm by their text."""
    controls = {text: number for number, text in (DPP_MIRRORS | (DPP_WAVES if level < 100 else {})).items()}
    groups = DPP_SHIFTS | (DPP_SHARES if level >= 100 else _BROADCASTS if level in (92, 94, 95) else {})
    for base, name in groups.items():
        for count in range(0 if base >= 0x150 else 1, 16):
            controls[f"{name}:{count}"] = base + count
    return controls


# --------------------------------------------------------------------------------------------------------- cache policy
SCOPES = ("SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_SHARED_HINTS = {0: "RT", 1: "NT", 2: "HT", 4: "NT_RT", 5: "RT_NT", 6: "NT_HT"}


@cache
def cache_policies(kind: str) -> dict[str, int]:
    """Temporal hints of GFX12 by name; `kind` is LOAD, STORE or ATOMIC. BYPASS is LU or WB at system scope; every kind has all default names."""
    if kind == "ATOMIC":
        hints = {"RETURN": 1, "NT": 2, "NT_RETURN": 3, "CASCADE_RT": 4, "CASCADE_NT": 6, "RT_RETURN": 1}
    else:
        hints = {name: value for value, name in _SHARED_HINTS.items()}
        hints |= {"LU": 3, "BYPASS": 3} if kind == "LOAD" else {"WB": 3, "BYPASS": 3, "NT_WB": 7}
    defaults = ("TH_LOAD_RT", "TH_STORE_RT", "TH_ATOMIC_RT", "TH_DEFAULT")
    return {f"TH_{kind}_{name}": value for name, value in hints.items()} | dict.fromkeys(defaults, 0)


# ------------------------------------------------------------------------------------------------------- buffer formats
_INTEGERS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT")
_ALL = (*_INTEGERS, "FLOAT")
_WHOLE = ("UINT", "SINT", "FLOAT")
_UNIFIED_10 = (("8", _INTEGERS), ("16", _ALL), ("8_8", _INTEGERS), ("32", _WHOLE), ("16_16", _ALL), ("10_11_11", _ALL),
               ("11_11_10", _ALL), ("10_10_10_2", _INTEGERS), ("2_10_10_10", _INTEGERS), ("8_8_8_8", _INTEGERS),
               ("32_32", _WHOLE), ("16_16_16_16", _ALL), ("32_32_32", _WHOLE), ("32_32_32_32", _WHOLE))  # fmt: skip
_CHANGED_11 = {"10_11_11": ("FLOAT",), "11_11_10": ("FLOAT",), "10_10_10_2": ("UNORM", "SNORM", "UINT", "SINT")}
DATA_FORMATS = ("INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10",
                "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15")  # fmt: skip
NUMBER_FORMATS = (*_INTEGERS, "RESERVED_6", "FLOAT")
#: GFX6 and GFX7 have one more.
NUMBER_FORMATS_6 = (*_INTEGERS, "SNORM_OGL", "FLOAT")


@cache
def unified_formats(level: int) -> tuple[str, ...]:
    """Names of the unified buffer formats of GFX10 and later by number."""
    formats = ["BUF_FMT_INVALID"]
    for size, first_kinds in _UNIFIED_10:
        kinds: tuple[str, ...] = _CHANGED_11.get(size, first_kinds) if level >= 110 else first_kinds
        formats += [f"BUF_FMT_{size}_{kind}" for kind in kinds]
    return tuple(formats)


def join_format(split: int, level: int) -> int | None:
    """The hardware's number of a data format (bits 0-3) and a number format (bits 4-6); None if it has none."""
    if level < 100:
        return split
    name = f"BUF_FMT_{DATA_FORMATS[split & 15]}_{NUMBER_FORMATS[split >> 4]}"
    if split & 15 == 0:
        name = "BUF_FMT_INVALID"
    known = unified_formats(level)
    return known.index(name) if name in known else None


def split_format(number: int, level: int) -> int:
    """The inverse of ``join_format``; 0, the invalid format, for unknown numbers."""
    if level < 100:
        return number
    for split in range(128):
        if join_format(split, level) == number:
            return split
    return 0


# ------------------------------------------------------------------------------------------------------------ registers
_REGISTERS = {
    "vcc": (106, 2), "vcc_lo": (106, 1), "vcc_hi": (107, 1), "exec": (126, 2), "exec_lo": (126, 1), "exec_hi": (127, 1),
    "m0": (124, 1), "src_shared_base": (235, 1), "src_shared_limit": (236, 1), "src_private_base": (237, 1),
    "src_private_limit": (238, 1), "shared_base": (235, 1), "shared_limit": (236, 1), "private_base": (237, 1),
    "private_limit": (238, 1), "src_pops_exiting_wave_id": (239, 1), "pops_exiting_wave_id": (239, 1), "src_vccz": (251, 1),
    "vccz": (251, 1), "src_execz": (252, 1), "execz": (252, 1), "src_scc": (253, 1), "scc": (253, 1),
    "src_lds_direct": (254, 1), "lds_direct": (254, 1),
}  # fmt: skip


def _pair(name: str, code: int) -> dict[str, tuple[int, int]]:
    return {name: (code, 2), f"{name}_lo": (code, 1), f"{name}_hi": (code + 1, 1)}


@cache
def registers(level: int) -> dict[str, int]:
    """Registers with a name of their own: operand code, and dwords from bit 16 (0: this gfx level lacks it)."""
    known = dict(_REGISTERS)
    if level < 90:
        known |= {name: (code, 0) for name, (code, _) in known.items() if 235 <= code <= 239}
    if level >= 110:
        known |= {name: (code, 0) for name, (code, _) in known.items() if code in (239, 251, 252, 254)}
    known["null"] = (125, 1 if level >= 100 else 0)
    if level >= 125:
        known |= {"src_flat_scratch_base_lo": (230, 1), "src_flat_scratch_base_hi": (231, 1)}
    if level >= 110 or 92 <= level < 100:
        known["src_lds_direct"] = known["lds_direct"] = (254, 0)
    if level < 100:
        known |= {name: (code, dwords if level >= 70 else 0) for name, (code, dwords) in _pair("flat_scratch", 102 if level >= 80 else 104).items()}
        if level >= 80:
            known |= _pair("xnack_mask", 104)
    if level < 90:
        known |= _pair("tba", 108) | _pair("tma", 110)
    return {name: code | dwords << 16 for name, (code, dwords) in known.items()}


FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")


@cache
def register_texts(level: int) -> dict[int, str]:
    """Text of one dword by operand code; the printer has rules for other codes."""
    texts = {number: f"s{number}" for number in range(106 if level >= 100 else 102 if level >= 80 else 104)}
    texts |= {256 + number: f"v{number}" for number in range(256)}
    first, count = (108, 16) if level >= 90 else (112, 12)
    texts |= {first + number: f"ttmp{number}" for number in range(count)}
    texts |= {128 + number: str(number) for number in range(65)}
    texts |= {192 + number: str(-number) for number in range(1, 17)}
    texts |= {240 + number: text for number, text in enumerate(FLOATS if level >= 80 else FLOATS[:8])}
    preferred = {name: entry for name, entry in registers(level).items() if not name.startswith(("shared", "private", "pops"))}
    for name, entry in preferred.items():
        if entry >> 16 == 1:
            texts.setdefault(entry & 0xFFFF, name)
    texts |= {251: "src_vccz", 252: "src_execz", 253: "src_scc", 254: "src_lds_direct"}
    return texts


# ------------------------------------------------------------------------------------------------- images, SDWA, exports
_DIMENSIONS = ("1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY")
#: SDWA selectors: size in bits 0-1, byte offset in bits 2-3.
SELECTIONS = {f"BYTE_{i}": i << 2 for i in range(4)} | {f"WORD_{i}": 1 | i << 3 for i in range(2)} | {"DWORD": 2}


#: Element types of matrices, types of their scales, and which half of the lanes has these (GFX12.5).
MATRIX_FORMATS = {f"MATRIX_FMT_{text}": number for number, text in enumerate(("FP8", "BF8", "FP6", "BF6", "FP4"))}
SCALE_FORMATS = {f"MATRIX_SCALE_FMT_{text}": number for number, text in enumerate(("E8", "E5M3", "E4M3"))}
SCALE_ROWS = {f"MATRIX_SCALE_ROW{number}": number for number in range(2)}


def dimensions() -> dict[str, int]:
    """Image dimensions of ``dim:``, with and without their prefix."""
    return {f"{prefix}{name}": number for number, name in enumerate(_DIMENSIONS) for prefix in ("SQ_RSRC_IMG_", "")}


@cache
def export_targets(level: int) -> dict[str, int]:
    """Targets of exp by name."""
    targets = {f"mrt{i}": i for i in range(8)} | {"mrtz": 8}
    targets |= {f"pos{i}": 12 + i for i in range(5 if level >= 100 else 4)}
    if level >= 100:
        targets["prim"] = 20
    if level >= 110:
        parameters = {f"param{i}": 32 + i for i in range(32)} if level >= 130 else {}
        return targets | {"dual_src_blend0": 21, "dual_src_blend1": 22} | parameters
    return targets | {"null": 9} | {f"param{i}": 32 + i for i in range(32)}
