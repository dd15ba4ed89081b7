"""Text of machine code in LLVM's assembly syntax.

Every line that this printer makes assembles to the same words again: an instruction whose re-encoding differs from the words
(reserved bits set, registers that do not exist, forms that the syntax cannot say) is printed as ``.long``, with its text as a
comment where it has one. Syntax: "Syntax of
AMDGPU Instruction Operands" and "Syntax of AMDGPU Instruction Modifiers" of the LLVM manual.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport (can_use_input_modifiers, implicit_exec,
                         opcode_definition_count, opcode_flag_literal, opcode_flag_gfx906, opcode_flag_opsel, opcode_flag_no_address, opcode_flag_one_form,
                         opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format,
                         opcode_implicit_definitions, opcode_max_definitions, opcode_max_operands,
                         opcode_operand_classes, opcode_operand_count)
from modifiers cimport *
from pyaco._core.ir.program cimport *
from pyaco._core.isa.decode cimport Decoded, decode
from pyaco._core.isa.encode cimport encode, encode_limit, scalar_reads_fit

from pyaco.isa import names
from pyaco.isa import opcodes
from pyaco.isa.names import Unsayable

cdef enum:
    valu_one_dword = format_vop1 | format_vop2 | format_vopc

# Inline floating-point constants by source code - 240.
cdef tuple FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")
cdef tuple OMOD = ("", " mul:2", " mul:4", " div:2")
cdef tuple SELECT = ("BYTE", "WORD", "DWORD")



cdef class Printer:
    cdef uint32_t level
    cdef uint32_t mask_bytes          # of a lane mask
    cdef bint gfx906                  # the chip has what GFX9 got with gfx906
    cdef bint true16                  # 16-bit VGPR operands are written v0.l and v0.h
    cdef list spelling                # by opcode
    cdef dict messages
    cdef dict hardware_registers

    def __init__(self, uint32_t level, uint32_t wave_size, bint gfx906):
        generation = opcodes.generation_of(level)
        self.gfx906 = gfx906
        self.level = level
        self.mask_bytes = wave_size >> 3
        self.true16 = gfx11 <= level < gfx12
        self.spelling = opcodes.spellings(generation)
        self.messages = names.messages(level)
        self.hardware_registers = names.hardware_registers(level)

    # ------------------------------------------------------------------------------------------------------- registers
    cdef str scalar_register(self, uint32_t code, uint32_t dwords):
        if code >= 128:
            return self.special(code, dwords)
        if code == 124 and dwords == 1:
            return "m0"
        if code == 125 and self.level >= gfx10:
            return "null"
        if code == 126 and dwords == 2:
            return "exec"
        if code == 126 and dwords == 1:
            return "exec_lo"
        if code == 127 and dwords == 1:
            return "exec_hi"
        if code == 106 and dwords == 2:
            return "vcc"
        if code == 106 and dwords == 1:
            return "vcc_lo"
        if code == 107 and dwords == 1:
            return "vcc_hi"
        if self.level < gfx10 and 102 <= code < 106:
            return self.named_pair("flat_scratch" if code < 104 else "xnack_mask", code & 1, dwords)
        if dwords > 1 and code % min(dwords, 4) and not (dwords == 3 and code % 4 == 0):
            # SGPR tuples are aligned to their size, four at most
            raise Unsayable()
        if 108 <= code < 124:
            if self.level < gfx9 or code + dwords > 124:
                raise Unsayable()
            return self.range("ttmp", code - 108, dwords)
        if code + dwords > 106 or (self.level < gfx10 and code + dwords > 102):
            raise Unsayable()
        return self.range("s", code, dwords)

    cdef str named_pair(self, str name, uint32_t half, uint32_t dwords):
        if dwords == 2 and half == 0:
            return name
        if dwords != 1:
            raise Unsayable()
        return name + ("_hi" if half else "_lo")

    cdef str range(self, str prefix, uint32_t first, uint32_t dwords):
        if dwords <= 1:
            return f"{prefix}{first}"
        return f"{prefix}[{first}:{first + dwords - 1}]"

    cdef str special(self, uint32_t code, uint32_t dwords):
        """Source codes that are neither SGPRs nor constants."""
        if 235 <= code <= 238 and self.level >= gfx9:
            return ("src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit")[code - 235]
        if code == 239 and gfx9 <= self.level < gfx11:
            return "src_pops_exiting_wave_id"
        if (code == 251 or code == 252) and self.level < gfx11:
            return "src_vccz" if code == 251 else "src_execz"
        if code == 253:
            return "src_scc"
        raise Unsayable()

    cdef str register(self, uint16_t address, uint32_t size):
        cdef uint32_t dwords = (size + 3) >> 2 if size else self.mask_bytes >> 2
        if address >= register_vgpr0:
            if address == register_none or (address >> 2) - 256 + dwords > 256:
                raise Unsayable()
            if size == 2 and self.true16:
                return f"v{(address >> 2) - 256}.{'h' if address & 2 else 'l'}"
            return self.range("v", (address >> 2) - 256, dwords)
        return self.scalar_register(address >> 2, dwords)

    cdef str operand(self, const Decoded *d, uint32_t position):
        """A source: register, inline constant or literal."""
        cdef uint32_t code = d.source[position] >> 2
        cdef uint32_t size = d.source_bytes[position]
        if code == 255:
            return self.literal(d)
        if code == 254 and self.level < gfx11 and d.format == format_vop1 and size == 4:
            return "src_lds_direct"
        if 128 <= code <= 192:
            return str(code - 128)
        if 193 <= code <= 208:
            return str(192 - <int>code)
        if 240 <= code <= 248:
            if code == 248 and size == 8:
                return "0.15915494309189532"
            return FLOATS[code - 240]
        return self.register(d.source[position], size)

    cdef str literal(self, const Decoded *d):
        """A literal; marked as one where assemblers would take an inline constant for its value."""
        cdef uint32_t i
        for i in range(d.source_count):
            if d.source[i] == 255 * 4 and d.literal > 0xffff and (d.source_bytes[i] == 2 or d.opcode in SCALAR_HALF):
                # text has 16 bits for a 16-bit operand
                raise Unsayable()
        if opcode_flags[d.opcode] & opcode_flag_literal or d.format == format_sopk or not is_inline_value(d.literal):
            return f"0x{d.literal:x}"
        return f"lit(0x{d.literal:x})"

    cdef str destination(self, const Decoded *d, uint32_t position):
        return self.register(d.destination[position], d.destination_bytes[position])

    cdef str modified(self, const Decoded *d, uint32_t position, uint32_t neg, uint32_t magnitude):
        """A source with its sign and magnitude modifiers."""
        cdef str text = self.operand(d, position)
        if magnitude >> position & 1:
            text = f"|{text}|"
            return "-" + text if neg >> position & 1 else text
        if neg >> position & 1:
            # before a constant the minus sign would be part of its value
            return f"neg({text})" if 128 <= d.source[position] >> 2 < 256 else "-" + text
        return text

    # ------------------------------------------------------------------------------------------------------ scalar ALU
    cdef str salu(self, const Decoded *d):
        cdef list parts = []
        cdef uint32_t i
        for i in range(d.destination_count):
            parts.append(self.destination(d, i))
        for i in range(d.source_count):
            if opcode_flags[d.opcode] & opcode_flag_tied and i == 2:
                continue
            if d.opcode == op_s_fmamk_f32 and i:
                # the literal stands between the sources in text
                parts.append(self.operand(d, 3 - i))
            else:
                parts.append(self.operand(d, i))
        if d.opcode in BARRIERS and d.source[0] < 128 * 4 and d.source[0] != register_m0:
            raise Unsayable()
        if d.opcode == op_s_set_gpr_idx_on:
            if d.immediate > 15:
                raise Unsayable()
            parts.append(names.index_mode(d.immediate))
        elif d.opcode == op_s_sendmsg_rtn_b32 or d.opcode == op_s_sendmsg_rtn_b64:
            parts.append(f"sendmsg({self.messages.get(d.immediate, str(d.immediate) + ', 0, 0')})")
        return self.named(d, parts)

    cdef str named(self, const Decoded *d, list parts):
        cdef str name = self.spelling[d.opcode]
        return f"{name} {', '.join(parts)}" if parts else name

    cdef str sopk(self, const Decoded *d, dict labels, uint32_t position):
        cdef uint32_t imm = d.immediate
        cdef str text
        if d.opcode == op_s_setreg_b32 or d.opcode == op_s_getreg_b32 or d.opcode == op_s_setreg_imm32_b32:
            text = names.hardware_register(self.hardware_registers, imm)
            if d.opcode == op_s_getreg_b32:
                return self.named(d, [self.destination(d, 0), text])
            return self.named(d, [text, self.operand(d, 0)])
        if d.opcode == op_s_call_b64 or d.opcode == op_s_subvector_loop_begin or d.opcode == op_s_subvector_loop_end \
                or d.opcode == op_s_cbranch_i_fork:
            text = self.destination(d, 0) if d.destination_count else self.operand(d, 0)
            return self.named(d, [text, self.target(d, labels, position)])
        if d.opcode == op_s_version:
            return self.named(d, [f"0x{imm:x}"])
        text = self.destination(d, 0) if d.destination_count else self.operand(d, 0)
        if waits_with_register(d.opcode) and text != "null":
            raise Unsayable()
        return self.named(d, [text, f"0x{imm:x}"])

    cdef str target(self, const Decoded *d, dict labels, uint32_t position):
        """Where a branch goes: a label within the code, else its distance."""
        cdef int32_t distance = <int32_t>(d.immediate << 16) >> 16
        label = labels.get(<int32_t>position + 1 + distance)
        return str(d.immediate) if label is None else label

    cdef str sopp(self, const Decoded *d, dict labels, uint32_t position):
        cdef uint32_t imm = d.immediate
        cdef uint16_t op = d.opcode
        cdef str text
        if is_branch(op):
            return self.named(d, [self.target(d, labels, position)])
        if op == op_s_waitcnt:
            return self.named(d, [names.wait_counters(imm, self.level)])
        if op == op_s_waitcnt_depctr:
            return self.named(d, [names.dependency_counters(imm)])
        if op == op_s_delay_alu:
            return self.named(d, [names.delay(imm)])
        if op == op_s_sendmsg or op == op_s_sendmsghalt:
            return self.named(d, [names.message(self.messages, imm, self.level)])
        if not takes_immediate(op) or (op == op_s_endpgm and imm == 0):
            if imm:
                raise Unsayable()
            return self.named(d, [])
        if op == op_s_set_gpr_idx_mode:
            if imm > 15:
                raise Unsayable()
            return self.named(d, [names.index_mode(imm)])
        if op == op_s_nop or op == op_s_sleep or op == op_s_setprio or op == op_s_trap or op == op_s_barrier_wait:
            text = str(<int32_t>(imm << 16) >> 16 if op == op_s_barrier_wait else imm)
            return self.named(d, [text])
        return self.named(d, [f"0x{imm:x}"])

    # --------------------------------------------------------------------------------------------------- scalar memory
    cdef str smem(self, const Decoded *d):
        cdef list parts = []
        cdef int32_t offset = <int32_t>d.immediate
        cdef str tail = ""
        if d.opcode == op_s_prefetch_inst_pc_rel or d.opcode == op_s_prefetch_data_pc_rel:
            return self.named(d, [signed_hex(offset), self.soffset(d), str(d.source[2] >> 2)])
        if d.source_count == 0:
            if d.destination_count:
                parts.append(self.destination(d, 0))
            return self.named(d, parts)
        if offset < 0 and d.opcode == op_s_buffer_prefetch_data:
            raise Unsayable()
        if d.opcode == op_s_prefetch_inst or d.opcode == op_s_prefetch_data or d.opcode == op_s_buffer_prefetch_data:
            return self.named(d, [self.operand(d, 0), signed_hex(offset), self.soffset(d), str(d.source[2] >> 2)])
        if d.opcode == op_s_atc_probe or d.opcode == op_s_atc_probe_buffer:
            parts.append(str(self.field_of(d.source[2])))
        elif d.opcode != op_s_dcache_discard and d.opcode != op_s_dcache_discard_x2:
            parts.append(self.register(d.source[2], d.source_bytes[2]) if d.source_count > 2 else self.destination(d, 0))
        parts.append(self.operand(d, 0))
        if offset < 0 and d.source_bytes[0] == 16:
            # buffers have no negative offsets
            raise Unsayable()
        if d.source[1] == register_none:
            parts.append(signed_hex(offset))
        else:
            parts.append(self.operand(d, 1))
            if offset or self.level >= gfx10:
                tail = f" offset:{signed_hex(offset)}"
        return self.named(d, parts) + tail + self.cache(d)

    cdef uint32_t field_of(self, uint16_t address):
        """The code of a field that is a number although it reads like a register."""
        cdef uint32_t code = address >> 2
        return code ^ 1 if self.level >= gfx11 and (code == 124 or code == 125) else code

    cdef str soffset(self, const Decoded *d):
        return "null" if d.source[1] == register_none else self.operand(d, 1)

    cdef str cache(self, const Decoded *d):
        """Cache policy of a memory access."""
        cdef uint64_t m = d.modifiers
        cdef str text
        if self.level >= gfx12:
            kind = "ATOMIC" if opcode_flags[d.opcode] & 4 else "LOAD" if opcode_definition_count[d.opcode] else "STORE"
            if d.opcode == op_global_inv or d.opcode == op_global_wb or d.opcode == op_global_wbinv:
                kind = "NONE"
            return names.cache_policy(kind, modifier_cache_temporal_hint(m), modifier_cache_scope(m))
        text = " glc" if modifier_cache_glc(m) else ""
        if modifier_cache_slc(m):
            text += " slc"
        if modifier_cache_dlc(m):
            if opcode_flags[d.opcode] & 4 and self.level < gfx11:
                # assemblers keep device coherence from atomics here
                raise Unsayable()
            text += " dlc"
        return text

    # ------------------------------------------------------------------------------------------------------ vector ALU
    cdef str suffix(self, const Decoded *d):
        cdef uint32_t format = d.format
        cdef bint short_opcode = (opcode_format[d.opcode] & valu_one_dword) != 0 or (format & valu_one_dword) != 0
        cdef str base = ""
        if format & format_vop3p:
            base = "_e64" if format & (format_dpp16 | format_dpp8) else ""
        elif format & format_vop3:
            if (short_opcode and not opcode_flags[d.opcode] & opcode_flag_one_form) or format & (format_dpp16 | format_dpp8):
                base = "_e64"
            elif short_opcode:
                base = "_e64"
        elif format & format_sdwa:
            return "_sdwa"
        elif format & (format_dpp16 | format_dpp8):
            return "_dpp"
        elif not opcode_flags[d.opcode] & opcode_flag_one_form:
            return "_e32"
        return base + "_dpp" if format & (format_dpp16 | format_dpp8) else base

    cdef str vop(self, const Decoded *d):
        cdef uint64_t m = d.modifiers
        cdef uint32_t format = d.format
        cdef uint32_t neg = 0, magnitude = 0
        cdef uint32_t i, count
        cdef list parts = []
        cdef str text
        cdef bint compare = (opcode_format[d.opcode] & format_vopc) != 0
        cdef bint sign_extends = (format & format_sdwa) != 0
        if format & (format_vop3 | format_sdwa | format_dpp16):
            neg, magnitude = modifier_neg(m), modifier_abs(m)
        if (neg or magnitude) and not takes_sign(d.opcode):
            raise Unsayable()
        if self.level >= gfx12 and not self.true16 and modifier_opsel(m) and not format & format_vop3:
            # this generation's syntax has no names for halves of registers
            raise Unsayable()
        if d.opcode in INTERPOLATING or (d.opcode == op_v_readfirstlane_b32 and d.source[0] < register_vgpr0):
            raise Unsayable()
        if d.opcode == op_v_pk_fmac_f16 and format == format_vop2 and 240 <= d.source[0] >> 2 < 249:
            # assemblers take a literal for these
            raise Unsayable()
        if not (compare and self.level >= gfx10 and opcode_implicit_definitions[d.opcode] & implicit_exec):
            for i in range(d.destination_count):
                if not (swaps(d.opcode) and i):
                    parts.append(self.destination(d, i))
        count = d.source_count
        if opcode_flags[d.opcode] & opcode_flag_tied or swaps(d.opcode):
            count -= 1
        if (neg | magnitude) >> count:
            raise Unsayable()
        for i in range(count):
            if opcode_flags[d.opcode] & opcode_flag_literal and is_multiply_constant(d.opcode) and i:
                parts.append(self.operand(d, 3 - i))
                continue
            text = self.modified(d, i, neg, magnitude)
            if sign_extends and i < 2 and (modifier_sdwa_sel0(m) if i == 0 else modifier_sdwa_sel1(m)) & 0x10:
                if (neg | magnitude) >> i & 1:
                    raise Unsayable()
                text = f"sext({text})"
            parts.append(text)
        text = self.spelling[d.opcode] + self.suffix(d)
        if parts:
            text += " " + ", ".join(parts)
        if format & format_vop3:
            text += self.half_selection(d, d.source_count)
        if modifier_clamp(m) and format & (format_vop3 | format_sdwa):
            text += " clamp"
        if format & (format_vop3 | format_sdwa):
            text += OMOD[modifier_omod(m)]
        if format & format_sdwa:
            return text + self.sdwa(d, compare)
        return text + self.lanes(d)

    # op_sel of VOP3. GFX11's syntax says the half in the register's name instead.
    cdef str half_selection(self, const Decoded *d, uint32_t count):
        cdef uint32_t opsel = modifier_opsel(d.modifiers)
        cdef uint32_t i
        cdef list values
        cdef bint halves = d.destination_count != 0 and d.destination_bytes[0] == 2
        if opsel == 0:
            return ""
        for i in range(count):
            halves = halves or d.source_bytes[i] == 2
        if not halves and d.opcode not in OPSEL_LANES and d.opcode not in OPSEL_OTHER:
            raise Unsayable()
        if not self.true16 and (not opcode_flags[d.opcode] & opcode_flag_opsel
                                or (self.level >= gfx12 and d.opcode in WITHOUT_OPSEL_12)):
            raise Unsayable()
        if self.true16 and d.opcode not in OPSEL_LANES:
            for i in range(count):
                if opsel >> i & 1 and d.source_bytes[i] == 2 and d.source[i] >= register_vgpr0:
                    opsel &= ~(1U << i)
            if opsel & 8 and d.destination_count and d.destination_bytes[0] == 2:
                opsel &= 7
        if opsel == 0:
            return ""
        opsel = modifier_opsel(d.modifiers)
        if compare_opcode(d.opcode):
            if opsel & 8:
                raise Unsayable()
            values = [str(opsel & 1), str(opsel >> 1 & 1)]
        else:
            values = [str(opsel >> i & 1) for i in range(count)]
            if opsel & ((7 << count) & 7):
                raise Unsayable()
            if d.opcode not in OPSEL_LANES:
                values.append(str(opsel >> 3))
        return f" op_sel:[{','.join(values)}]"

    cdef str sdwa(self, const Decoded *d, bint compare):
        cdef uint64_t m = d.modifiers
        cdef str text = ""
        if not compare and opcode_definition_count[d.opcode]:
            text = f" dst_sel:{selection(modifier_sdwa_dst_sel(m))} dst_unused:UNUSED_"
            if modifier_sdwa_dst_sext(m):
                if modifier_sdwa_dst_sel(m) & 0x10:
                    raise Unsayable()
                text += "SEXT"
            else:
                text += "PRESERVE" if modifier_sdwa_dst_sel(m) & 0x10 else "PAD"
        text += f" src0_sel:{selection(modifier_sdwa_sel0(m))}"
        if opcode_format[d.opcode] & format_vop1:
            return text
        return text + f" src1_sel:{selection(modifier_sdwa_sel1(m))}"

    cdef str lanes(self, const Decoded *d):
        """DPP control."""
        cdef uint64_t m = d.modifiers
        cdef uint32_t control
        cdef str text
        if d.format & format_dpp8:
            control = modifier_dpp8_lane_sel(m)
            text = ",".join([str(control >> 3 * i & 7) for i in range(8)])
            return f" dpp8:[{text}]" + (" fi:1" if modifier_dpp8_fetch_inactive(m) else "")
        if not d.format & format_dpp16:
            return ""
        text = " " + names.lane_control(modifier_dpp_ctrl(m), self.level)
        text += f" row_mask:0x{modifier_dpp_row_mask(m):x} bank_mask:0x{modifier_dpp_bank_mask(m):x}"
        if modifier_dpp_bound_ctrl(m):
            text += " bound_ctrl:1"
        return text + (" fi:1" if modifier_dpp_fetch_inactive(m) else "")

    cdef str vop3p(self, const Decoded *d):
        cdef uint64_t m = d.modifiers
        cdef uint32_t neg = modifier_neg(m)
        cdef uint32_t high = modifier_neg_hi(m)
        cdef uint32_t count = opcode_operand_count[d.opcode] - ((opcode_flags[d.opcode] & opcode_flag_tied) != 0)
        cdef uint32_t all_ones = (1 << count) - 1
        cdef uint32_t opsel_hi = modifier_opsel_hi(m)
        cdef bint mixes = d.opcode == op_v_fma_mix_f32 or d.opcode == op_v_fma_mixlo_f16 or d.opcode == op_v_fma_mixhi_f16
        cdef list parts = [self.destination(d, 0)]
        cdef uint32_t i
        cdef str text
        for i in range(count):
            parts.append(self.modified(d, i, neg, high) if mixes else self.operand(d, i))
        text = f"{self.spelling[d.opcode]}{self.suffix(d)} {', '.join(parts)}"
        if d.opcode in PLAIN_DOTS and (modifier_opsel(m) or modifier_clamp(m)):
            raise Unsayable()
        if modifier_opsel(m):
            text += " op_sel:" + bit_list(modifier_opsel(m), count)
        if mixes:
            if opsel_hi & all_ones:
                text += " op_sel_hi:" + bit_list(opsel_hi, count)
        else:
            if opsel_hi & all_ones != all_ones:
                text += " op_sel_hi:" + bit_list(opsel_hi, count)
            if neg & all_ones:
                text += " neg_lo:" + bit_list(neg, count)
            if high & all_ones:
                text += " neg_hi:" + bit_list(high, count)
        if modifier_clamp(m):
            text += " clamp"
        return text + self.lanes(d)

    cdef str vopd(self, const Decoded *d):
        cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
        if not dual_operands_fit(d):
            raise Unsayable()
        return (self.vopd_half(d, d.opcode, 0, 0) + " :: " + self.vopd_half(d, second, 1, 2))

    cdef str vopd_half(self, const Decoded *d, uint32_t opcode, uint32_t destination, uint32_t source):
        cdef list parts = [self.destination(d, destination), self.operand(d, source)]
        if opcode == op_v_dual_fmamk_f32:
            parts.append(f"0x{d.literal:x}")
        if opcode != op_v_dual_mov_b32:
            parts.append(self.operand(d, source + 1))
        if opcode == op_v_dual_fmaak_f32:
            parts.append(f"0x{d.literal:x}")
        return f"{self.spelling[opcode]} {', '.join(parts)}"

    # ---------------------------------------------------------------------------------------------------------- memory
    cdef str ds(self, const Decoded *d):
        cdef list parts = []
        cdef str text
        cdef uint32_t i
        for i in range(d.destination_count):
            parts.append(self.destination(d, i))
        for i in range(d.source_count):
            parts.append(self.operand(d, i))
        text = self.named(d, parts)
        if opcode_flags[d.opcode] & opcode_flag_two_offsets:
            if d.immediate & 0xff:
                text += f" offset0:{d.immediate & 0xff}"
            if d.immediate >> 16:
                text += f" offset1:{d.immediate >> 16}"
        elif d.immediate:
            text += f" offset:{d.immediate}"
        return text + " gds" if modifier_gds(d.modifiers) else text

    cdef str buffer(self, const Decoded *d):
        cdef uint64_t m = d.modifiers
        cdef list parts = []
        cdef str text
        if d.source_count == 0:
            return self.named(d, [])
        if modifier_tfe(m) and d.format == format_mtbuf:
            raise Unsayable()
        if d.opcode == op_buffer_store_lds_dword:
            raise Unsayable()
        if d.source_count > 3:
            parts.append(self.buffer_data(d, d.source[3], d.source_bytes[3]))
        elif d.destination_count:
            parts.append(self.destination(d, 0))
        parts.append("off" if d.source[1] == register_none else self.operand(d, 1))
        parts.append(self.operand(d, 0))
        if 128 <= d.source[2] >> 2 and self.level >= gfx12:
            raise Unsayable()
        parts.append(self.operand(d, 2))
        text = self.named(d, parts)
        if d.format == format_mtbuf:
            text += names.buffer_format(modifier_format(m), self.level)
        if modifier_idxen(m):
            text += " idxen"
        if modifier_offen(m):
            text += " offen"
        if d.immediate:
            text += f" offset:{d.immediate}"
        text += self.cache(d)
        if modifier_tfe(m):
            text += " tfe"
        return text + " lds" if modifier_lds(m) else text

    cdef str buffer_data(self, const Decoded *d, uint16_t address, uint32_t size):
        """The data register of a store or atomic, with the dword of a residency result behind it."""
        if modifier_tfe(d.modifiers):
            if not opcode_flags[d.opcode] & 4:
                # assemblers have no such store
                raise Unsayable()
            size += 4
        return self.register(address, size)

    cdef str flat(self, const Decoded *d):
        cdef list parts = []
        cdef str text, data
        cdef str address = ""
        if d.source_count == 0:
            return self.named(d, []) + self.cache(d)
        if not opcode_flags[d.opcode] & opcode_flag_no_address:
            address = "off" if d.source[0] == register_none else self.operand(d, 0)
        data = self.operand(d, 2) if d.source_count > 2 else ""
        if d.destination_count:
            parts.append(self.destination(d, 0))
        if opcode_flags[d.opcode] & opcode_flag_no_address and data:
            parts.append(data)
            data = ""
        if address:
            parts.append(address)
        if data:
            parts.append(data)
        if d.format != format_flat:
            parts.append("off" if d.source[1] == register_none else self.operand(d, 1))
        text = self.named(d, parts)
        if d.immediate:
            text += f" offset:{<int32_t>d.immediate}"
        text += self.cache(d)
        return text + " lds" if modifier_lds(d.modifiers) else text

    cdef str export_text(self, const Decoded *d):
        cdef uint64_t m = d.modifiers
        cdef list parts = []
        cdef uint32_t i
        cdef uint32_t shift
        cdef str text
        for i in range(4):
            if modifier_exp_compressed(m) and (i & 1 or not modifier_exp_enabled_mask(m) >> i & 1):
                if modifier_exp_enabled_mask(m) >> i & 1 != modifier_exp_enabled_mask(m) >> (i & 2) & 1:
                    raise Unsayable()
            shift = i >> 1 if modifier_exp_compressed(m) else i
            parts.append(self.register(d.source[shift], 4) if modifier_exp_enabled_mask(m) >> i & 1 else "off")
        text = f"{'export' if self.level >= gfx12 else 'exp'} {names.export_target(modifier_exp_target(m), self.level)} {', '.join(parts)}"
        if modifier_exp_done(m):
            text += " done"
        if modifier_exp_compressed(m):
            text += " compr"
        if modifier_exp_valid_mask(m):
            text += " vm"
        return text + " row_en" if modifier_exp_row(m) else text

    cdef str parameter_interpolation(self, const Decoded *d):
        """VINTERP of GFX11 and later."""
        cdef uint64_t m = d.modifiers
        cdef uint32_t i
        cdef uint32_t opsel = modifier_opsel(m)
        cdef list parts = [self.destination(d, 0)]
        for i in range(d.source_count):
            if d.source[i] < register_vgpr0:
                raise Unsayable()
            parts.append(self.modified(d, i, modifier_neg(m), 0))
        cdef str text = self.named(d, parts)
        if modifier_clamp(m):
            text += " clamp"
        if opsel and not self.true16:
            text += " op_sel:" + bit_list(opsel, 4)
        elif self.true16:
            for i in range(3):
                if d.source_bytes[i] == 2:
                    opsel &= ~(1U << i)
            if d.destination_bytes[0] == 2:
                opsel &= 7
            if opsel:
                text += " op_sel:" + bit_list(modifier_opsel(m), 4)
        return text + f" wait_exp:{modifier_wait_exp(m)}"

    cdef str interpolation(self, const Decoded *d):
        cdef uint64_t m = d.modifiers
        cdef str text
        cdef uint32_t i, opsel
        if d.format == format_ldsdir:
            text = self.spelling[d.opcode]
            if self.level >= gfx12:
                text = text.replace("lds_", "ds_")
            text += " " + self.destination(d, 0)
            if modifier_ldsdir_attr(m) > 32:
                raise Unsayable()
            if d.opcode == op_lds_param_load:
                text += f", attr{modifier_ldsdir_attr(m)}.{'xyzw'[modifier_ldsdir_channel(m)]}"
            elif modifier_ldsdir_attr(m) or modifier_ldsdir_channel(m):
                raise Unsayable()
            if self.level >= gfx12:
                return text + f" wait_va_vdst:{modifier_wait_vdst(m)} wait_vm_vsrc:{modifier_wait_vsrc(m)}"
            return text + f" wait_vdst:{modifier_wait_vdst(m)}"
        if d.format == format_vintrp:
            if modifier_ldsdir_attr(m) > 32:
                raise Unsayable()
            if d.opcode == op_v_interp_mov_f32:
                if d.immediate > 2:
                    raise Unsayable()
                text = ("p10", "p20", "p0")[d.immediate]
            else:
                text = self.operand(d, 0)
            return (f"{self.spelling[d.opcode]}_e32 {self.destination(d, 0)}, {text}, attr{modifier_ldsdir_attr(m)}."
                    f"{'xyzw'[modifier_ldsdir_channel(m)]}")
        raise Unsayable()

    cdef str comment(self, const Decoded *d, dict labels, uint32_t position):
        """What an instruction means whose text assemblers do not take by default: halves of registers on GFX12."""
        cdef str text
        if self.level < gfx12 or self.true16:
            return None
        self.true16 = True
        try:
            text = self.instruction(d, labels, position)
        except Unsayable:
            return None
        finally:
            self.true16 = False
        return ";" + text

    # -------------------------------------------------------------------------------------------------------- dispatch
    cdef str instruction(self, const Decoded *d, dict labels, uint32_t position):
        cdef uint32_t format = d.format
        if not scalar_reads_fit(d, self.level):
            raise Unsayable()
        if opcode_flags[d.opcode] & opcode_flag_gfx906 and self.level == gfx9 and not self.gfx906:
            raise Unsayable()
        if format & (valu_one_dword | format_vop3):
            return self.vop(d)
        if format & format_vop3p:
            return self.vop3p(d)
        if format == format_sopk:
            return self.sopk(d, labels, position)
        if format == format_sopp:
            return self.sopp(d, labels, position)
        if format_sop1 <= format <= format_sopc:
            return self.salu(d)
        if format == format_smem:
            return self.smem(d)
        if format == format_ds:
            return self.ds(d)
        if format == format_mubuf or format == format_mtbuf:
            return self.buffer(d)
        if format_flat <= format <= format_scratch:
            return self.flat(d)
        if format == format_vopd:
            return self.vopd(d)
        if format == format_exp:
            return self.export_text(d)
        if format == format_vinterp_inreg:
            return self.parameter_interpolation(d)
        if format == format_ldsdir or format == format_vintrp:
            return self.interpolation(d)
        raise Unsayable()


# VOP3 opcodes whose op_sel bits are not halves of registers.
cdef frozenset OPSEL_LANES = frozenset({op_v_permlane16_b32, op_v_permlanex16_b32, op_v_permlane16_var_b32,
                                        op_v_permlanex16_var_b32})


# Named barriers are given by m0 or a constant.
cdef frozenset BARRIERS = frozenset({op_s_barrier_signal, op_s_barrier_signal_isfirst, op_s_get_barrier_state,
                                     op_s_barrier_init, op_s_barrier_join})
# Scalar floating-point operations on 16 bits.
cdef frozenset SCALAR_HALF = frozenset(
    number for number, row in enumerate(opcodes.rows()) if row.format in ("sop1", "sop2", "sopc") and row.name.endswith("_f16"))
# Opcodes whose op_sel is no half of a register, without 16-bit operands.
cdef frozenset OPSEL_OTHER = frozenset({
    op_v_cvt_pk_fp8_f32, op_v_cvt_pk_bf8_f32, op_v_cvt_sr_fp8_f32, op_v_cvt_sr_bf8_f32, op_v_cvt_f32_fp8, op_v_cvt_f32_bf8,
    op_v_cvt_pk_f32_fp8, op_v_cvt_pk_f32_bf8})
# 16-bit integer operations that GFX12's default syntax gives no op_sel.
cdef frozenset WITHOUT_OPSEL_12 = frozenset({
    op_v_max_i16_e64, op_v_max_u16_e64, op_v_min_i16_e64, op_v_min_u16_e64, op_v_lshlrev_b16_e64, op_v_lshrrev_b16_e64,
    op_v_ashrrev_i16_e64, op_v_mul_lo_u16_e64})
cdef frozenset PLAIN_DOTS = frozenset({
    op_v_dot4_f32_fp8_bf8, op_v_dot4_f32_bf8_fp8, op_v_dot4_f32_fp8_fp8, op_v_dot4_f32_bf8_bf8})


cdef bint is_inline_value(uint32_t value):
    """Whether some operand type has an inline constant of this bit pattern."""
    return value <= 64 or value >= 0xfffffff0U or value in INLINE_PATTERNS or 0xfff0 <= value <= 0xffff


cdef frozenset INLINE_PATTERNS = frozenset({
    0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983,
    0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118})


cdef inline bint swaps(uint32_t opcode) noexcept:
    return opcode == op_v_swap_b32 or opcode == op_v_swap_b16 or opcode == op_v_swaprel_b32


cdef inline bint compare_opcode(uint32_t opcode) noexcept:
    return (opcode_format[opcode] & format_vopc) != 0


cdef inline bint takes_sign(uint32_t opcode) noexcept:
    """Whether abs and neg of sources have a meaning."""
    return can_use_input_modifiers(opcode) or opcode in SIGNED


# Interpolation in VOP3 has a syntax of its own.
cdef frozenset INTERPOLATING = frozenset({
    op_v_interp_p1ll_f16, op_v_interp_p1lv_f16, op_v_interp_p2_f16, op_v_interp_p2_legacy_f16})


# ACO does not use modifiers here, but the hardware has them.
cdef frozenset SIGNED = frozenset({
    op_v_cndmask_b32, op_v_mov_b32, op_v_cmp_class_f32, op_v_cmp_class_f64, op_v_cmp_class_f16, op_v_cmpx_class_f32,
    op_v_cmpx_class_f64, op_v_cmpx_class_f16, op_v_ldexp_f64, op_v_ldexp_f32, op_v_ldexp_f16, op_v_trig_preop_f64,
    op_v_dot2_f16_f16, op_v_dot2_bf16_bf16, op_v_cvt_sr_fp8_f32, op_v_cvt_sr_bf8_f32, op_v_cndmask_b16,
    op_v_dot2c_f32_f16})


cdef inline bint is_multiply_constant(uint32_t opcode) noexcept:
    """D = src0 * K + src1: text has the literal between the sources."""
    return opcode == op_v_madmk_f32 or opcode == op_v_madmk_f16 or opcode == op_v_fmamk_f32 or opcode == op_v_fmamk_f16


cdef inline bint waits_with_register(uint32_t op) noexcept:
    """Waits of SOPK whose register has to be null."""
    return (op == op_s_waitcnt_vscnt or op == op_s_waitcnt_vmcnt or op == op_s_waitcnt_expcnt
            or op == op_s_waitcnt_lgkmcnt)


cdef inline bint is_branch(uint32_t op) noexcept:
    return op in BRANCHES


cdef frozenset BRANCHES = frozenset({
    op_s_branch, op_s_cbranch_scc0, op_s_cbranch_scc1, op_s_cbranch_vccz, op_s_cbranch_vccnz, op_s_cbranch_execz,
    op_s_cbranch_execnz, op_s_cbranch_cdbgsys, op_s_cbranch_cdbguser, op_s_cbranch_cdbgsys_or_user,
    op_s_cbranch_cdbgsys_and_user})
cdef frozenset BRANCHES_K = frozenset({
    op_s_call_b64, op_s_subvector_loop_begin, op_s_subvector_loop_end, op_s_cbranch_i_fork})


cdef frozenset IMMEDIATE = frozenset(number for number, row in enumerate(opcodes.rows()) if "imm" in row.operands)


cdef inline bint takes_immediate(uint32_t op):
    return op in IMMEDIATE


cdef inline str signed_hex(int32_t value):
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


cdef inline str bit_list(uint32_t value, uint32_t count):
    return "[" + ",".join([str(value >> i & 1) for i in range(count)]) + "]"


cdef str selection(uint32_t select):
    """An SDWA selector's name."""
    if select & 3 == 2:
        return "DWORD"
    if select & 3 == 1:
        return f"WORD_{select >> 3 & 1}"
    return f"BYTE_{select >> 2 & 3}"


