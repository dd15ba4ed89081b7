"""The ABI: which arguments a compute shader gets, in which registers, and the layout of its descriptor sets.

Needs: system values as ``load_*`` intrinsics (``lower_system_values`` stage "inputs"), explicit I/O, dead code gone.
Guarantees: ``shader.arguments`` and ``shader.metadata["abi"]`` as docs/architecture.md describes them. Descriptor sets
follow ``metadata["pipeline_layout"]`` (a ``PipelineLayout``) where it is given, else the shader's own bindings (types "ubo", "ssbo"),
or those that ``metadata["descriptor_layout"]`` gives as ``{set: {binding: (type, count)}}``. ``assign_user_data`` decides which
push constants stand in registers, and whether sets are reached through a table (the row with detail ``table_of_sets``).

Sources: AMD RDNA2 ISA, section 3.12 and LLVM's AMDGPU usage, "Initial kernel execution state" (order of user SGPRs,
workgroup ids, packed local ids on GFX11, ttmp registers on GFX12).
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    index_base, index_binding, index_desc_set, index_desc_type, intrinsic_load_global_invocation_id, intrinsic_load_local_invocation_id,
    intrinsic_load_local_invocation_index, intrinsic_load_num_workgroups, intrinsic_load_push_constant,
    intrinsic_load_subgroup_id, intrinsic_load_workgroup_id, intrinsic_vulkan_resource_index,
)
from pyaco._core.common.table cimport table_append
from pyaco._core.ir.program cimport gfx11, gfx12
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, argument_descriptor_set, argument_inline_push_constant, argument_local_ids, argument_num_workgroups,
    argument_push_constants, argument_scratch_address, argument_scratch_wave_offset, argument_workgroup_id, constant_bits,
    descriptor_ubo, intrinsic_index, mode_push_constant, mode_ssbo, mode_ubo, nir_alu, nir_intrinsic, source_swizzle, source_value,
    swizzle_component, type_array, value_is_constant,
)
from pyaco._core.nir.types cimport type_bytes
from nir_opcodes cimport alu_input_sizes_flat, alu_max_inputs

from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.types import DescriptorType, is_dynamic
from pyaco.descriptors.user_data import assign_user_data
from pyaco.errors import InputError, UnsupportedError

_TYPES = {"ubo": DescriptorType.UNIFORM_BUFFER, "ssbo": DescriptorType.STORAGE_BUFFER}
# What may stand behind a shader's buffer.
_BEHIND = {
    "ubo": (DescriptorType.UNIFORM_BUFFER, DescriptorType.UNIFORM_BUFFER_DYNAMIC, DescriptorType.INLINE_UNIFORM_BLOCK),
    "ssbo": (DescriptorType.STORAGE_BUFFER, DescriptorType.STORAGE_BUFFER_DYNAMIC),
}

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


cdef uint32_t _used_by(const ShaderData *s, uint32_t user, uint32_t source) noexcept nogil:
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


cdef void _note_use(const ShaderData *s, Uses *uses, uint32_t value, uint32_t mask) noexcept nogil:
    cdef int opcode = s.instructions.opcode[value]
    if s.instructions.kind[value] != nir_intrinsic:
        return
    if opcode == intrinsic_load_workgroup_id or opcode == intrinsic_load_global_invocation_id:
        uses.workgroup_id |= mask
    if opcode == intrinsic_load_local_invocation_id or opcode == intrinsic_load_global_invocation_id:
        uses.local_id |= mask


cdef void _note_push_constant(const ShaderData *s, Uses *uses, uint32_t load) noexcept nogil:
    cdef uint32_t offset = source_value(s, load, 0)
    cdef uint32_t count = s.instructions.components[load] * s.instructions.bit_size[load] // 32
    cdef uint64_t start
    uses.push_constants = True
    if value_is_constant(s, offset) and s.instructions.bit_size[load] >= 32:
        start = <uint32_t>intrinsic_index(s, load, index_base) + constant_bits(s, offset, 0)
        if start % 4 == 0 and start // 4 + count <= push_constant_dwords:
            uses.push_dwords |= ((<uint64_t>1 << count) - 1) << (start // 4)
            return
    uses.other_push_uses = True


cdef void _collect(const ShaderData *s, Uses *uses) noexcept nogil:
    cdef uint32_t i, k, instruction
    cdef int opcode
    uses.workgroup_id = uses.local_id = 0
    uses.local_index = uses.num_workgroups = uses.push_constants = uses.other_push_uses = False
    uses.push_dwords = 0
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        for k in range(s.instructions.source_count[instruction]):
            _note_use(s, uses, source_value(s, instruction, k), _used_by(s, instruction, k))
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        opcode = s.instructions.opcode[instruction]
        if opcode == intrinsic_load_local_invocation_index or opcode == intrinsic_load_subgroup_id:
            uses.local_index = True
        elif opcode == intrinsic_load_num_workgroups:
            uses.num_workgroups = True
        elif opcode == intrinsic_load_push_constant:
            _note_push_constant(s, uses, instruction)
        elif opcode == intrinsic_vulkan_resource_index:
            uses.sets.push_back(<uint32_t>intrinsic_index(s, instruction, index_desc_set))
    if uses.local_index:
        uses.local_id |= all_components


cdef uint32_t _declare(ShaderData *s, uint32_t kind, uint32_t detail, uint32_t first, uint32_t count,
                       bint is_vgpr) except? 0xffffffffU:
    cdef uint32_t row = table_append(&s.arguments.table)
    s.arguments.kind[row] = kind
    s.arguments.detail[row] = detail
    s.arguments.first[row] = first
    s.arguments.count[row] = count
    s.arguments.is_vgpr[row] = is_vgpr
    return row


cdef dict _reflected_bindings(Shader shader):
    """``{set: {binding: (type, count)}}``: what the reader reflected, and buffer variables where there are any."""
    cdef ShaderData *s = &shader.data
    cdef uint32_t variable, type, count
    sets = {number: {binding: (facts["type"], facts["count"]) for binding, facts in bindings.items()}
            for number, bindings in shader.metadata.get("descriptor_sets", {}).items()}
    for variable in range(s.variables.table.count):
        if not s.variables.mode[variable] & (mode_ubo | mode_ssbo):
            continue
        type = s.variables.type[variable]
        count = 1
        while s.types.base[type] == type_array:
            count *= s.types.length[type]
            type = s.types.element[type]
        bindings = sets.setdefault(s.variables.set[variable], {})
        kind = "ubo" if s.variables.mode[variable] == mode_ubo else "ssbo"
        known = bindings.get(s.variables.binding[variable])
        if known is None or (known[1] and known[1] < count):
            bindings[s.variables.binding[variable]] = (kind, count)
    _note_resources(s, sets)
    return sets


cdef int _note_resources(ShaderData *s, dict sets) except -1:
    """Add the bindings that instructions name and nothing declares (NIR text has no reflection)."""
    cdef uint32_t i, instruction, index, count
    found = {}
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] != nir_intrinsic or \
                s.instructions.opcode[instruction] != intrinsic_vulkan_resource_index:
            continue
        index = source_value(s, instruction, 0)
        # An array indexed at run time has no known end.
        count = <uint32_t>constant_bits(s, index, 0) + 1 if value_is_constant(s, index) else 0
        kind = "ubo" if intrinsic_index(s, instruction, index_desc_type) == descriptor_ubo else "ssbo"
        place = (<uint32_t>intrinsic_index(s, instruction, index_desc_set),
                 <uint32_t>intrinsic_index(s, instruction, index_binding))
        known = found.get(place, (kind, count))[1]
        found[place] = (kind, max(known, count) if known and count else 0)
    for (number, binding), facts in found.items():
        sets.setdefault(number, {}).setdefault(binding, facts)
    return 0


def own_layout(sets, push_bytes=0):
    """The layout of a pipeline whose sets are those of a shader, ``{set: {binding: (type, count)}}``.

    A count of 0 is a runtime-sized array, which must be the last binding of its set.
    """
    layouts = {}
    for number, bindings in sets.items():
        found = []
        for binding, (kind, count) in sorted(bindings.items()):
            if kind not in _TYPES:
                raise UnsupportedError(f"descriptors of type {kind}")
            if count == 0 and binding != max(bindings):
                raise UnsupportedError(f"binding {binding} is a runtime-sized descriptor array and not the last of its set")
            found.append(Binding(binding, _TYPES[kind], count, variable=count == 0))
        layouts[number] = SetLayout(found)
    return PipelineLayout(layouts, push_bytes)


cdef int _check_layout(ShaderData *s, layout) except -1:
    """Complain about resources that a pipeline's layout lacks, or has as something that no buffer is."""
    cdef uint32_t i, instruction
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] != nir_intrinsic or \
                s.instructions.opcode[instruction] != intrinsic_vulkan_resource_index:
            continue
        number = <uint32_t>intrinsic_index(s, instruction, index_desc_set)
        binding = <uint32_t>intrinsic_index(s, instruction, index_binding)
        kind = "ubo" if intrinsic_index(s, instruction, index_desc_type) == descriptor_ubo else "ssbo"
        if number not in layout.sets or binding not in layout.sets[number].bindings:
            raise InputError(f"the pipeline layout has no binding {binding} in descriptor set {number}, which the shader uses")
        held = layout.sets[number].bindings[binding].binding
        if held.type != DescriptorType.MUTABLE and held.type not in _BEHIND[kind] or \
                held.type == DescriptorType.MUTABLE and not set(held.mutable) & set(_BEHIND[kind]):
            raise InputError(f"binding {binding} of descriptor set {number} is a {held.type.value}, and the shader reads a {kind}")
    return 0


