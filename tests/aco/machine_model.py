"""A model of ACO IR that executes a program with one lane, before or after register allocation, before or after lowering.

``p_unit_test`` stands for arbitrary code: its results are a hash of its operands, and each execution is recorded. Two forms of a
program are equal if they record the same. Before register allocation a temp is a variable; afterwards only registers count.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from pyaco.aco.text_words import get
from pyaco.isa import opcodes

TEMP, CONSTANT, UNDEF = 1, 2, 4
EXEC, SCC, VCC, M0 = 126 * 4, 253 * 4, 106 * 4, 124 * 4
MASK = 0xFFFFFFFF


def class_bytes(register_class: int) -> int:
    """Return the size of a register class."""
    return register_class & 0x1F if register_class & 0x40 else 4 * (register_class & 0x1F)


class Columns:
    """Copies of a program's columns as Python lists."""

    def __init__(self, program: Any) -> None:
        names = {value: key for key, value in opcodes.numbers().items()}
        i = program.instructions
        self.opcode = [names.get(int(value), "none") for value in i.opcode]
        self.format = [int(value) for value in i.format]
        self.modifiers = [int(value) for value in i.modifiers]
        self.immediate = [int(value) for value in i.immediate]
        o = program.operands
        operands = list(zip(o.data.tolist(), o.reg.tolist(), o.register_class.tolist(), o.flags.tolist(), strict=True))
        d = program.definitions
        definitions = list(zip(d.temp.tolist(), d.reg.tolist(), d.register_class.tolist(), d.flags.tolist(), strict=True))
        self.operands = [operands[a : a + n] for a, n in zip(i.operand_first.tolist(), i.operand_count.tolist(), strict=True)]
        self.definitions = [definitions[a : a + n] for a, n in zip(i.definition_first.tolist(), i.definition_count.tolist(), strict=True)]
        b = program.blocks
        order = program.order.instruction.tolist()
        self.blocks = [order[a : a + n] for a, n in zip(b.order_first.tolist(), b.order_count.tolist(), strict=True)]
        lists = program.edge_lists.block.tolist()

        def edges(first: Any, count: Any) -> list[list[int]]:
            return [lists[a : a + n] for a, n in zip(first.tolist(), count.tolist(), strict=True)]

        self.linear_preds = edges(b.linear_pred_first, b.linear_pred_count)
        self.logical_preds = edges(b.logical_pred_first, b.logical_pred_count)
        self.linear_succs = edges(b.linear_succ_first, b.linear_succ_count)


