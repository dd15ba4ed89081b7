from isa_opcodes cimport op_v_add_f32, op_invalid
from isa_tables cimport isa_opcode_number, latency_valu32, opcode_latency, opcode_name, opcode_flag_atomic
from isa_decode_tables cimport decode_sop2, decode_sop2_width
cdef int decode(const uint32_t *words, uint32_t available, uint32_t gfx_level, Decoded *out) noexcept nogil:
    out.opcode = op_invalid
    return 1
def probe():
    return isa_opcode_number(90, op_v_add_f32, 0), opcode_latency[op_v_add_f32]==latency_valu32, opcode_name[op_v_add_f32], opcode_flag_atomic, decode_sop2[decode_sop2_width*3+12]