def _described(layout, number):
    """One set of a pipeline's layout as the ABI names it."""
    bindings = {}
    for binding, placed in layout.sets[number].bindings.items():
        dynamic = is_dynamic(placed.binding.type)
        bindings[binding] = {
            "offset": layout.dynamic_offset(number, placed) if dynamic else placed.offset, "stride": 16 if dynamic else placed.stride,
            "count": 0 if placed.binding.variable else placed.elements, "type": placed.binding.type.value,
        }
    return {"size": layout.sets[number].size, "bindings": bindings}


cdef uint32_t _push_constant_bytes(const ShaderData *s) noexcept:
    cdef uint32_t variable, size
    cdef uint32_t best = s.info.push_constant_bytes
    for variable in range(s.variables.table.count):
        if s.variables.mode[variable] == mode_push_constant:
            size = type_bytes(s, s.variables.type[variable])
            best = size if size > best else best
    return best


cdef int _float_mode(const ShaderData *s) noexcept:
    """MODE's float bits: round 32, round 16/64, denormals 32, denormals 16/64 (two bits each).

    Denormals of 32 bits are flushed and those of 16 and 64 kept unless the module asks otherwise, as RADV does.
    """
    cdef uint32_t controls = s.info.float_controls
    cdef int mode = 0xc0
    if controls & 2:
        mode |= 0x30
    if controls & (8 | 32) and not controls & (1 | 4):
        mode &= ~0xc0
    if controls & 8192:
        mode |= 3
    if controls & (4096 | 16384):
        mode |= 0xc
    return mode


