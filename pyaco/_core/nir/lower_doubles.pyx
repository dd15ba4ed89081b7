"""Operations on doubles that are lowered, by Mesa's options (``pyaco.targets.lowering.DoublesLowering``).

Needs: scalar ALU, ``lower_alu``. Option ``lower``: the options as ``doubles_lowering`` reads them. Guarantees: no operation of the options is left on
64-bit floats; with ``fp64_full_software`` none at all, and results are those of ``software_doubles``. Subgroup and atomic operations that add
or compare doubles, and float controls that software does not follow, are refused then.

Division, reciprocal and roots (without software): operands are scaled to [0.25, 1) with frexp and the result back with ldexp, so nothing in between
overflows or is denormal. A 32-bit hardware estimate is improved twice (Newton for reciprocals; Goldschmidt's coupled iteration for
roots), and a last fused step with the exact residual rounds to nearest in all but rare cases. Zero, infinity and NaN are
handled separately. Rounding to integral numbers, minimum, maximum, sign and saturation are integer operations, the same as in software.
Sources: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990;
Goldschmidt's iteration as in Muller et al., "Handbook of Floating-Point Arithmetic", chapter 4.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_count, alu_f2f32, alu_f2f64, alu_fabs, alu_fadd, alu_fceil, alu_fdiv, alu_feq, alu_ffloor, alu_ffma, alu_ffract, alu_flt,
    alu_fmax, alu_fmin, alu_fmod, alu_fmul, alu_fneg, alu_frcp, alu_frem, alu_frexp_exp, alu_frexp_sig, alu_fround_even, alu_frsq,
    alu_fsat, alu_fsign, alu_fsqrt, alu_fsub, alu_ftrunc, alu_iadd, alu_iand, alu_ineg, alu_inot, alu_ior, alu_ishr, alu_isub, alu_ldexp,
    alu_names, alu_output_type, alu_pack_64_2x32_split, alu_unpack_64_2x32_split_y, index_atomic_op, index_reduction_op,
    intrinsic_exclusive_scan, intrinsic_inclusive_scan, intrinsic_names, intrinsic_reduce, intrinsic_vote_feq,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, atomic_fadd, atomic_fmax, atomic_fmin, block_walk_next, flush_denorms64, intrinsic_has_index,
    intrinsic_index, nir_alu, nir_intrinsic, node_first_block, round_zero64, source_value,
)
from pyaco._core.nir.lowering cimport Lowering, constant_float, lower_alu, lower_keep, lowering_run
from pyaco._core.nir.software_doubles cimport (
    double_integral, double_maximum, double_minimum, double_saturated, double_sign, is_double_operation, software_double,
)
from pyaco.errors import UnsupportedError
from pyaco.targets.lowering import DoublesLowering, doubles_lowering

cdef enum:
    base_float = 3                # in the tables of opcodes

cdef uint64_t infinity = 0x7ff0000000000000ULL


cdef ValueId _fma(Lowering *b, ValueId x, ValueId y, ValueId z) except? 0xffffffffU nogil:
    return alu3(b, alu_ffma, x, y, z)


cdef ValueId _negated(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_fneg, x)


cdef ValueId _with_sign_of(Lowering *b, uint64_t magnitude, ValueId x) except? 0xffffffffU nogil:
    """A constant with the sign of x."""
    cdef ValueId sign = alu2_constant(b, alu_iand, alu1(b, alu_unpack_64_2x32_split_y, x), 0x80000000U)
    cdef ValueId high = alu2_constant(b, alu_ior, sign, magnitude >> 32) if magnitude >> 32 else sign
    return alu2(b, alu_pack_64_2x32_split, constant(b, magnitude & 0xffffffffU, 32), high)


cdef ValueId _is_zero(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2(b, alu_feq, x, constant_float(b, 0.0, 64))


cdef ValueId _is_infinite(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2(b, alu_feq, alu1(b, alu_fabs, x), constant(b, infinity, 64))


cdef ValueId _scaled_reciprocal(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """1 / x for 0.5 <= |x| < 1."""
    cdef ValueId one = constant_float(b, 1.0, 64)
    cdef ValueId minus = _negated(b, x)
    cdef ValueId r = alu1(b, alu_f2f64, alu1(b, alu_frcp, alu1(b, alu_f2f32, x)))
    for _ in range(3):
        r = _fma(b, _fma(b, minus, r, one), r, r)
    return r


cdef ValueId _reciprocal(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    cdef ValueId r = _scaled_reciprocal(b, alu1(b, alu_frexp_sig, x))
    r = alu2(b, alu_ldexp, r, alu1(b, alu_ineg, alu1(b, alu_frexp_exp, x)))
    r = alu3(b, alu_bcsel, _is_infinite(b, x), _with_sign_of(b, 0, x), r)
    return alu3(b, alu_bcsel, _is_zero(b, x), _with_sign_of(b, infinity, x), r)


cdef ValueId _divide(Lowering *b, ValueId n, ValueId d) except? 0xffffffffU nogil:
    cdef ValueId n_part = alu1(b, alu_frexp_sig, n)
    cdef ValueId d_part = alu1(b, alu_frexp_sig, d)
    cdef ValueId r = _scaled_reciprocal(b, d_part)
    cdef ValueId q = alu2(b, alu_fmul, n_part, r)
    cdef ValueId exponent = alu2(b, alu_isub, alu1(b, alu_frexp_exp, n), alu1(b, alu_frexp_exp, d))
    cdef ValueId limit = constant(b, infinity, 64)
    cdef ValueId ordinary, special
    q = _fma(b, _fma(b, _negated(b, d_part), q, n_part), r, q)
    q = alu2(b, alu_ldexp, q, exponent)
    # For special operands: multiply by a reciprocal that is right for d = 0 and infinity, and has the right sign otherwise.
    special = _with_sign_of(b, 0x3ff0000000000000ULL, d)
    special = alu3(b, alu_bcsel, _is_infinite(b, d), _with_sign_of(b, 0, d), special)
    special = alu3(b, alu_bcsel, _is_zero(b, d), _with_sign_of(b, infinity, d), special)
    ordinary = alu2(b, alu_iand, alu2(b, alu_flt, alu1(b, alu_fabs, n), limit), alu2(b, alu_flt, alu1(b, alu_fabs, d), limit))
    ordinary = alu2(b, alu_iand, ordinary, alu1(b, alu_inot, alu2(b, alu_ior, _is_zero(b, n), _is_zero(b, d))))
    n_part = alu2(b, alu_fmul, n, special)
    # `special` does not handle NaN divisors: they are the result.
    n_part = alu3(b, alu_bcsel, alu2(b, alu_feq, d, d), n_part, d)
    return alu3(b, alu_bcsel, ordinary, q, n_part)


cdef ValueId _root(Lowering *b, ValueId x, bint inverse) except? 0xffffffffU nogil:
    """Square root (or its inverse): x = m * 4**k with 0.25 <= m < 1."""
    cdef ValueId exponent = alu1(b, alu_frexp_exp, x)
    cdef ValueId odd = alu2_constant(b, alu_iand, exponent, 1)
    cdef ValueId m = alu2(b, alu_ldexp, alu1(b, alu_frexp_sig, x), alu1(b, alu_ineg, odd))
    cdef ValueId k = alu2_constant(b, alu_ishr, alu2(b, alu_iadd, exponent, odd), 1)
    cdef ValueId half = constant_float(b, 0.5, 64)
    cdef ValueId r = alu1(b, alu_f2f64, alu1(b, alu_frsq, alu1(b, alu_f2f32, m)))
    cdef ValueId g = alu2(b, alu_fmul, m, r)
    cdef ValueId h = alu2(b, alu_fmul, half, r)
    cdef ValueId error, result, special
    for _ in range(2):
        error = _fma(b, _negated(b, h), g, half)
        g = _fma(b, g, error, g)
        h = _fma(b, h, error, h)
    if not inverse:
        g = _fma(b, _fma(b, _negated(b, g), g, m), h, g)
        result = alu2(b, alu_ldexp, g, k)
        special = alu2(b, alu_ior, _is_zero(b, x), alu2(b, alu_feq, x, constant(b, infinity, 64)))
        return alu3(b, alu_bcsel, special, x, result)
    r = alu2(b, alu_fadd, h, h)
    error = _fma(b, _negated(b, alu2(b, alu_fmul, m, r)), r, constant_float(b, 1.0, 64))
    r = _fma(b, alu2(b, alu_fmul, r, half), error, r)
    result = alu2(b, alu_ldexp, r, alu1(b, alu_ineg, k))
    result = alu3(b, alu_bcsel, alu2(b, alu_feq, x, constant(b, infinity, 64)), constant(b, 0, 64), result)
    return alu3(b, alu_bcsel, _is_zero(b, x), _with_sign_of(b, infinity, x), result)


cdef ValueId _rounded_quotient(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """fmod and frem."""
    cdef int rounding = alu_ffloor if b.s.instructions.opcode[instruction] == alu_fmod else alu_ftrunc
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    return alu2(b, alu_fsub, x, alu2(b, alu_fmul, y, alu1(b, rounding, alu2(b, alu_fdiv, x, y))))


cdef ValueId _least_or_greatest(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    return double_minimum(b, x, y) if opcode == alu_fmin else double_maximum(b, x, y)


cdef ValueId _lower_opcode(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    if opcode == alu_fdiv:
        return _divide(b, x, alu_source(b, instruction, 1, 0))
    if opcode == alu_frcp:
        return _reciprocal(b, x)
    if opcode == alu_fsqrt or opcode == alu_frsq:
        return _root(b, x, opcode == alu_frsq)
    if opcode in (alu_ftrunc, alu_ffloor, alu_fceil, alu_fround_even):
        return double_integral(b, opcode, x)
    if opcode == alu_ffract:
        return alu2(b, alu_fsub, x, alu1(b, alu_ffloor, x))
    if opcode == alu_fsub:
        return alu2(b, alu_fadd, x, _negated(b, alu_source(b, instruction, 1, 0)))
    if opcode == alu_fsign:
        return double_sign(b, x)
    if opcode == alu_fsat:
        return double_saturated(b, x)
    if opcode == alu_fmin or opcode == alu_fmax:
        return _least_or_greatest(b, instruction)
    return _rounded_quotient(b, instruction)


cdef uint32_t[alu_count] _option_of
cdef uint32_t _software = <uint32_t>int(DoublesLowering.FP64_FULL_SOFTWARE)


cdef _fill():
    """Which option an opcode is of."""
    option = DoublesLowering
    for bit, opcodes in ((option.DRCP, (alu_frcp,)), (option.DSQRT, (alu_fsqrt,)), (option.DRSQ, (alu_frsq,)), (option.DTRUNC, (alu_ftrunc,)),
                         (option.DFLOOR, (alu_ffloor,)), (option.DCEIL, (alu_fceil,)), (option.DFRACT, (alu_ffract,)),
                         (option.DROUND_EVEN, (alu_fround_even,)), (option.DMOD, (alu_fmod, alu_frem)), (option.DSUB, (alu_fsub,)),
                         (option.DDIV, (alu_fdiv,)), (option.DSIGN, (alu_fsign,)), (option.DMINMAX, (alu_fmin, alu_fmax)),
                         (option.DSAT, (alu_fsat,))):
        for opcode in opcodes:
            _option_of[<int>opcode] = <uint32_t>int(bit)


_fill()


cdef bint _is_lowered(const ShaderData *s, ValueId instruction, uint32_t options) noexcept nogil:
    if s.instructions.kind[instruction] != nir_alu or s.instructions.components[instruction] != 1:
        return False
    if options & _software:
        return is_double_operation(s, instruction)
    return s.instructions.bit_size[instruction] == 64 and _option_of[s.instructions.opcode[instruction]] & options != 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef uint32_t options = (<uint32_t *>b.context)[0]
    if not _is_lowered(b.s, instruction, options):
        return lower_keep
    return software_double(b, instruction) if options & _software else _lower_opcode(b, instruction)


cdef const char *_hardware_only(const ShaderData *s, ValueId instruction) noexcept nogil:
    """The name of an operation on doubles that is no ALU instruction; NULL where it is none."""
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int operation
    if s.instructions.kind[instruction] != nir_intrinsic:
        return NULL
    if opcode == intrinsic_vote_feq:
        return intrinsic_names[opcode] if s.instructions.bit_size[source_value(s, instruction, 0)] == 64 else NULL
    if s.instructions.bit_size[instruction] != 64:
        return NULL
    if intrinsic_has_index(s, instruction, index_atomic_op):
        operation = intrinsic_index(s, instruction, index_atomic_op)
        return intrinsic_names[opcode] if operation in (atomic_fadd, atomic_fmin, atomic_fmax) else NULL
    if opcode not in (intrinsic_reduce, intrinsic_inclusive_scan, intrinsic_exclusive_scan):
        return NULL
    operation = intrinsic_index(s, instruction, index_reduction_op)
    return intrinsic_names[opcode] if alu_output_type[operation] >> 8 == base_float else NULL


cdef int _refuse(const ShaderData *s) except -1 nogil:
    """Complain about what software does not do."""
    cdef NodeId block = node_first_block(s)
    cdef const char *name
    cdef uint32_t i
    cdef bint doubles = False
    while block:
        for i in range(s.nodes.order_count[block]):
            doubles = doubles or is_double_operation(s, s.order.instruction[s.nodes.order_first[block] + i])
            name = _hardware_only(s, s.order.instruction[s.nodes.order_first[block] + i])
            if name != NULL:
                with gil:
                    raise UnsupportedError(f"software fp64: {name.decode()} of doubles")
        block = block_walk_next(s, block)
    if doubles and s.info.float_controls & (round_zero64 | flush_denorms64):
        with gil:
            raise UnsupportedError("software fp64: doubles that are rounded toward zero, or whose denormals are flushed")
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef uint32_t mask = <uint32_t>option
    cdef bint progress = False
    if mask & _software:
        _refuse(<ShaderData *>ir)
    # What one sweep makes is lowered by the next.
    while lowering_run(<ShaderData *>ir, lower_alu, _lower, &mask):
        progress = True
    return progress


kernel = native_kernel(_kernel, lambda options, level: int(doubles_lowering(level, options["lower"])))


def run(Shader shader not None, options=None):
    """Lower doubles."""
    cdef uint32_t mask = <uint32_t>int(doubles_lowering(shader.data.info.gfx_level, (options or {}).get("lower", "hardware")))
    cdef bint progress = False
    with nogil:
        progress = _kernel(&shader.data, <int>mask)
    return progress


def remaining(Shader shader not None, lower="software"):
    """Names of the operations in a shader that the pass with these options would lower.

    Parameters
    ----------
    shader : Shader
    lower : str or DoublesLowering
        As the option of the pass.

    Returns
    -------
    list of str
        In order, each once; empty where the pass has nothing to do.
    """
    cdef uint32_t mask = <uint32_t>int(doubles_lowering(shader.data.info.gfx_level, lower))
    cdef const ShaderData *s = &shader.data
    cdef NodeId block = node_first_block(s)
    cdef uint32_t i
    cdef ValueId row
    found = {}
    while block:
        for i in range(s.nodes.order_count[block]):
            row = s.order.instruction[s.nodes.order_first[block] + i]
            if _is_lowered(s, row, mask):
                found[(<const char *>alu_names[s.instructions.opcode[row]]).decode()] = None
        block = block_walk_next(s, block)
    return list(found)
