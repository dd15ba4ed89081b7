"""Image instructions in instruction selection: what images and textures share; see ``isel_images.pyx``."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.aco.isel_context cimport IntrinsicSelection, Isel
from pyaco._core.ir.program cimport InstructionId, Operand, TempId, gfx9
from pyaco._core.ir.shader cimport ValueId

# Some neighbouring components of a NIR value that are part of an image address, or zero components of a constant.
cdef struct AddressPart:
    ValueId value                 # 0: one component, the constant
    uint32_t first
    uint32_t count
    uint32_t constant

# What an image instruction gives a NIR value: a result of `loaded_bytes` per component of `mask` (in the order of bits), and a dword that says
# whether the texels are resident.
cdef struct ImageResult:
    ValueId value
    uint32_t components           # of texels, in the NIR value
    uint32_t mask                 # components that are loaded
    uint32_t bytes                # of a component
    bint is_float
    bint sparse
    TempId temp                   # what the instruction defines

# The descriptor in source `index`, in SGPRs; what differs between lanes is refused.
cdef TempId image_handle(Isel *c, ValueId i, uint32_t index) except 0 nogil
# The component that a component of a value is a copy of, through moves and vectors.
cdef void resolve_component(Isel *c, ValueId *value, uint32_t *component) noexcept nogil
# Components of a value that anything reads, at least the lowest.
cdef uint32_t components_read(Isel *c, ValueId value, uint32_t components) noexcept nogil
cdef AddressPart value_part(ValueId value, uint32_t first, uint32_t count) noexcept nogil
cdef AddressPart constant_part(uint32_t bits) noexcept nogil
# Append the dwords of an address: components of 16 bits stand two in a dword, in order, across parts.
cdef int pack_address(Isel *c, const AddressPart *parts, uint32_t count, uint32_t bits, vector[Operand] &address) except -1 nogil
# DIM, DA and, for descriptors of four dwords, R128.
cdef uint64_t image_shape(Isel *c, uint64_t word, TempId resource, uint8_t dim, bint is_array, bint storage) except? 0xffffffffffffffffULL nogil
# The registers that an instruction defines for a result; with `data` also what they hold before, where texels may be absent.
cdef TempId begin_result(Isel *c, ImageResult *result, Operand *data) except 0 nogil
# Components of 16 bits are loaded as such (D16): from GFX9 on. Before, they have 32 bits in registers.
cdef inline bint narrow_data(const Isel *c, uint32_t bits) noexcept nogil:
    return bits == 16 and c.gfx >= gfx9
# Hand the result to its NIR value.
cdef int finish_result(Isel *c, ImageResult *result) except -1 nogil
# Emit an image instruction; `sampler` 0: none, `dst` 0: no result.
cdef InstructionId image_instruction(Isel *c, uint32_t opcode, TempId dst, TempId resource, TempId sampler, Operand data,
                                     vector[Operand] &address, uint64_t modifiers) except 0 nogil
# The formatted load of a buffer of some components, each of 4 bytes or 2.
cdef uint16_t texel_load_opcode(uint32_t bytes, uint32_t components) noexcept nogil
# Emit a load from a texel buffer, with the element's index.
cdef int texel_load(Isel *c, ImageResult *result, TempId resource, TempId index, uint64_t modifiers) except -1 nogil
# 0x76543210 (every sample its own fragment) where the descriptor of the fragment mask is empty, else what was loaded.
cdef int finish_fragment_mask(Isel *c, ValueId i, TempId resource, TempId loaded) except -1 nogil

cdef void fill_images(IntrinsicSelection *table) noexcept nogil
