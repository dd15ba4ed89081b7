"""Which arguments a compute shader needs, and the registers that they are in when it starts.

Needs: system values as ``load_*`` intrinsics (``lower_system_values`` stage "inputs"), explicit I/O, dead code gone. Guarantees:
``declare`` fills ``shader.arguments``. Which descriptor sets there are, and which push constants are in registers, is decided
by ``pyaco/nir/arguments.py``, which calls these functions.

Sources: AMD RDNA2 ISA, section 3.12 and LLVM's AMDGPU usage, "Initial kernel execution state" (order of user SGPRs,
workgroup ids, packed local ids on GFX11, ttmp registers on GFX12).
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from cython.operator cimport dereference
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.mutex cimport mutex
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from nir_opcodes cimport (
    index_base, index_binding, index_desc_set, index_desc_type, intrinsic_load_global_invocation_id, intrinsic_load_local_invocation_id,
    intrinsic_load_local_invocation_index, intrinsic_load_num_workgroups, intrinsic_load_push_constant,
    intrinsic_load_subgroup_id, intrinsic_load_workgroup_id, intrinsic_vulkan_resource_index,
)
from pyaco._core.common.table cimport table_append, table_truncate
from pyaco._core.ir.compilation cimport ArgumentRow, Compilation, KeptArguments, left_to_python, reflected_bindings
from pyaco._core.ir.pass_runner cimport kernel_changed, native_kernel
from pyaco._core.ir.program cimport gfx11, gfx12
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, TypeId, ValueId, VariableId, argument_descriptor_set, argument_inline_push_constant, argument_local_ids,
    argument_num_workgroups, argument_push_constants, argument_scratch_address, argument_scratch_wave_offset, argument_workgroup_id,
    constant_bits, deref_var, derivatives_quads, descriptor_ubo, image_buffer, intrinsic_index, mode_image, mode_of_float_controls,
    mode_push_constant, mode_ssbo, mode_ubo, mode_uniform, nir_alu, nir_deref, nir_intrinsic, source_swizzle, source_value,
    swizzle_component, type_array,
    type_image, type_sampled_image, type_sampler, type_texture, value_is_constant,
)
from pyaco._core.nir.types cimport type_bytes
from nir_opcodes cimport alu_input_sizes_flat, alu_max_inputs

import _thread
import os

from pyaco.errors import InputError

cdef enum:
    all_components = 7
    push_constant_dwords = 64
    table_of_sets = 0x7fffffff     # detail of the argument that points to a table of sets
    ttmp7 = 115                    # SGPR numbers of trap temporaries
    ttmp9 = 117

cdef struct Uses:
    uint32_t workgroup_id          # bit per dimension
    uint32_t local_id
    bint local_index
    bint num_workgroups
    bint push_constants
    bint other_push_uses           # not dwords at constant offsets
    uint64_t push_dwords           # bit per dword that is read at a constant offset
    vector[uint32_t] sets


cdef uint32_t _components_read(const ShaderData *s, ValueId user, uint32_t source) noexcept nogil:
    """Components (of the first three) that one source reads."""
    cdef uint32_t mask = 0
    cdef uint32_t i, width
    if s.instructions.kind[user] != nir_alu:
        return all_components
    width = alu_input_sizes_flat[<int>s.instructions.opcode[user] * alu_max_inputs + source]
    if width == 0:
        width = s.instructions.components[user]
    for i in range(width):
        mask |= 1 << swizzle_component(source_swizzle(s, user, source), i)
    return mask


cdef void _note_use(Uses *uses, int opcode, uint32_t mask) noexcept nogil:
    """Note which components of the result of an intrinsic are read."""
    if opcode == intrinsic_load_workgroup_id or opcode == intrinsic_load_global_invocation_id:
        uses.workgroup_id |= mask
    if opcode == intrinsic_load_local_invocation_id or opcode == intrinsic_load_global_invocation_id:
        uses.local_id |= mask


cdef void _note_push_constants(const ShaderData *s, Uses *uses, ValueId load) noexcept nogil:
    cdef ValueId offset = source_value(s, load, 0)
    cdef uint32_t count = s.instructions.components[load] * s.instructions.bit_size[load] // 32
    cdef uint64_t start
    uses.push_constants = True
    if value_is_constant(s, offset) and s.instructions.bit_size[load] >= 32:
        start = <uint32_t>intrinsic_index(s, load, index_base) + constant_bits(s, offset, 0)
        if start % 4 == 0 and start // 4 + count <= push_constant_dwords:
            uses.push_dwords |= ((<uint64_t>1 << count) - 1) << (start // 4)
            return
    uses.other_push_uses = True


cdef inline bint _is_handle_variable(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Whether an instruction is the deref of a variable that is an image, texture or sampler."""
    return s.instructions.kind[instruction] == nir_deref and s.instructions.opcode[instruction] == deref_var and \
        s.instructions.mode[instruction] & (mode_uniform | mode_image) != 0


