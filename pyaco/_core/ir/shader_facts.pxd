"""Facts of a shader that one look at each instruction tells, and by which passes are left out: one that lowers divisions has nothing to do
where there is none. A record of a pass names them (``Pass.only_with``). The runner looks until it finds one of those that a step asks for, and goes
on from there at the next question: most shaders with loops have one in their first thousand instructions.

A fact may hold without need, but a shader without it has none of what the fact is about.
"""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport NodeId, OrderRow, ShaderData

cdef enum:                        # ShaderFact: bits
    fact_ifs = 1                  # "ifs"
    fact_loops = 2                # "loops"
    fact_phis = 4                 # "phis"
    fact_vectors = 8              # "vectors": what lower_alu_to_scalar takes apart: phis, constants and operations of several components
    fact_undefined = 0x10         # "undefined values"
    fact_64_bits = 0x20           # "64 bits": values of that size
    fact_small = 0x40             # "small values": of 8 and 16 bits
    fact_divisions = 0x80         # "divisions": of integers, remainders too
    fact_textures = 0x100         # "textures": texture instructions, and questions whether texels are resident
    fact_images = 0x200           # "images": texture instructions and intrinsics that take images
    fact_lanes = 0x400            # "lanes": subgroup operations and derivatives
    fact_matrices = 0x800         # "matrices": products of cooperative ones
    fact_copies = 0x1000          # "copies": of whole variables, and initial values
    fact_locals = 0x2000          # "local variables"
    fact_atomics = 0x4000         # "atomics"
    fact_differences = 0x8000     # "differences": magnitudes of integers, and sums of differences of bytes

cdef struct FactSearch:
    uint32_t found                # facts that hold
    NodeId node                   # the next one to look at; 0: all have been
    OrderRow row                  # of the order, likewise
    bint all_rows                 # have been looked at
    bint all_variables

cdef void search_begin(FactSearch *search) noexcept nogil
# Go on after a change that brings no facts: rows may have moved. What was found, or not in all of the shader, stays.
cdef void search_again(FactSearch *search) noexcept nogil
# Whether any of some facts holds.
cdef bint shader_has(FactSearch *search, const ShaderData *s, uint32_t facts) noexcept nogil