class Machine:
    """Executes a program.

    Parameters
    ----------
    program : Program
    registers : bool
        Whether operands are read from registers instead of temps.
    """

    def __init__(self, program: Any, registers: bool) -> None:
        self.c = Columns(program)
        self.registers = registers
        self.memory: dict[int, int] = {}
        self.lanes: dict[tuple[int, int], int] = {}
        self.temps: dict[int, bytes] = {}
        self.seen: list[tuple[Any, ...]] = []
        self.active = True
        self.scratch: dict[int, int] = {}

    # ------------------------------------------------------------------------------------------------ registers and temps
    def byte(self, address: int) -> int:
        return self.memory.get(address, zlib.crc32(address.to_bytes(4, "little")) & 0xFF)

    def read(self, operand: tuple[int, int, int, int]) -> bytes:
        data, reg, register_class, flags = operand
        if flags & CONSTANT:
            size = 1 << (flags >> 10 & 3)
            value = data
            code = reg >> 2
            if size == 8 and 193 <= code <= 208:
                value = (192 - code) & 0xFFFFFFFFFFFFFFFF
            return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        size = class_bytes(register_class)
        if flags & UNDEF:
            return bytes(size)
        if not self.registers and flags & TEMP:
            return self.temps[data]
        return bytes(self.byte(reg + k) for k in range(size))

    def write(self, definition: tuple[int, int, int, int], value: bytes) -> None:
        temp, reg, register_class, _ = definition
        size = class_bytes(register_class)
        value = value[:size].ljust(size, b"\0")
        if not self.registers:
            self.temps[temp] = value
            if reg != SCC:
                return
        for k in range(size):
            self.memory[reg + k] = value[k]

    def number(self, operand: tuple[int, int, int, int]) -> int:
        """The 32 bits that an instruction reads at an operand: SGPRs and VGPRs whole, whatever the class says."""
        if not operand[3] & (CONSTANT | UNDEF) and operand[2] & 0x40:
            reg = operand[1] & ~3
            return int.from_bytes(bytes(self.byte(reg + k) for k in range(4)), "little")
        return int.from_bytes(self.read(operand), "little")

    # --------------------------------------------------------------------------------------------------------- instructions
    def unit_test(self, i: int) -> None:
        values = [self.read(operand) for operand in self.c.operands[i]]
        self.seen.append((i, *values))
        for k, definition in enumerate(self.c.definitions[i]):
            size = class_bytes(definition[2])
            bits = b"".join(zlib.crc32(b"".join(values) + bytes([k, part]) + i.to_bytes(4, "little")).to_bytes(4, "little")
                            for part in range((size + 3) // 4))  # fmt: skip
            if definition[1] == SCC:
                bits = bytes([bits[0] & 1, 0, 0, 0])
            self.write(definition, bits)

    def parallelcopy(self, i: int) -> None:
        values = [self.read(operand) for operand in self.c.operands[i]]
        for definition, value in zip(self.c.definitions[i], values, strict=True):
            self.write(definition, value)

    def create_vector(self, i: int) -> None:
        self.write(self.c.definitions[i][0], b"".join(self.read(operand) for operand in self.c.operands[i]))

    def split_vector(self, i: int) -> None:
        value = self.read(self.c.operands[i][0])
        for definition in self.c.definitions[i]:
            size = class_bytes(definition[2])
            self.write(definition, value[:size])
            value = value[size:]

    def extract_vector(self, i: int) -> None:
        size = class_bytes(self.c.definitions[i][0][2])
        index = self.c.operands[i][1][0]
        self.write(self.c.definitions[i][0], self.read(self.c.operands[i][0])[size * index : size * (index + 1)])

    def extract(self, i: int) -> None:
        source, index, bits, signed = self.c.operands[i]
        value = int.from_bytes(self.read(source), "little") >> index[0] * bits[0] & (1 << bits[0]) - 1
        if signed[0] and value >> bits[0] - 1:
            value -= 1 << bits[0]
        size = class_bytes(self.c.definitions[i][0][2])
        self.write(self.c.definitions[i][0], (value & (1 << 8 * size) - 1).to_bytes(size, "little"))

    def insert(self, i: int) -> None:
        source, index, bits = self.c.operands[i]
        value = (int.from_bytes(self.read(source), "little") & (1 << bits[0]) - 1) << index[0] * bits[0]
        self.write(self.c.definitions[i][0], value.to_bytes(class_bytes(self.c.definitions[i][0][2]), "little"))

    def spill(self, i: int) -> None:
        vector, lane, value = self.c.operands[i]
        for k in range(0, len(self.read(value)), 4):
            self.lanes[(self.key(vector), lane[0] + k // 4)] = int.from_bytes(self.read(value)[k : k + 4], "little")

    def reload(self, i: int) -> None:
        vector, lane = self.c.operands[i]
        definition = self.c.definitions[i][0]
        count = class_bytes(definition[2]) // 4
        self.write(definition, b"".join(self.lanes[(self.key(vector), lane[0] + k)].to_bytes(4, "little") for k in range(count)))

    def key(self, operand: tuple[int, int, int, int]) -> int:
        return operand[1] if self.registers else -operand[0]

    def scratch_address(self, i: int) -> int:
        saddr = self.c.operands[i][1]
        return self.c.immediate[i] + (0 if saddr[3] & UNDEF else self.number(saddr) if self.registers else
                                      int.from_bytes(self.read(saddr), "little"))  # fmt: skip

    def scratch_store(self, i: int) -> None:
        value = self.read(self.c.operands[i][2])
        for k, byte in enumerate(value):
            self.scratch[self.scratch_address(i) + k] = byte

    def scratch_load(self, i: int) -> None:
        size = class_bytes(self.c.definitions[i][0][2])
        self.write(self.c.definitions[i][0], bytes(self.scratch[self.scratch_address(i) + k] for k in range(size)))

    def vector(self, i: int, value: int) -> None:
        """A vector result under exec, of 32 bits mostly; SDWA and 16-bit destinations keep the rest of the register."""
        reg, register_class = self.c.definitions[i][0][1:3]
        if not self.active:
            return
        size = 4
        if self.c.format[i] & 0x1000:
            select = get(self.c.modifiers[i], "sdwa_dst_sel")
            size = (1, 2, 4)[select & 3]
            if not select & 0x10:                           # the rest becomes zero
                value, size = (value & (1 << 8 * size) - 1) << 8 * (select >> 2 & 3), 4
                reg &= ~3
        elif register_class & 0x40 and self.c.opcode[i] in ("v_mov_b16", "v_add_f16", "v_add_u16_e64", "v_sub_u16_e64"):
            size = 2
        elif self.c.opcode[i] == "v_lshrrev_b64":
            size = 8
        else:
            reg &= ~3
        for k in range(size):
            self.memory[reg + k] = value >> 8 * k & 0xFF

    def source(self, i: int, k: int) -> int:
        operand = self.c.operands[i][k]
        word = self.c.modifiers[i]
        if self.c.format[i] & 0x1000:
            select = get(word, f"sdwa_sel{k}")
            size = (1, 2, 4)[select & 3]
            if operand[3] & CONSTANT:
                return self.number(operand)
            return int.from_bytes(bytes(self.byte(operand[1] + (select >> 2 & 3) + j) for j in range(size)), "little")
        value = self.number(operand)
        if self.c.opcode[i] in ("v_mov_b16", "v_add_u16_e64", "v_sub_u16_e64", "v_pack_b32_f16"):
            return (value >> 16 if get(word, "opsel") >> k & 1 else value) & 0xFFFF
        return value

    def scalar(self, i: int) -> None:
        name, ops, definitions = self.c.opcode[i], self.c.operands[i], self.c.definitions[i]
        value = [int.from_bytes(self.read(operand), "little") for operand in ops]
        size = class_bytes(definitions[0][2]) if definitions else 0
        if name in ("s_mov_b32", "s_mov_b64"):
            result = value[0]
        elif name == "s_movk_i32":
            result = (self.c.immediate[i] ^ 0x8000) - 0x8000
        elif name == "s_brev_b32":
            result = int(f"{value[0] & MASK:032b}"[::-1], 2)
        elif name == "s_bfm_b32":
            result = ((1 << value[0]) - 1) << value[1]
        elif name == "s_bfe_u32":
            result = (value[0] & MASK) >> (value[1] & 31) & ((1 << (value[1] >> 16 & 0x7F)) - 1)
        elif name in ("s_lshl_b32", "s_lshr_b32"):
            result = value[0] << (value[1] & 31) & MASK if name == "s_lshl_b32" else (value[0] & MASK) >> (value[1] & 31)
        elif name == "s_pack_ll_b32_b16":
            result = value[0] & 0xFFFF | (value[1] & 0xFFFF) << 16
        elif name in ("s_xor_b32", "s_xor_b64"):
            result = value[0] ^ value[1]
            self.write(definitions[1], bytes([result != 0, 0, 0, 0]))
        elif name in ("s_not_b32", "s_not_b64"):
            result = ~value[0]
            self.write(definitions[1], bytes([1, 0, 0, 0]))
            if definitions[0][1] == EXEC:
                self.active = not self.active
        elif name == "s_cmp_lg_i32":
            result = int(value[0] != value[1])
        else:
            raise AssertionError(name)
        self.write(definitions[0], (result & ((1 << 8 * size) - 1)).to_bytes(size, "little"))

    def hardware(self, i: int) -> None:
        name, ops, definitions = self.c.opcode[i], self.c.operands[i], self.c.definitions[i]
        if name.startswith("s_"):
            self.scalar(i)
            return
        if name == "v_swap_b32":
            a, b = (self.number(operand) for operand in ops)
            if self.active:
                for definition, value_ in zip(definitions, (a, b), strict=True):
                    self.write((definition[0], definition[1], 0x21, 0), value_.to_bytes(4, "little"))
            return
        v = [self.source(i, k) for k in range(len(ops))]
        if name in ("v_mov_b32", "v_mov_b16"):
            self.vector(i, v[0])
        elif name == "v_bfrev_b32":
            self.vector(i, int(f"{v[0]:032b}"[::-1], 2))
        elif name == "v_perm_b32":
            both = v[0] << 32 | v[1]
            result = 0
            for k in range(4):
                select = v[2] >> 8 * k & 0xFF
                result |= (both >> 8 * select & 0xFF if select < 8 else 0 if select == 12 else 0xFF) << 8 * k
            self.vector(i, result)
        elif name == "v_alignbyte_b32":
            self.vector(i, (v[0] << 32 | v[1]) >> 8 * (v[2] & 3) & MASK)
        elif name == "v_lshlrev_b32":
            self.vector(i, v[1] << v[0] & MASK)
        elif name in ("v_lshrrev_b32", "v_lshrrev_b64"):
            self.vector(i, v[1] >> v[0])
        elif name == "v_bfe_u32":
            self.vector(i, v[0] >> v[1] & ((1 << v[2]) - 1))
        elif name == "v_and_b32":
            self.vector(i, v[0] & v[1])
        elif name == "v_or_b32":
            self.vector(i, v[0] | v[1])
        elif name == "v_xor_b32":
            self.vector(i, v[0] ^ v[1])
        elif name == "v_add_u16_e64":
            self.vector(i, v[0] + v[1] & 0xFFFF)
        elif name == "v_sub_u16_e64":
            self.vector(i, v[0] - v[1] & 0xFFFF)
        elif name == "v_pack_b32_f16":
            self.vector(i, v[0] | v[1] << 16)
        elif name == "v_add_f16":                           # a constant and nothing
            assert v[1] == 0
            self.vector(i, v[0])
        elif name == "v_mul_u32_u24":
            self.vector(i, v[0] * v[1])
        elif name == "v_cvt_pk_u8_f32":
            number = int(struct.unpack("<f", struct.pack("<I", v[0]))[0])
            self.vector(i, v[2] & ~(0xFF << 8 * v[1]) | number << 8 * v[1])
        elif name == "v_writelane_b32_e64":
            self.lanes[(definitions[0][1], v[1])] = v[0]
        elif name == "v_readlane_b32_e64":
            self.write(definitions[0], self.lanes[(ops[0][1], v[1])].to_bytes(4, "little"))
        else:
            raise AssertionError(name)

    # -------------------------------------------------------------------------------------------------------------- control
    def phis(self, block: int, came_from: int) -> None:
        writes = []
        for i in self.c.blocks[block]:
            name = self.c.opcode[i]
            if name not in ("p_phi", "p_linear_phi"):
                break
            preds = self.c.logical_preds[block] if name == "p_phi" else self.c.linear_preds[block]
            writes.append((self.c.definitions[i][0], self.read(self.c.operands[i][preds.index(came_from)])))
        for definition, value in writes:
            self.write(definition, value)

    def branch(self, i: int, block: int) -> int | None:
        """The block that a branch leads to, None if it is not taken."""
        name = self.c.opcode[i]
        if name in ("p_branch", "s_branch"):
            return self.c.immediate[i]
        if name.startswith("p_cbranch"):
            value = int.from_bytes(self.read(self.c.operands[i][0]), "little")
            taken = (value == 0) == (name == "p_cbranch_z")
            return self.c.immediate[i] if taken else get(self.c.modifiers[i], "branch_target1")
        scc = self.byte(SCC) & 1
        return self.c.immediate[i] if scc == (name == "s_cbranch_scc1") else None

    def run(self, steps: int = 400) -> list[tuple[Any, ...]]:
        """Execute; return what the p_unit_test instructions saw."""
        simple = {"p_unit_test": self.unit_test, "p_parallelcopy": self.parallelcopy, "p_create_vector": self.create_vector,
                  "p_split_vector": self.split_vector, "p_extract_vector": self.extract_vector, "p_spill": self.spill,
                  "p_reload": self.reload, "p_extract": self.extract, "p_insert": self.insert}  # fmt: skip
        ignored = {"p_startpgm", "p_logical_start", "p_logical_end", "p_phi", "p_linear_phi", "p_start_linear_vgpr",
                   "p_end_linear_vgpr", "s_endpgm", "s_nop", "s_sendmsg"}  # fmt: skip
        block = 0
        while block < len(self.c.blocks) and len(self.seen) < steps:
            following = block + 1
            for i in self.c.blocks[block]:
                name = self.c.opcode[i]
                if name in simple:
                    simple[name](i)
                elif name in ignored:
                    continue
                elif "branch" in name:
                    target = self.branch(i, block)
                    if target is not None:
                        following = target
                        break
                elif name.startswith("scratch_store"):
                    self.scratch_store(i)
                elif name.startswith("scratch_load"):
                    self.scratch_load(i)
                else:
                    self.hardware(i)
            if following < len(self.c.blocks):
                self.phis(following, block)
            block = following
        return self.seen[:steps]