cdef void _collect(const ShaderData *s, Uses *uses) noexcept nogil:
    cdef uint32_t i, k
    cdef ValueId instruction
    cdef int opcode
    uses.workgroup_id = uses.local_id = 0
    uses.local_index = uses.num_workgroups = uses.push_constants = uses.other_push_uses = False
    uses.push_dwords = 0
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        for k in range(s.instructions.source_count[instruction]):
            if s.instructions.kind[source_value(s, instruction, k)] == nir_intrinsic:
                _note_use(uses, s.instructions.opcode[source_value(s, instruction, k)], _components_read(s, instruction, k))
        if _is_handle_variable(s, instruction):
            uses.sets.push_back(s.variables.set[s.instructions.data[instruction]])
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        opcode = s.instructions.opcode[instruction]
        if opcode == intrinsic_load_local_invocation_index or opcode == intrinsic_load_subgroup_id:
            uses.local_index = True
        elif opcode == intrinsic_load_num_workgroups:
            uses.num_workgroups = True
        elif opcode == intrinsic_load_push_constant:
            _note_push_constants(s, uses, instruction)
        elif opcode == intrinsic_vulkan_resource_index:
            uses.sets.push_back(<uint32_t>intrinsic_index(s, instruction, index_desc_set))
    if uses.local_index:
        uses.local_id |= all_components


cdef uint32_t _declare(ShaderData *s, uint32_t kind, uint32_t detail, uint32_t first, uint32_t count,
                       bint is_vgpr) except? 0xffffffffU nogil:
    cdef uint32_t row = table_append(&s.arguments.table)
    s.arguments.kind[row] = kind
    s.arguments.detail[row] = detail
    s.arguments.first[row] = first
    s.arguments.count[row] = count
    s.arguments.is_vgpr[row] = is_vgpr
    return row


cdef uint32_t _push_constant_bytes(const ShaderData *s) noexcept nogil:
    cdef VariableId variable
    cdef uint32_t size
    cdef uint32_t best = s.info.push_constant_bytes
    for variable in range(s.variables.table.count):
        if s.variables.mode[variable] == mode_push_constant:
            size = type_bytes(s, s.variables.type[variable])
            best = size if size > best else best
    return best


cdef class _ScalarRegisters:
    """Hands out SGPRs in order; `taken` lists the user SGPRs, which are filled at launch."""
    cdef ShaderData *s
    cdef uint32_t next
    cdef list taken

    cdef int user(self, str kind, uint32_t argument, uint32_t count, uint32_t detail=0, str called=None) except -1:
        """The next user SGPRs; `called` is what the ABI calls the detail, if it has it."""
        _declare(self.s, argument, detail, self.next, count, False)
        taken = {"kind": kind, "first": self.next, "count": count}
        if called is not None:
            taken[called] = detail
        self.taken.append(taken)
        self.next += count
        return 0


cdef int _workgroup_ids(_ScalarRegisters registers, uint32_t mask) except -1:
    """After the user SGPRs; on GFX12 in the trap handler's registers."""
    cdef ShaderData *s = registers.s
    cdef uint32_t i
    for i in range(3):
        if not mask >> i & 1:
            continue
        if s.info.gfx_level < gfx12:
            _declare(s, argument_workgroup_id, i, registers.next, 1, False)
            registers.next += 1
        elif i == 0:
            _declare(s, argument_workgroup_id, i, ttmp9, 1, False)
        elif i == 1 or not mask & 2:    # one register holds y and z
            _declare(s, argument_workgroup_id, i, ttmp7, 1, False)
    return 0