cdef class _Registers:
    """Scalar registers, handed out one after another; `taken` lists those that whoever launches fills."""
    cdef ShaderData *s
    cdef uint32_t next
    cdef list taken

    def user(self, kind, argument, count, detail=0, **facts):
        _declare(self.s, argument, detail, self.next, count, False)
        self.taken.append({"kind": kind, "first": self.next, "count": count, **facts})
        self.next += count


cdef int _user_sgprs(_Registers registers, Uses *uses, list sets, bint dynamic, bint scratch) except -1:
    if scratch:
        registers.user("scratch_address", argument_scratch_address, 2)
    data = assign_user_data(sets, [i for i in range(push_constant_dwords) if uses.push_dwords >> <uint32_t>i & 1],
                            other_push_uses=uses.other_push_uses, dynamic_buffers=dynamic,
                            others=registers.next + (3 if uses.num_workgroups else 0))
    if data.table_of_sets:
        registers.user("descriptor_set_table", argument_descriptor_set, 1, table_of_sets)
    else:
        for number in sets:
            registers.user("descriptor_set", argument_descriptor_set, 1, number, set=number)
    if data.push_pointer:
        registers.user("push_constants", argument_push_constants, 1)
    for dword in data.inline_dwords:
        registers.user("inline_push_constant", argument_inline_push_constant, 1, dword, dword=dword)
    if uses.num_workgroups:
        registers.user("num_workgroups", argument_num_workgroups, 3)
    return 0


