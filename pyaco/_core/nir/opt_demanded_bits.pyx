"""Operations that change nothing but bits that nobody asks for go.

In ``((x + 3) & 255) * 37 & 255`` the inner mask clears bits that do not reach the low byte of the product. By ``demanded_bits``:

- a mask, an `ior`, `ixor` or `iadd` of a constant, a field at bit 0, a selection of bits, a shift to the left and back that leave the bits asked for
  as they are: these are their operand;
- an `ishr` whose signs are not asked for, under a mask, is an `ushr`;
- an operand of which nothing is asked for is zero;
- a mask that clears nothing at all, as the operand is never larger, is its operand too (``range_analysis``).

Bits that are not asked for differ behind this pass, and with them whether a sum wraps: what reads such a value loses its promises of that. Masks
that prove factors to be short go as well: instruction selection looks at what is asked for of the product.

Needs: scalar ALU. Guarantees: valid NIR; what went is a `mov` (``copy_propagation``). LLVM's ``SimplifyDemandedBits`` has the idea.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bitfield_select, alu_extract_i16, alu_extract_i8, alu_extract_u16, alu_extract_u8, alu_iadd, alu_iand, alu_ibfe, alu_ior, alu_ishl,
    alu_ishr, alu_ixor, alu_mov, alu_ubfe, alu_ushr,
)

from pyaco._core.common.bits cimport leading_zeros64, low_mask
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.demanded_bits cimport constant_operand, demanded_bits_find, demanded_of_operand
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.range_analysis cimport Ranges, ranges_begin, unsigned_upper_bound
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, block_walk_next, nir_alu, nir_constant, nir_no_signed_wrap,
    nir_no_unsigned_wrap, nir_phi, node_first_block, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
    source_set, source_swizzle, source_value, swizzle_component, value_is_constant,
)

cdef enum:
    no_operand = 0xffffffff
    wrap_flags = nir_no_signed_wrap | nir_no_unsigned_wrap

cdef struct Context:
    Zeroed[uint64_t] demanded
    Zeroed[uint8_t] changed        # by value: bits that are not asked for may differ
    ValueId[7] zeros               # by logarithm of the bit size
    bint has_zeros
    bint progress


cdef inline void _become_operand(ShaderData *s, ValueId i, uint32_t k) noexcept nogil:
    """Make an instruction a `mov` of an operand."""
    cdef SourceRow first = s.instructions.source_first[i]
    s.sources.value[first] = s.sources.value[first + k]
    s.sources.swizzle[first] = s.sources.swizzle[first + k]
    s.instructions.opcode[i] = alu_mov
    s.instructions.source_count[i] = 1
    s.instructions.flags[i] &= <uint16_t>~wrap_flags


cdef inline bint _is_scalar_alu(const ShaderData *s, ValueId i) noexcept nogil:
    return s.instructions.kind[i] == nir_alu and s.instructions.components[i] == 1 and s.instructions.bit_size[i] > 1


# ------------------------------------------------------------------------------------------ masks that clear nothing
cdef bint _clears_nothing(Ranges *ranges, const ShaderData *s, ValueId i, uint32_t k, uint64_t mask) noexcept nogil:
    cdef uint32_t bound
    if s.instructions.bit_size[i] > 32 or mask == 0:
        return False
    if ranges.s == NULL:
        ranges_begin(ranges, s)
    bound = unsigned_upper_bound(ranges, source_value(s, i, k), swizzle_component(source_swizzle(s, i, k), 0))
    return bound == 0 or low_mask(64 - leading_zeros64(bound)) & ~mask == 0


cdef bint _drop_masks(ShaderData *s, bint *progress) except -1 nogil:
    """Take away masks that clear nothing. Whether there is any operation that the rest of the pass could take away."""
    cdef Ranges ranges
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef uint64_t mask = 0
    cdef uint32_t k
    cdef bint found = False
    ranges.s = NULL
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if not _is_scalar_alu(s, i) or s.instructions.opcode[i] not in (
                    alu_iand, alu_ior, alu_ixor, alu_ishr, alu_ubfe, alu_ibfe, alu_extract_u8, alu_extract_i8, alu_extract_u16, alu_extract_i16,
                    alu_bitfield_select):
                continue
            found = True
            if s.instructions.opcode[i] != alu_iand:
                continue
            for k in range(2):
                if constant_operand(s, i, 1 - k, &mask):
                    if _clears_nothing(&ranges, s, i, k, mask):
                        _become_operand(s, i, k)
                        progress[0] = True
                    break
        block = block_walk_next(s, block)
    return found


# --------------------------------------------------------------------------------------------- bits that nobody asks for
cdef uint32_t _of_constant(const ShaderData *s, ValueId i, uint64_t bits) noexcept nogil:
    """The operand that an operation on a constant leaves as it is, in the bits asked for."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint64_t number = 0
    cdef uint32_t k
    for k in range(2):
        if constant_operand(s, i, 1 - k, &number):
            if opcode == alu_iand:
                return k if bits & ~number == 0 else <uint32_t>no_operand
            if opcode == alu_iadd:
                bits = low_mask(64 - leading_zeros64(bits))
            return k if bits & number == 0 else <uint32_t>no_operand
    return no_operand