cdef uint32_t _local_ids(ShaderData *s, uint32_t mask) except? 0xffffffffU:
    """Returns how many dimensions are needed."""
    cdef uint32_t dimensions = 0
    cdef bint packed = s.info.gfx_level >= gfx11
    cdef uint32_t i
    if s.info.derivative_group == derivatives_quads and mask & 3:
        mask |= 3                      # x and y are dealt out together
    for i in range(3):
        if mask >> i & 1 and s.info.workgroup_size[i] != 1:
            dimensions = i + 1
    if dimensions:
        _declare(s, argument_local_ids, packed, 0, 1 if packed else dimensions, True)
    return dimensions


cdef bint _needs_scratch(const ShaderData *s) noexcept:
    """Until GFX10: register allocation may still need scratch for spilling."""
    return s.info.gfx_level < gfx11


def uses(Shader shader not None):
    """What the shader needs, as numbers: ``sets``, ``push_dwords`` read at constant offsets, ``other_push_uses``,
    ``num_workgroups``, ``push_constant_bytes`` that it reads, ``push_block_bytes`` that it declares, ``other_user_sgprs``, ``shared_bytes``."""
    cdef ShaderData *s = &shader.data
    cdef Uses found
    if s.info.wave_size not in (32, 64):
        raise InputError(f"a wave size of {s.info.wave_size}: waves have 32 or 64 lanes")
    _collect(s, &found)
    s.info.push_constant_bytes = _push_constant_bytes(s)
    return {
        "sets": tuple(sorted(set(found.sets))) if found.sets.size() else (),
        "push_dwords": tuple([i for i in range(push_constant_dwords) if found.push_dwords >> <uint32_t>i & 1]) if found.push_dwords else (),
        "other_push_uses": bool(found.other_push_uses),
        "push_constant_bytes": s.info.push_constant_bytes if found.push_constants else 0,
        "push_block_bytes": s.info.push_constant_bytes,
        "num_workgroups": bool(found.num_workgroups),
        "other_user_sgprs": (2 if _needs_scratch(s) else 0) + (3 if found.num_workgroups else 0),
        "shared_bytes": s.info.shared_bytes,
    }


def buffer_variables(Shader shader not None):
    """Set, binding, whether it is a uniform buffer, and elements of every buffer variable."""
    cdef ShaderData *s = &shader.data
    cdef VariableId variable
    cdef TypeId type
    cdef uint32_t count
    found = []
    for variable in range(s.variables.table.count):
        if not s.variables.mode[variable] & (mode_ubo | mode_ssbo):
            continue
        type = s.variables.type[variable]
        count = 1
        while s.types.base[type] == type_array:
            count *= s.types.length[type]
            type = s.types.element[type]
        found.append((s.variables.set[variable], s.variables.binding[variable], s.variables.mode[variable] == mode_ubo, count))
    return tuple(found)


cdef dict _HANDLES = {type_sampler: "sampler", type_texture: "sampled_image", type_sampled_image: "combined_image_sampler",
                      type_image: "storage_image"}
cdef dict _TEXEL_BUFFERS = {"sampled_image": "uniform_texel_buffer", "storage_image": "storage_texel_buffer"}


def handles(Shader shader not None):
    """Set, binding, type of descriptor, and elements (0: run time) of every image, texture and sampler that instructions use, each once."""
    cdef ShaderData *s = &shader.data
    cdef uint32_t i
    cdef VariableId variable
    cdef TypeId type
    found = []
    for i in range(s.order.table.count):
        if not _is_handle_variable(s, s.order.instruction[i]):
            continue
        variable = s.instructions.data[s.order.instruction[i]]
        type = s.variables.type[variable]
        count = 1
        while s.types.base[type] == type_array:
            count *= int(s.types.length[type])
            type = s.types.element[type]
        if s.types.base[type] not in _HANDLES:
            raise InputError("a variable of a mode for images and samplers that is neither")
        kind = _HANDLES[s.types.base[type]]
        if s.types.image_dim[type] == image_buffer:
            kind = _TEXEL_BUFFERS.get(kind, kind)
        found.append((s.variables.set[variable], s.variables.binding[variable], kind, count))
    return tuple(dict.fromkeys(found))


