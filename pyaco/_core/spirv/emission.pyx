"""The SPIR-V reader's side of ``ir/emitter.pxd``. The contract is in ``emission.pxd``."""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from pyaco._core.ir.emitter cimport Emitter, alu1, constant
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.module cimport *


cdef int _append(BlockLists *lists, NodeId block, ValueId instruction) except -1 nogil:
    if instruction >= lists.next_instruction.size():
        lists.next_instruction.resize(2 * instruction + 256)
    if block >= lists.block_head.size():
        lists.block_head.resize(2 * block + 64)
        lists.block_tail.resize(2 * block + 64)
    if lists.block_tail[block]:
        lists.next_instruction[lists.block_tail[block]] = instruction
    else:
        lists.block_head[block] = instruction
    lists.block_tail[block] = instruction
    lists.next_instruction[instruction] = 0
    return 0


cdef int _place(Emitter *e, ValueId instruction, bint early) except -1 nogil:
    cdef BlockLists *lists = <BlockLists *>e
    return _append(lists, 0 if early else lists.block, instruction)


cdef int lists_begin(BlockLists *lists, ShaderData *s) except -1 nogil:
    lists.s = s
    lists.place = _place
    lists.exact = False
    lists.block = 0
    lists.block_head.resize(64)
    lists.block_tail.resize(64)
    return 0


cdef ValueId last_of_block(const BlockLists *lists, NodeId block) noexcept nogil:
    return lists.block_tail[block] if block < lists.block_tail.size() else 0


cdef int emit_after(BlockLists *lists, NodeId block, ValueId after, ValueId instruction) except -1 nogil:
    cdef ValueId last = last_of_block(lists, block)
    if last == after or last == 0:
        return _append(lists, block, instruction)
    if instruction >= lists.next_instruction.size():
        lists.next_instruction.resize(2 * instruction + 256)
    if after == 0:
        lists.next_instruction[instruction] = lists.block_head[block]
        lists.block_head[block] = instruction
        return 0
    lists.next_instruction[instruction] = lists.next_instruction[after]
    lists.next_instruction[after] = instruction
    return 0


cdef int check_size(Reader r) except -1 nogil:
    if r.s.instructions.table.count >= maximum_instructions:
        unsupported(r, r.word, "a shader of more than four million NIR instructions after inlining")
    return 0


cdef ValueId integer(Reader r, uint64_t value, int bit_size) except 0 nogil:
    cdef bint small = bit_size == 32 and value < 64
    if small and r.small_integers[value]:
        return r.small_integers[value]
    cdef ValueId made = constant(&r.nir, value, bit_size)
    if small:
        r.small_integers[value] = made
    return made


cdef ValueId resize_integer(Reader r, ValueId value, int bit_size, bint is_signed) except 0 nogil:
    cdef int opcode
    if r.s.instructions.bit_size[value] == bit_size:
        return value
    if bit_size == 8:
        opcode = alu_i2i8 if is_signed else alu_u2u8
    elif bit_size == 16:
        opcode = alu_i2i16 if is_signed else alu_u2u16
    elif bit_size == 32:
        opcode = alu_i2i32 if is_signed else alu_u2u32
    else:
        opcode = alu_i2i64 if is_signed else alu_u2u64
    return alu1(&r.nir, opcode, value)


cdef uint32_t components_of(Reader r, ValueId value) noexcept nogil:
    return r.s.instructions.components[value]


cdef uint32_t bits_of(Reader r, ValueId value) noexcept nogil:
    return r.s.instructions.bit_size[value]