cdef int _workgroup_ids(_Registers registers, uint32_t mask) except -1:
    """Behind the user SGPRs; on GFX12 in the trap handler's registers."""
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
    for i in range(3):
        if mask >> i & 1 and s.info.workgroup_size[i] != 1:
            dimensions = i + 1
    if dimensions:
        _declare(s, argument_local_ids, packed, 0, 1 if packed else dimensions, True)
    return dimensions


def run(Shader shader, options=None):
    """Declare the arguments."""
    cdef ShaderData *s = &shader.data
    cdef Uses uses
    cdef _Registers registers = _Registers()
    cdef uint32_t dimensions
    cdef uint32_t user_count
    cdef bint dynamic
    # GFX9 and GFX10: register allocation may still come to need scratch for spilling.
    cdef bint scratch = s.info.gfx_level < gfx11
    if s.info.wave_size not in (32, 64):
        raise InputError(f"wave size {s.info.wave_size}")
    _collect(s, &uses)
    s.arguments.table.count = 0
    s.info.push_constant_bytes = _push_constant_bytes(s)
    layout = shader.metadata.get("pipeline_layout")
    if layout is None:
        layout = own_layout(shader.metadata.get("descriptor_layout") or _reflected_bindings(shader), s.info.push_constant_bytes)
    _check_layout(s, layout)
    sets = sorted(set(uses.sets))
    dynamic = any(layout.sets[number].dynamic_count for number in sets)
    registers.s = s
    registers.taken = []
    _user_sgprs(registers, &uses, sets, dynamic, scratch)
    user_count = registers.next
    _workgroup_ids(registers, uses.workgroup_id)
    if scratch:
        _declare(s, argument_scratch_wave_offset, 0, registers.next, 1, False)
    dimensions = _local_ids(s, uses.local_id)
    shader.metadata["abi"] = {
        "user_sgprs": registers.taken,
        "user_sgpr_count": user_count,
        "workgroup_id_mask": uses.workgroup_id & 7,
        "scratch_wave_offset": scratch,
        "local_id_components": max(dimensions, 1),
        "wave_size": s.info.wave_size,
        "workgroup_size": [s.info.workgroup_size[0], s.info.workgroup_size[1], s.info.workgroup_size[2]],
        "float_mode": _float_mode(s),
        "lds_bytes": s.info.shared_bytes,
        "scratch_bytes_per_lane": s.info.scratch_bytes,
        "num_sgprs": 0,
        "num_vgprs": 0,
        "push_constant_bytes": s.info.push_constant_bytes if uses.push_constants else 0,
        "address32_hi": s.info.address32_hi,
        "descriptor_sets": {number: _described(layout, number) for number in sorted(layout.sets)},
    }
    if dynamic:
        shader.metadata["abi"]["dynamic_buffers"] = {"offset": layout.push_constant_size, "count": layout.dynamic_count}
    return True
