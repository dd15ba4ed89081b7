"""Demanded bits: which bits of an integer can change anything.

Of a sum of which the low byte is stored, the bits above it are not asked for, nor those of its operands. One walk from the end of the shader hands
what is asked for of each value on to its operands; what phis of loops ask for of values that the walk has passed is handed on again, until nothing
is added. An operation that is not known here, and whatever is no arithmetic, asks for all bits. Of a vector one set of bits is kept for
all components.

LLVM's ``DemandedBits`` has the idea (backward dataflow over SSA). Needs: nothing.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_bitfield_select, alu_extract_i16, alu_extract_i8, alu_extract_u16, alu_extract_u8, alu_i2i16, alu_i2i32, alu_i2i64, alu_i2i8,
    alu_iadd, alu_iadd3, alu_iand, alu_ibfe, alu_imul, alu_imul24, alu_ineg, alu_inot, alu_ior, alu_ishl, alu_ishr, alu_isub, alu_ixor, alu_mov,
    alu_pack_32_2x16_split, alu_pack_64_2x32_split, alu_u2u16, alu_u2u32, alu_u2u64, alu_u2u8, alu_ubfe, alu_umul24, alu_unpack_32_2x16_split_x,
    alu_unpack_32_2x16_split_y, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, alu_ushr,
)

from pyaco._core.common.bits cimport leading_zeros64, low_bits, low_mask, trailing_zeros64
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, alu_is_vector, constant_bits, nir_alu, nir_phi, node_block, node_if, node_loop, node_walk_next, source_swizzle,
    source_value, swizzle_component, value_is_constant,
)

cdef enum Way:                    # how what is asked for of a result comes to the operands
    everything = 0                # they may change all of it
    bit_by_bit = 1                # each bit is made of those at its place
    carrying = 2                  # each bit is made of those at its place and below
    shifting = 3
    field = 4
    converting = 5
    packing = 6

cdef enum:
    most_opcodes = 1024

cdef uint8_t[most_opcodes] _ways

for _opcode in (alu_iand, alu_ior, alu_ixor, alu_inot, alu_bcsel, alu_bitfield_select):
    _ways[<int>_opcode] = bit_by_bit
for _opcode in (alu_iadd, alu_isub, alu_ineg, alu_imul, alu_iadd3, alu_umul24, alu_imul24):
    _ways[<int>_opcode] = carrying
for _opcode in (alu_ishl, alu_ushr, alu_ishr):
    _ways[<int>_opcode] = shifting
for _opcode in (alu_ubfe, alu_ibfe, alu_extract_u8, alu_extract_i8, alu_extract_u16, alu_extract_i16):
    _ways[<int>_opcode] = field
for _opcode in (alu_u2u8, alu_u2u16, alu_u2u32, alu_u2u64, alu_i2i8, alu_i2i16, alu_i2i32, alu_i2i64):
    _ways[<int>_opcode] = converting
for _opcode in (alu_pack_64_2x32_split, alu_pack_32_2x16_split, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y,
                alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y):
    _ways[<int>_opcode] = packing


cdef bint constant_operand(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t *number) noexcept nogil:
    cdef ValueId operand = source_value(s, instruction, k)
    if not value_is_constant(s, operand):
        return False
    number[0] = low_bits(constant_bits(s, operand, swizzle_component(source_swizzle(s, instruction, k), 0)), s.instructions.bit_size[operand])
    return True


cdef inline uint64_t _up_to_highest(uint64_t bits) noexcept nogil:
    return low_mask(64 - leading_zeros64(bits)) if bits else 0


cdef inline uint64_t _from_lowest(uint64_t bits) noexcept nogil:
    return ~low_mask(trailing_zeros64(bits)) if bits else 0


cdef uint64_t _with_sign(uint64_t bits, uint32_t width) noexcept nogil:
    """Of a number of so many bits whose sign is extended: those at their places, and the sign for all above."""
    return low_bits(bits, width) | (<uint64_t>1 << (width - 1) if bits & ~low_mask(width) else 0)


cdef uint64_t _of_bitwise(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint64_t number = 0
    if opcode == alu_bcsel:
        return bits if k else ~<uint64_t>0
    if opcode == alu_iand and constant_operand(s, instruction, 1 - k, &number):
        return bits & number
    if opcode == alu_ior and constant_operand(s, instruction, 1 - k, &number):
        return bits & ~number
    if opcode == alu_bitfield_select and k and constant_operand(s, instruction, 0, &number):
        return bits & (number if k == 1 else ~number)
    return bits


cdef uint64_t _of_shift(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t width = s.instructions.bit_size[instruction]
    cdef uint64_t count = 0
    if k == 1:
        return width - 1
    if not constant_operand(s, instruction, 1, &count):
        return _up_to_highest(bits) if opcode == alu_ishl else _from_lowest(bits)
    count &= width - 1
    if opcode == alu_ishl:
        return bits >> count
    if opcode == alu_ushr:
        return bits << count
    return _with_sign(bits, width - <uint32_t>count) << count


cdef uint64_t _of_field(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil:
    """A field whose place and size are constants."""
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t size = s.instructions.bit_size[instruction]
    cdef uint64_t first = 0
    cdef uint64_t width = 8 if opcode in (alu_extract_u8, alu_extract_i8) else 16
    if k or not constant_operand(s, instruction, 1, &first):
        return ~<uint64_t>0
    if opcode not in (alu_ubfe, alu_ibfe):
        first *= width
    elif not constant_operand(s, instruction, 2, &width):
        return ~<uint64_t>0
    else:
        first &= size - 1
        width &= size - 1
        if width == 0:
            return 0
    if first >= size:
        return ~<uint64_t>0
    width = min(width, size - first)
    if opcode in (alu_ibfe, alu_extract_i8, alu_extract_i16):
        return _with_sign(bits, <uint32_t>width) << first
    return low_bits(bits, <uint32_t>width) << first


cdef uint64_t _of_conversion(const ShaderData *s, ValueId instruction, uint64_t bits) noexcept nogil:
    cdef uint32_t width = s.instructions.bit_size[source_value(s, instruction, 0)]
    if s.instructions.opcode[instruction] in (alu_i2i8, alu_i2i16, alu_i2i32, alu_i2i64):
        return _with_sign(bits, width)
    return bits


cdef uint64_t _of_packing(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    if opcode == alu_pack_64_2x32_split:
        return bits >> (32 * k)
    if opcode == alu_pack_32_2x16_split:
        return bits >> (16 * k)
    return bits << (32 if opcode == alu_unpack_64_2x32_split_y else 16 if opcode == alu_unpack_32_2x16_split_y else 0)


cdef uint64_t demanded_of_operand(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint8_t way = _ways[opcode]
    cdef uint64_t result = ~<uint64_t>0
    if opcode == alu_mov or alu_is_vector(opcode):
        result = bits
    elif s.instructions.components[instruction] != 1:
        pass
    elif way == bit_by_bit:
        result = _of_bitwise(s, instruction, k, bits)
    elif way == carrying:
        result = _up_to_highest(bits)
        if opcode == alu_umul24 or opcode == alu_imul24:
            result &= 0xffffff
    elif way == shifting:
        result = _of_shift(s, instruction, k, bits)
    elif way == field:
        result = _of_field(s, instruction, k, bits)
    elif way == converting:
        result = _of_conversion(s, instruction, bits)
    elif way == packing:
        result = _of_packing(s, instruction, k, bits)
    return low_bits(result, s.instructions.bit_size[source_value(s, instruction, k)])


cdef inline bint _is_header(const ShaderData *s, NodeId block) noexcept nogil:
    return s.nodes.kind[s.nodes.parent[block]] == node_loop and s.nodes.first0[s.nodes.parent[block]] == block


cdef int _hand_on(const ShaderData *s, Zeroed[uint64_t] &demanded, ValueId instruction, SmallVector[ValueId] *late) except -1 nogil:
    """Ask for what an instruction needs of its operands; `late` takes those that have to hand on more than before."""
    cdef uint8_t kind = s.instructions.kind[instruction]
    cdef uint64_t bits = demanded[instruction]
    cdef uint64_t more
    cdef uint32_t k
    cdef ValueId operand
    if bits == 0 and (kind == nir_alu or kind == nir_phi):
        return 0
    for k in range(s.instructions.source_count[instruction]):
        operand = source_value(s, instruction, k)
        if kind == nir_alu:
            more = demanded_of_operand(s, instruction, k, bits)
        else:
            more = bits if kind == nir_phi else low_mask(s.instructions.bit_size[operand])
        if more & ~demanded[operand]:
            demanded[operand] |= more
            if late != NULL:
                late.push_back(operand)
    return 0


cdef int demanded_bits_find(const ShaderData *s, Zeroed[uint64_t] &demanded) except -1 nogil:
    cdef SmallVector[NodeId] blocks
    cdef SmallVector[ValueId] late
    cdef NodeId node = 1
    cdef OrderRow row
    cdef ValueId instruction
    cdef size_t b
    cdef bint header
    demanded.assign(s.instructions.table.count)
    while node:
        if s.nodes.kind[node] == node_if:
            demanded[s.nodes.condition[node]] = 1
        elif s.nodes.kind[node] == node_block:
            blocks.push_back(node)
        node = node_walk_next(s, node)
    for b in range(blocks.size(), 0, -1):
        node = blocks[b - 1]
        header = _is_header(s, node)
        for row in range(s.nodes.order_first[node] + s.nodes.order_count[node], s.nodes.order_first[node], -1):
            instruction = s.order.instruction[row - 1]
            _hand_on(s, demanded, instruction, &late if header and s.instructions.kind[instruction] == nir_phi else NULL)
    while late.size():
        instruction = late.back()
        late.pop_back()
        _hand_on(s, demanded, instruction, &late)
    return 0


def demanded(Shader shader not None):
    """The bits of every value that are asked for, by value."""
    cdef Zeroed[uint64_t] found
    cdef ValueId value
    with nogil:
        demanded_bits_find(&shader.data, found)
    return [found[value] for value in range(shader.data.instructions.table.count)]
