"""Facts of a shader, by which passes are left out. The contract is in ``shader_facts.pxd``."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from nir_opcodes cimport (
    alu_count, alu_join, alu_mov, alu_names, alu_one_bit, alu_output_size, index_image_dim, index_count, intrinsic_count,
    intrinsic_flag_convergent, intrinsic_flags, intrinsic_index_position_flat, intrinsic_names,
)
from pyaco._core.ir.shader cimport (
    OrderRow, Shader, ShaderData, ValueId, VariableId, mode_function_temp, mode_shader_temp, nir_alu, nir_intrinsic, nir_load_const,
    nir_phi, nir_tex, nir_undef, node_if, node_loop, node_walk_next, variable_alive,
)

#: Bits by name.
FACTS = {
    "ifs": fact_ifs, "loops": fact_loops, "phis": fact_phis, "vectors": fact_vectors, "undefined values": fact_undefined,
    "64 bits": fact_64_bits, "small values": fact_small, "divisions": fact_divisions, "textures": fact_textures, "images": fact_images,
    "lanes": fact_lanes, "matrices": fact_matrices, "copies": fact_copies, "local variables": fact_locals,
    "atomics": fact_atomics, "differences": fact_differences,
}

cdef enum:
    rows_at_once = 512            # small shaders are looked at once: what the next step asks for is known

# Where facts are found.
cdef enum:
    of_nodes = fact_ifs | fact_loops
    of_variables = fact_locals | fact_copies
    of_instructions = ~(of_nodes | fact_locals)

cdef uint32_t[16] _of_kind
cdef uint32_t[16] _of_wide_kind              # of several components
cdef uint32_t[256] _of_size
cdef uint32_t[alu_count] _of_alu
cdef uint32_t[alu_count] _of_wide_alu
cdef uint32_t[intrinsic_count] _of_intrinsic


cdef _fill():
    cdef int i
    memset(_of_kind, 0, sizeof(_of_kind))
    memset(_of_wide_kind, 0, sizeof(_of_wide_kind))
    memset(_of_size, 0, sizeof(_of_size))
    memset(_of_alu, 0, sizeof(_of_alu))
    memset(_of_wide_alu, 0, sizeof(_of_wide_alu))
    memset(_of_intrinsic, 0, sizeof(_of_intrinsic))
    _of_kind[<int>nir_phi] = fact_phis
    _of_kind[<int>nir_undef] = fact_undefined
    _of_kind[<int>nir_tex] = fact_textures | fact_images
    _of_wide_kind[<int>nir_phi] = _of_wide_kind[<int>nir_load_const] = fact_vectors
    _of_size[64] = fact_64_bits
    _of_size[8] = _of_size[16] = fact_small
    for i in range(alu_count):
        name = alu_names[i].decode()
        if name in ("udiv", "idiv", "umod", "imod", "irem"):
            _of_alu[i] |= fact_divisions
        if name in ("iabs", "msad_4x8"):
            _of_alu[i] |= fact_differences
        if name.startswith("fddx") or name.startswith("fddy"):
            _of_alu[i] |= fact_lanes
        if alu_join[<int>alu_one_bit[i]] != alu_mov:
            _of_alu[i] |= fact_vectors
        if alu_output_size[i] == 0 and i != alu_mov:
            _of_wide_alu[i] = fact_vectors
    for i in range(intrinsic_count):
        name = intrinsic_names[i].decode()
        if (intrinsic_flags[i] & intrinsic_flag_convergent and name != "barrier") or "ballot" in name:
            _of_intrinsic[i] |= fact_lanes
        if intrinsic_index_position_flat[i * index_count + index_image_dim] >= 0 or name == "is_sparse_texels_resident":
            _of_intrinsic[i] |= fact_images
        if name == "is_sparse_texels_resident":
            _of_intrinsic[i] |= fact_textures
        if name == "cmat_muladd_pyaco":
            _of_intrinsic[i] |= fact_matrices
        if name == "copy_deref":
            _of_intrinsic[i] |= fact_copies
        if "_atomic" in name:
            _of_intrinsic[i] |= fact_atomics


_fill()


cdef uint32_t _of_variables(const ShaderData *s) noexcept nogil:
    cdef uint32_t found = 0
    cdef VariableId variable
    for variable in range(s.variables.table.count):
        if s.variables.flags[variable] & variable_alive and s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            found |= fact_locals
            if s.variables.initializer[variable]:
                found |= fact_copies
    return found


cdef void search_begin(FactSearch *search) noexcept nogil:
    search.found = 0
    search.node = 1
    search.row = 0
    search.all_rows = search.all_variables = False


cdef void search_again(FactSearch *search) noexcept nogil:
    search.node = 1 if search.node else 0
    search.row = 0


cdef void _search_nodes(FactSearch *search, const ShaderData *s, uint32_t facts) noexcept nogil:
    while search.node and not search.found & facts:
        if s.nodes.kind[search.node] == node_if:
            search.found |= fact_ifs
        elif s.nodes.kind[search.node] == node_loop:
            search.found |= fact_loops
        search.node = node_walk_next(s, search.node)


cdef inline uint32_t _of_instruction(const ShaderData *s, ValueId i) noexcept nogil:
    cdef uint8_t kind = s.instructions.kind[i]
    cdef uint32_t found = _of_size[s.instructions.bit_size[i]] | _of_kind[kind]
    if kind == nir_alu:
        found |= _of_alu[s.instructions.opcode[i]]
        if s.instructions.components[i] > 1:
            found |= _of_wide_alu[s.instructions.opcode[i]]
    elif kind == nir_intrinsic:
        found |= _of_intrinsic[s.instructions.opcode[i]]
    elif s.instructions.components[i] > 1:
        found |= _of_wide_kind[kind]
    return found


cdef void _search_instructions(FactSearch *search, const ShaderData *s, uint32_t facts) noexcept nogil:
    cdef uint32_t found = search.found
    cdef OrderRow row = search.row
    cdef OrderRow end
    if search.all_rows:
        return
    while row < s.order.table.count and not found & facts:
        end = min(row + <OrderRow>rows_at_once, s.order.table.count)
        for row in range(row, end):
            found |= _of_instruction(s, s.order.instruction[row])
        row = end
    search.found = found
    search.row = row
    search.all_rows = row >= s.order.table.count


cdef bint shader_has(FactSearch *search, const ShaderData *s, uint32_t facts) noexcept nogil:
    if search.found & facts:
        return True
    if facts & of_variables and not search.all_variables:
        search.found |= _of_variables(s)
        search.all_variables = True
    if facts & of_nodes:
        _search_nodes(search, s, facts)
    if facts & of_instructions and not search.found & facts:
        _search_instructions(search, s, facts)
    return search.found & facts != 0


def mask_of(names):
    """The bits of facts by name."""
    cdef uint32_t mask = 0
    for name in names:
        mask |= <uint32_t><int>FACTS[name]
    return mask


def facts_of(Shader shader not None):
    """The names of the facts that hold."""
    cdef FactSearch search
    search_begin(&search)
    return frozenset(name for name, bit in FACTS.items() if shader_has(&search, &shader.data, <uint32_t><int>bit))