def resources(Shader shader not None):
    """Set, binding, whether it is a uniform buffer, and array element of every descriptor that instructions use, each once; -1: known at run
    time."""
    cdef ShaderData *s = &shader.data
    cdef uint32_t i
    cdef ValueId instruction, index
    found = []
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] != nir_intrinsic or \
                s.instructions.opcode[instruction] != intrinsic_vulkan_resource_index:
            continue
        index = source_value(s, instruction, 0)
        found.append((<uint32_t>intrinsic_index(s, instruction, index_desc_set),
                      <uint32_t>intrinsic_index(s, instruction, index_binding),
                      intrinsic_index(s, instruction, index_desc_type) == descriptor_ubo,
                      <int64_t><uint32_t>constant_bits(s, index, 0) if value_is_constant(s, index) else -1))
    return tuple(dict.fromkeys(found))


def declare(Shader shader not None, tuple sets, bint through_table, bint push_pointer, inline_dwords):
    """Fill ``shader.arguments``; returns what a launch must know of registers and modes."""
    cdef ShaderData *s = &shader.data
    cdef Uses found
    cdef _ScalarRegisters registers = _ScalarRegisters()
    cdef uint32_t user_count
    cdef uint32_t dimensions
    cdef bint scratch = _needs_scratch(s)
    _collect(s, &found)
    table_truncate(&s.arguments.table, 0)
    registers.s = s
    registers.taken = []
    if scratch:
        registers.user("scratch_address", argument_scratch_address, 2)
    if through_table:
        registers.user("descriptor_set_table", argument_descriptor_set, 1, table_of_sets)
    else:
        for number in sets:
            registers.user("descriptor_set", argument_descriptor_set, 1, number, "set")
    if push_pointer:
        registers.user("push_constants", argument_push_constants, 1)
    for dword in inline_dwords:
        registers.user("inline_push_constant", argument_inline_push_constant, 1, dword, "dword")
    if found.num_workgroups:
        registers.user("num_workgroups", argument_num_workgroups, 3)
    user_count = registers.next
    _workgroup_ids(registers, found.workgroup_id)
    if scratch:
        _declare(s, argument_scratch_wave_offset, 0, registers.next, 1, False)
    dimensions = _local_ids(s, found.local_id)
    return {
        "user_sgprs": registers.taken,
        "user_sgpr_count": user_count,
        "workgroup_id_mask": found.workgroup_id & 7,
        "scratch_wave_offset": scratch,
        "local_id_components": max(dimensions, 1),
        "wave_size": s.info.wave_size,
        "workgroup_size": [s.info.workgroup_size[0], s.info.workgroup_size[1], s.info.workgroup_size[2]],
        "float_mode": mode_of_float_controls(s.info.float_controls),
        "lds_bytes": s.info.shared_bytes,
        "scratch_bytes_per_lane": s.info.scratch_bytes,
        "address32_hi": s.info.address32_hi,
    }


# ------------------------------------------------------------------------------------------------------- shaders that are alike
cdef class Declared(DeclaredArguments):
    def __cinit__(self):
        self.data.users.store(0)
        self.data.owner = <PyObject *>self
        self.data.descriptors.store(NULL)


cdef enum:
    most_kept = 1024

# By all that `pyaco/nir/arguments.py` goes by. On small shaders it takes longer than most passes, and most shaders are like another one.
# Compilations look here without the interpreter; `_kept` and `_given_up`, which `_owners_lock` guards, own what they find. What is given up is freed
# once it has no users: nobody who is not one already can find it.
cdef unordered_map[string, KeptArguments *] _alike
cdef mutex _alike_lock
cdef object _owners_lock = _thread.allocate_lock()      # before `_alike_lock`; interpreters may have no lock of their own
cdef list _kept = []
cdef list _given_up = []