cdef inline bint same_bank(uint16_t first, uint16_t second, uint32_t banks) noexcept:
    """Whether two operands are VGPRs of one bank."""
    if first < register_vgpr0 or second < register_vgpr0 or first == register_none or second == register_none:
        return False
    return ((first >> 2) ^ (second >> 2)) & (banks - 1) == 0


cdef uint16_t dual_addend(const Decoded *d, uint32_t opcode, uint32_t half) noexcept:
    """The third VGPR that a half of VOPD reads."""
    if opcode == op_v_dual_fmac_f32 or opcode == op_v_dual_dot2acc_f32_f16 or opcode == op_v_dual_dot2acc_f32_bf16:
        return d.destination[half]
    return d.source[2 * half + 1] if opcode == op_v_dual_fmamk_f32 else <uint16_t>register_none


cdef bint dual_operands_fit(const Decoded *d) noexcept:
    """VGPR banks and scalar reads of the two halves ("RDNA 3 ISA", VOPD restrictions)."""
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    cdef uint16_t x = d.source[1] if d.opcode != op_v_dual_fmamk_f32 else <uint16_t>register_none
    cdef uint16_t y = d.source[3] if second != op_v_dual_fmamk_f32 else <uint16_t>register_none
    cdef uint32_t scalars = 0
    cdef uint32_t i, code
    if same_bank(d.source[0], d.source[2], 4) or same_bank(x, y, 4):
        return False
    if same_bank(dual_addend(d, d.opcode, 0), dual_addend(d, second, 1), 2):
        return False
    for i in range(0, 4, 2):
        code = d.source[i] >> 2
        if code < 128 and code != 125 and not (i == 2 and d.source[0] == d.source[2]):
            scalars += 1
        elif 235 <= code <= 239 or 251 <= code < 255:
            return False
    if d.opcode == op_v_dual_cndmask_b32 or second == op_v_dual_cndmask_b32:
        scalars += d.source[0] != register_vcc and d.source[2] != register_vcc
    return scalars + d.has_literal <= 2


