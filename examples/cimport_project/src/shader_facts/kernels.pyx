# distutils: language = c++
# cython: freethreading_compatible=True
"""Kernels that call those of pyaco: no Python object for an instruction, and no interpreter lock."""
from collections import namedtuple

from libc.stdint cimport uint16_t, uint32_t
from libc.string cimport memcmp, memset

from isa_opcodes cimport op_invalid
from pyaco._core.aco.live_variables cimport live_variables_run
from pyaco._core.common.machine cimport register_agpr0, register_vgpr0
from pyaco._core.ir.program cimport Program, ProgramData
from pyaco._core.ir.shader cimport Shader, ShaderData, nir_alu
from pyaco._core.isa.decode cimport Decoded, decode
from pyaco._core.isa.encode cimport encode, encode_limit

CodeFacts = namedtuple("CodeFacts", ["instructions", "vgprs", "unlike"])


# One past the last VGPR of an operand, 0 for one of another kind.
cdef uint32_t vgprs_up_to(uint16_t register, uint32_t size) noexcept nogil:
    if register < register_vgpr0 or register >= register_agpr0:
        return 0
    return (register - register_vgpr0 + size + 3) // 4


cdef uint32_t vgprs_of(const Decoded *instruction) noexcept nogil:
    cdef uint32_t most = 0
    cdef int k
    for k in range(instruction.source_count):
        most = max(most, vgprs_up_to(instruction.source[k], instruction.source_bytes[k]))
    for k in range(instruction.destination_count):
        most = max(most, vgprs_up_to(instruction.destination[k], instruction.destination_bytes[k]))
    return most


# Whether the words of an instruction are what its fields encode to.
cdef bint encodes_alike(const Decoded *instruction, const uint32_t *words, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t[encode_limit] made
    cdef int length = encode(instruction, gfx_level, made)
    return length == instruction.dwords and memcmp(made, words, 4 * length) == 0


def code_facts(const unsigned char[::1] code not None, uint32_t gfx_level):
    """Return the instructions of machine code, the VGPRs that they name, and how many of them encode to other words than they have.

    Words that are no instruction of `gfx_level` count as unlike.
    """
    cdef uint32_t count = <uint32_t>(code.shape[0] // 4)
    cdef const uint32_t *words
    cdef uint32_t position = 0, instructions = 0, vgprs = 0, unlike = 0
    cdef Decoded d
    if code.shape[0] == 0 or code.shape[0] % 4:
        raise ValueError(f"{code.shape[0]} bytes are no dwords")
    words = <const uint32_t *>&code[0]
    with nogil:
        while position < count:
            memset(&d, 0, sizeof(d))
            decode(words + position, count - position, gfx_level, &d)
            vgprs = max(vgprs, vgprs_of(&d))
            unlike += d.opcode == op_invalid or not encodes_alike(&d, words + position, gfx_level)
            instructions += 1
            position += d.dwords
    return CodeFacts(instructions, vgprs, unlike)


def count_arithmetic(Shader shader not None):
    """Return how many ALU instructions the blocks of a shader in NIR have."""
    cdef const ShaderData *s = &shader.data
    cdef uint32_t row, found = 0
    with nogil:
        for row in range(s.order.table.count):
            found += s.instructions.kind[s.order.instruction[row]] == nir_alu
    return found


def peak_demand(Program program not None):
    """Return the SGPRs and VGPRs that a program in ACO IR needs at once, as pyaco's own pass over live variables finds them."""
    cdef ProgramData *p = &program.data
    with nogil:
        live_variables_run(p)
    return p.max_demand_sgpr, p.max_demand_vgpr