def _lock_alike():
    _owners_lock.acquire()
    _alike_lock.lock()


def _unlock_alike():
    _alike_lock.unlock()
    _owners_lock.release()


# No thread holds a lock while the process forks: in the child, nobody would give them back.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock_alike, after_in_parent=_unlock_alike, after_in_child=_unlock_alike)


cdef KeptArguments *_find(const string &key) except? NULL nogil:
    """What is kept, with one user more; NULL if nothing is."""
    cdef KeptArguments *found = NULL
    cdef unordered_map[string, KeptArguments *].iterator at
    _alike_lock.lock()
    at = _alike.find(key)
    if at != _alike.end():
        found = dereference(at).second
        found.users.fetch_add(1)
    _alike_lock.unlock()
    return found


cdef int _forget() except -1:
    """Make room for others."""
    global _kept, _given_up
    _alike_lock.lock()
    _alike.clear()
    _alike_lock.unlock()
    _given_up = [made for made in _given_up + _kept if (<Declared>made).data.users.load()]
    _kept = []
    return 0


cdef void _add_once(vector[uint32_t] &key, size_t first, const uint32_t *words, size_t count) noexcept nogil:
    """Add some words to a key that has such groups of words from `first` on; not again what is among the last of them."""
    cdef size_t at = key.size()
    cdef size_t tries = 16
    while at > first and tries:
        at -= count
        tries -= 1
        if memcmp(&key[at], words, count * 4) == 0:
            return
    key.insert(key.end(), words, words + count)


cdef void _key_of_variables(const ShaderData *s, vector[uint32_t] &key) noexcept nogil:
    cdef VariableId variable
    cdef uint32_t[4] words
    cdef TypeId type
    for variable in range(s.variables.table.count):
        if not s.variables.mode[variable] & (mode_ubo | mode_ssbo):
            continue
        words[0], words[1], words[2] = s.variables.set[variable], s.variables.binding[variable], s.variables.mode[variable]
        words[3] = 1
        type = s.variables.type[variable]
        while s.types.base[type] == type_array:
            words[3] *= s.types.length[type]
            type = s.types.element[type]
        key.insert(key.end(), words, words + 4)


cdef void _key_of_handle(const ShaderData *s, ValueId instruction, uint32_t *words) noexcept nogil:
    cdef VariableId variable = s.instructions.data[instruction]
    cdef TypeId type = s.variables.type[variable]
    cdef uint64_t count = 1
    while s.types.base[type] == type_array:
        count *= s.types.length[type]
        type = s.types.element[type]
    words[0], words[1] = s.variables.set[variable], s.variables.binding[variable]
    words[2] = s.types.base[type] | <uint32_t>s.types.image_dim[type] << 8
    words[3], words[4] = <uint32_t>count, <uint32_t>(count >> 32)


cdef void _key_of_resource(const ShaderData *s, ValueId instruction, uint32_t *words) noexcept nogil:
    cdef ValueId index = source_value(s, instruction, 0)
    words[0] = <uint32_t>intrinsic_index(s, instruction, index_desc_set)
    words[1] = <uint32_t>intrinsic_index(s, instruction, index_binding)
    words[2] = <uint32_t>intrinsic_index(s, instruction, index_desc_type)
    words[3] = value_is_constant(s, index)
    words[4] = <uint32_t>constant_bits(s, index, 0) if words[3] else 0


cdef void _key_of_instructions(const ShaderData *s, vector[uint32_t] &key) noexcept nogil:
    cdef size_t first = key.size()
    cdef uint32_t i
    cdef ValueId instruction
    cdef uint32_t[6] words
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        words[5] = s.instructions.kind[instruction]
        if _is_handle_variable(s, instruction):
            _key_of_handle(s, instruction, words)
        elif words[5] == nir_intrinsic and s.instructions.opcode[instruction] == intrinsic_vulkan_resource_index:
            _key_of_resource(s, instruction, words)
        else:
            continue
        _add_once(key, first, words, 6)