cdef uint32_t _of_field(const ShaderData *s, ValueId i, uint64_t bits) noexcept nogil:
    """The same of a field, if it begins at bit 0."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint64_t first = 0
    cdef uint64_t width = 8 if opcode in (alu_extract_u8, alu_extract_i8) else 16
    if not constant_operand(s, i, 1, &first) or first != 0:
        return no_operand
    if opcode in (alu_ubfe, alu_ibfe) and (not constant_operand(s, i, 2, &width) or width > 31):
        return no_operand
    return 0 if bits & ~low_mask(<uint32_t>width) == 0 else <uint32_t>no_operand


cdef uint32_t _same_operand(const ShaderData *s, ValueId i, uint64_t bits) noexcept nogil:
    """The operand that is the result in all bits asked for; ``no_operand``: none."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint64_t mask = 0
    if opcode in (alu_iand, alu_ior, alu_ixor, alu_iadd):
        return _of_constant(s, i, bits)
    if opcode in (alu_ubfe, alu_ibfe, alu_extract_u8, alu_extract_i8, alu_extract_u16, alu_extract_i16):
        return _of_field(s, i, bits)
    if opcode == alu_bitfield_select and constant_operand(s, i, 0, &mask):
        return 1 if bits & ~mask == 0 else 2 if bits & mask == 0 else <uint32_t>no_operand
    return no_operand


cdef bint _undo_shift(ShaderData *s, ValueId i, uint64_t bits) noexcept nogil:
    """Make a shift to the right by what was shifted to the left a `mov`, where what that lost is not asked for."""
    cdef ValueId left = source_value(s, i, 0)
    cdef uint64_t count = 0
    cdef uint64_t other = 0
    if s.instructions.kind[left] != nir_alu or s.instructions.opcode[left] != alu_ishl or s.instructions.components[left] != 1:
        return False
    if not constant_operand(s, i, 1, &count) or not constant_operand(s, left, 1, &other) or count != other:
        return False
    if count >= s.instructions.bit_size[i] or bits & ~low_mask(s.instructions.bit_size[i] - <uint32_t>count) != 0:
        return False
    source_set(s, i, 0, source_value(s, left, 0))
    s.sources.swizzle[s.instructions.source_first[i]] = source_swizzle(s, left, 0)
    _become_operand(s, i, 0)
    return True


cdef bint _asks_for_signs(const ShaderData *s, ValueId i, uint64_t bits) noexcept nogil:
    """Whether a shift to the right by a constant, or by what is not known, needs to fill with signs."""
    cdef uint64_t count = 0
    if not constant_operand(s, i, 1, &count):
        return True
    count &= s.instructions.bit_size[i] - 1
    return bits & ~low_mask(s.instructions.bit_size[i] - <uint32_t>count) != 0


cdef bint _drop_signs(ShaderData *s, const Context *c, ValueId i) noexcept nogil:
    """Of a mask of a shift that fills with signs nobody asks for make one of zeros: together they are a field."""
    cdef ValueId shifted
    cdef uint64_t mask = 0
    cdef uint32_t k
    for k in range(2):
        shifted = source_value(s, i, k)
        if s.instructions.opcode[shifted] == alu_ishr and _is_scalar_alu(s, shifted) and constant_operand(s, i, 1 - k, &mask) \
                and not _asks_for_signs(s, shifted, c.demanded[shifted]):
            s.instructions.opcode[shifted] = alu_ushr
            return True
    return False


