"""Where the cycles of GFX11 and GFX12 differ from RADV's model (``common/cycles.pxd``), as traces of the hardware show them.

Source: the thread traces (SQTT) of an RX 7900 XTX and of a gfx1200 that tinygrad publishes (``extra/sqtt/examples``), read with its decoder: when
each instruction of a wave was dispatched. ``tests/emu/measured_cycles.txt`` has what the figures below were read from. They say nothing of memory
beyond LDS, since every load of those kernels is the first of its line. Results of the scalar ALU are there after 9 cycles on GFX12 (2 on GFX11,
as in RADV's model); what the vector ALU writes is read by itself after 5, but 17 after it began by memory operations, branches and scalar
instructions; a product of matrices keeps GFX12's unit busy for a cycle for each byte of the first matrix in a lane; a 64-bit multiplication and
addition takes four cycles.
"""
from libc.stdint cimport uint32_t

from isa_opcodes cimport op_v_mad_i64_i32, op_v_mad_u64_u32
from isa_tables cimport latency_salu, latency_wmma, opcode_latency
from pyaco._core.common.cycles cimport Cycles
from pyaco._core.common.machine cimport gfx11, gfx12
from pyaco._core.emu.wave cimport Instruction

cdef enum:
    measured_scalar_latency = 9       # GFX12
    measured_lds_latency = 32
    beyond_vector = 12                # more than for the vector ALU itself
    branch_passed_step = 3            # until the next instruction
    branch_taken_step = 9
    barrier_step = 20                 # from the last arrival

cdef inline bint is_measured(uint32_t gfx_level) noexcept nogil:
    return gfx11 <= gfx_level <= gfx12

cdef inline void correct_cycles(Cycles *cycles, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """What the traces say of an instruction on its units."""
    cdef uint32_t opcode = instruction.decoded.opcode
    if not is_measured(gfx_level):
        return
    if gfx_level >= gfx12 and opcode_latency[opcode] == latency_salu:
        cycles.latency = measured_scalar_latency
    elif gfx_level >= gfx12 and opcode_latency[opcode] == latency_wmma:
        cycles.latency = instruction.decoded.source_bytes[0]
        cycles.cost0 = instruction.decoded.source_bytes[0]
    elif opcode == <uint32_t>op_v_mad_u64_u32 or opcode == <uint32_t>op_v_mad_i64_i32:
        cycles.cost0 = 4
        cycles.cost1 = 4
        cycles.latency = 8