cdef void _key_of_uses(const ShaderData *s, const Uses *found, vector[uint32_t] &key) noexcept nogil:
    cdef uint32_t[18] words
    cdef size_t first, i
    words[0] = found.workgroup_id
    words[1] = found.local_id
    words[2] = found.num_workgroups | found.push_constants << 1 | found.other_push_uses << 2
    words[3], words[4] = <uint32_t>found.push_dwords, <uint32_t>(found.push_dwords >> 32)
    words[5], words[6] = s.info.gfx_level, s.info.wave_size
    words[7], words[8], words[9] = s.info.workgroup_size[0], s.info.workgroup_size[1], s.info.workgroup_size[2]
    words[10], words[11] = s.info.derivative_group, s.info.float_controls
    words[12], words[13] = s.info.scratch_bytes, s.info.shared_bytes
    words[14], words[15] = s.info.address32_hi, s.info.push_constant_bytes
    words[16] = <uint32_t>found.sets.size()
    words[17] = s.variables.table.count
    key.insert(key.end(), words, words + 18)
    first = key.size()
    for i in range(found.sets.size()):
        _add_once(key, first, &found.sets[i], 1)


cdef int _key(ShaderData *s, const char *reflected, size_t reflected_bytes, string *made) except -1 nogil:
    """All that tells what the pass makes of a shader without a layout of its user's."""
    cdef Uses found
    cdef vector[uint32_t] key
    key.reserve(96)
    _collect(s, &found)
    s.info.push_constant_bytes = _push_constant_bytes(s)
    _key_of_uses(s, &found, key)
    key.push_back(<uint32_t>key.size())
    _key_of_variables(s, key)
    key.push_back(<uint32_t>key.size())
    _key_of_instructions(s, key)
    key.push_back(<uint32_t>key.size())
    made.assign(<const char *>key.data(), key.size() * 4)
    made.append(reflected, reflected_bytes)
    return 0


cdef int _declare_kept(ShaderData *s, const KeptArguments *kept) except -1 nogil:
    cdef size_t i
    table_truncate(&s.arguments.table, 0)
    for i in range(kept.rows.size()):
        _declare(s, kept.rows[i].kind, kept.rows[i].detail, kept.rows[i].first, kept.rows[i].count, kept.rows[i].is_vgpr)
    return 0


def declare_alike(Shader shader not None):
    """Give a shader the arguments and metadata that `keep` has kept of one like it; None where there was one, else its key for `keep`."""
    cdef string key
    cdef bytes reflected = reflected_bindings(shader.facts)
    cdef KeptArguments *kept
    _key(&shader.data, reflected, len(reflected), &key)
    kept = _find(key)
    if kept == NULL:
        return PyBytes_FromStringAndSize(key.data(), key.size())
    try:
        _declare_kept(&shader.data, kept)
        shader.facts.declared = <Declared>kept.owner
    finally:
        kept.users.fetch_sub(1)
    return None


cdef int _declare_in_compilation(void *ir, int option) except -1 nogil:
    cdef Compilation *compilation = <Compilation *>ir
    cdef string key
    if compilation.has_layout:
        return left_to_python
    _key(compilation.shader, compilation.reflected, compilation.reflected_bytes, &key)
    compilation.arguments = _find(key)
    if compilation.arguments == NULL:
        return left_to_python
    _declare_kept(compilation.shader, compilation.arguments)
    return kernel_changed


compilation_kernel = native_kernel(_declare_in_compilation)


def keep(Shader shader not None, bytes key not None, dict metadata not None):
    """Keep the arguments of a shader for those that are alike, and its metadata, which it gets."""
    cdef ShaderData *s = &shader.data
    cdef Declared made = Declared()
    cdef string known = key
    cdef uint32_t row
    made.kept = metadata
    for row in range(s.arguments.table.count):
        made.data.rows.push_back(ArgumentRow(s.arguments.kind[row], s.arguments.detail[row], s.arguments.first[row], s.arguments.count[row],
                                             s.arguments.is_vgpr[row]))
    with _owners_lock:
        if len(_kept) >= most_kept:
            _forget()
        _kept.append(made)
        _alike_lock.lock()
        _alike[known] = &made.data
        _alike_lock.unlock()
    shader.facts.declared = made