cdef bint same_words(const Decoded *d, uint32_t level, const uint32_t *words) noexcept:
    cdef uint32_t again[encode_limit + 2]
    cdef int length = encode(d, level, again)
    cdef int i
    if length != d.dwords:
        return False
    for i in range(length):
        if again[i] != words[i]:
            return False
    return True


def disassemble_words(const uint32_t[::1] words, uint32_t gfx_level, uint32_t wave_size, bint gfx906=False):
    """Lines of text of machine code.

    Parameters
    ----------
    words
        Machine code.
    gfx_level
        A value of ``gfx*``, such as 90 or 103.
    wave_size
        32 or 64: how lane masks are written.
    gfx906
        Whether a GFX9 chip has what came with gfx906.

    Returns
    -------
    list of (str or None, int, int)
        Text (None where the words are no instruction, ";text" where they are one without text that assemblers take, and
        for labels "name:" with length 0), position and length in dwords.
    """
    cdef Printer printer = Printer(gfx_level, wave_size, gfx906)
    cdef uint32_t count = <uint32_t>words.shape[0]
    cdef uint32_t position = 0
    cdef Decoded d
    cdef dict labels
    cdef list lines = []
    labels = branch_targets(words, gfx_level)
    while position < count:
        if position in labels:
            lines.append((labels[position] + ":", position, 0))
        decode(&words[position], count - position, gfx_level, &d)
        text = None
        if d.opcode != op_invalid:
            try:
                text = printer.instruction(&d, labels, position)
                if not same_words(&d, gfx_level, &words[position]):
                    # bits that do not count are set: text would lose them
                    text = ";" + text
            except Unsayable:
                text = printer.comment(&d, labels, position)
        lines.append((text, position, d.dwords))
        position += d.dwords
    if count in labels:
        lines.append((labels[count] + ":", count, 0))
    return lines


cdef dict branch_targets(const uint32_t[::1] words, uint32_t gfx_level):
    """Names of the places that branches go to; only starts of printed lines are places."""
    cdef uint32_t count = <uint32_t>words.shape[0]
    cdef uint32_t position = 0
    cdef Decoded d
    cdef int32_t distance
    cdef set targets = set()
    cdef set starts = {count}
    while position < count:
        starts.add(position)
        decode(&words[position], count - position, gfx_level, &d)
        if d.opcode in BRANCHES or d.opcode in BRANCHES_K:
            distance = <int32_t>(d.immediate << 16) >> 16
            targets.add(<int32_t>position + 1 + distance)
        position += d.dwords
    return {place: f"L{number}" for number, place in enumerate(sorted(targets & starts))}