cdef ValueId _zero(ShaderData *s, Context *c, uint32_t bits) except 0 nogil:
    cdef uint32_t which = 63 - leading_zeros64(bits)
    if not c.zeros[which]:
        c.zeros[which] = nir_constant(s, 0, bits)
        c.has_zeros = True
    return c.zeros[which]


cdef bint _clear_operands(ShaderData *s, Context *c, ValueId i, uint64_t bits) except -1 nogil:
    """Make operands zero of which nothing is asked for."""
    cdef bint progress = False
    cdef uint32_t k
    cdef ValueId operand
    for k in range(s.instructions.source_count[i]):
        operand = source_value(s, i, k)
        if not value_is_constant(s, operand) and demanded_of_operand(s, i, k, bits) == 0:
            source_set(s, i, k, _zero(s, c, s.instructions.bit_size[operand]))
            s.sources.swizzle[s.instructions.source_first[i] + k] = 0
            progress = True
    return progress


cdef bint _simplify(ShaderData *s, Context *c, ValueId i, uint64_t bits) except -1 nogil:
    cdef int opcode = s.instructions.opcode[i]
    cdef uint32_t k = _same_operand(s, i, bits)
    if k != no_operand:
        _become_operand(s, i, k)
        return True
    if (opcode == alu_ishr or opcode == alu_ushr) and _undo_shift(s, i, bits):
        return True
    return _clear_operands(s, c, i, bits)


cdef inline bint _reads_changed(const ShaderData *s, Context *c, ValueId i) noexcept nogil:
    cdef uint32_t k
    for k in range(s.instructions.source_count[i]):
        if source_value(s, i, k) < c.changed.size() and c.changed[source_value(s, i, k)]:
            return True
    return False


cdef int _visit(ShaderData *s, Context *c, ValueId i) except -1 nogil:
    cdef uint64_t bits = c.demanded[i]
    cdef bint partial = bits != low_mask(s.instructions.bit_size[i])
    if s.instructions.kind[i] == nir_phi:
        c.changed[i] = partial            # what comes round a loop is not known yet
        return 0
    if s.instructions.kind[i] != nir_alu or bits == 0:
        return 0
    if _reads_changed(s, c, i):
        s.instructions.flags[i] &= <uint16_t>~wrap_flags
        c.changed[i] = partial
    if not _is_scalar_alu(s, i):
        return 0
    if partial and _simplify(s, c, i, bits):
        c.changed[i] = c.progress = True
    elif s.instructions.opcode[i] == alu_ishr and not _asks_for_signs(s, i, bits):
        c.changed[i] = True               # a mask that reads it may drop them
    elif s.instructions.opcode[i] == alu_iand and _drop_signs(s, c, i):
        c.progress = True
    return 0


cdef int _place_zeros(ShaderData *s, Context *c) except -1 nogil:
    """Put the new constants at the start of the shader."""
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef uint32_t which
    shader_rewrite_begin(&rewrite, s)
    while block:
        shader_rewrite_block(&rewrite, block)
        if block == node_first_block(s):
            for which in range(7):
                if c.zeros[which]:
                    shader_rewrite_emit(&rewrite, c.zeros[which])
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            shader_rewrite_emit(&rewrite, s.order.instruction[row])
        block = block_walk_next(s, block)
    return shader_rewrite_end(&rewrite)


cdef bint opt_demanded_bits_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef uint32_t which
    c.progress = c.has_zeros = False
    if not _drop_masks(s, &c.progress):
        return False
    for which in range(7):
        c.zeros[which] = 0
    demanded_bits_find(s, c.demanded)
    c.changed.assign(s.instructions.table.count)
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            _visit(s, &c, s.order.instruction[row])
        block = block_walk_next(s, block)
    if c.has_zeros:
        _place_zeros(s, &c)
    return c.progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_demanded_bits_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Take away operations that change only bits that nobody asks for; True when there were any."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
