"""Image loads, stores, atomics and queries. The contract is in ``image.pxd``.

A texel outside of its level reads as zeros, and stores to it are dropped. Memory that no allocation has stops the dispatch.

Sources: AMD "Vega" ISA document 8.2, "RDNA 2" 8.2, "RDNA3" 9.4, "RDNA4" 10.4 "Image Instructions"; Mesa's ``aco_instruction_selection.cpp``
for what programs expect of image_get_resinfo.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from isa_opcodes cimport op_image_atomic_cmpswap, op_image_atomic_fcmpswap, op_image_get_resinfo, op_image_msaa_load
from isa_tables cimport image_flag_atomic, image_flag_gather, image_flag_lod, image_flag_sample, image_flag_store, opcode_image
from modifiers cimport modifier_dmask, modifier_r128
from pyaco._core.common.machine cimport gfx12, register_none
from pyaco._core.emu.access cimport MemoryOperation, atomic32, atomic64
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.image_operands cimport (ImageOperands, address_row, address_word, data_row, get_data, open_operands,
                                             put_data, put_residency)
from pyaco._core.emu.image_sample cimport sample_lane
from pyaco._core.emu.image_texel cimport Place, fetch_texel, reach_texel
from pyaco._core.emu.image_view cimport *
from pyaco._core.emu.texels cimport store_texel, texel_srgb
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *


cdef void _find_place(const Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view, uint32_t lane,
                      Place *p) noexcept nogil:
    """The texel that a lane's coordinates name. Layers and levels are counted from the view's first."""
    cdef uint32_t at = o.spatial
    cdef uint32_t z = 0
    p.x = address_word(wave, instruction, o, 0, lane)
    p.y = address_word(wave, instruction, o, 1, lane) if o.spatial > 1 else 0
    if o.spatial > 2:
        z = address_word(wave, instruction, o, 2, lane)
    elif o.layered:
        z = address_word(wave, instruction, o, at, lane)
        at += 1
    p.sample = 0
    if o.sampled:
        p.sample = address_word(wave, instruction, o, at, lane)
        at += 1
    # a view of one layer or level ignores what is not its
    p.z = view.first_layer + z if z < view.layers else <uint32_t>0xffffffff
    p.level = view.first_level
    if o.flags & image_flag_lod:
        z = address_word(wave, instruction, o, at, lane)
        p.level = view.first_level + z if z < 256 else 256


cdef int _load_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                    uint32_t lane) noexcept nogil:
    cdef Place place
    cdef uint32_t texel[4]
    cdef uint32_t component
    cdef uint32_t position = 0
    cdef int stop
    _find_place(wave, instruction, o, view, lane, &place)
    stop = fetch_texel(machine, lane, view, place.level, place.x, place.y, place.z, place.sample, texel)
    if stop != stop_running:
        return stop
    for component in range(4):
        if o.mask >> component & 1:
            put_data(wave, instruction, o, position, view.format.integer, selected_component(view, texel, component), lane)
            position += 1
    put_residency(wave, instruction, machine.missing_texels, lane)
    return stop_running


cdef int _load_samples(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                       uint32_t lane) noexcept nogil:
    """IMAGE_MSAA_LOAD: one component of four samples, from the one that is named on."""
    cdef Place place
    cdef uint32_t texel[4]
    cdef uint32_t component = 0
    cdef uint32_t i
    cdef uint32_t found[4]
    cdef int stop
    while not o.mask >> component & 1:
        component += 1
    _find_place(wave, instruction, o, view, lane, &place)
    for i in range(4):
        stop = fetch_texel(machine, lane, view, place.level, place.x, place.y, place.z, place.sample + i, texel)
        if stop != stop_running:
            return stop
        found[i] = selected_component(view, texel, component)
    for i in range(4):
        put_data(wave, instruction, o, i, view.format.integer, found[i], lane)
    put_residency(wave, instruction, machine.missing_texels, lane)
    return stop_running


cdef int _store_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                     uint32_t lane) noexcept nogil:
    """Components that are not stored become zero, from GFX12 on equal to the first that is."""
    cdef Place place
    cdef uint32_t texel[4]
    cdef uint32_t component, channel
    cdef uint32_t position = 0
    cdef uint32_t missing = 0
    cdef uint8_t *host
    cdef int stop
    _find_place(wave, instruction, o, view, lane, &place)
    stop = reach_texel(machine, lane, view, &place, access_kind_store, view.format.bytes, &host)
    if stop != stop_running or host == NULL:
        return stop
    memset(texel, 0, sizeof(texel))
    if machine.gfx_level >= gfx12:
        missing = get_data(wave, instruction, o, 0, &view.format, lane)
    for component in range(4):
        channel = view.select[component]
        if o.mask >> component & 1:
            if channel >= 4:
                texel[channel - 4] = get_data(wave, instruction, o, position, &view.format, lane)
            position += 1
        elif channel >= 4:
            texel[channel - 4] = missing
    store_texel(&view.format, host, texel)
    return stop_running


cdef inline uint64_t _data64(const Wave *wave, uint16_t register_, uint32_t dword, uint32_t lane) noexcept nogil:
    return data_row(wave, register_, dword)[lane] | (<uint64_t>data_row(wave, register_, dword + 1)[lane] << 32)


cdef int _atomic_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                      uint32_t lane) noexcept nogil:
    """The data's registers are as many as dmask says: one or two, twice as many with a value to compare with."""
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef bint two = instruction.decoded.opcode == op_image_atomic_cmpswap or instruction.decoded.opcode == op_image_atomic_fcmpswap
    cdef uint32_t bytes = 8 if modifier_dmask(instruction.decoded.modifiers) == (15 if two else 3) else 4
    cdef uint16_t data = instruction.decoded.source[2]
    cdef uint64_t old = 0
    cdef uint64_t fresh
    cdef uint32_t dword
    cdef Place place
    cdef uint8_t *host
    cdef int stop
    if not view.empty and bytes != view.format.bytes:
        return stop_unsupported
    _find_place(wave, instruction, o, view, lane, &place)
    stop = reach_texel(machine, lane, view, &place, access_kind_atomic, bytes, &host)
    if stop != stop_running:
        return stop
    if host != NULL:
        memcpy(&old, host, bytes)
        if bytes == 8:
            fresh = atomic64(operation.atomic, old, _data64(wave, data, 0, lane), _data64(wave, data, 2, lane) if two else 0)
        else:
            fresh = atomic32(operation.atomic, <uint32_t>old, data_row(wave, data, 0)[lane], data_row(wave, data, 1)[lane] if two else 0)
        memcpy(host, &fresh, bytes)
    if instruction.decoded.destination_count:
        for dword in range(bytes // 4):
            data_row(wave, instruction.decoded.destination[0], dword)[lane] = <uint32_t>(old >> (32 * dword))
    put_residency(wave, instruction, machine.missing_texels, lane)
    return stop_running


cdef void _query_lane(Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view, uint32_t lane) noexcept nogil:
    """IMAGE_GET_RESINFO: width, height, depth or layers, levels; zeros for a level that the view does not have."""
    cdef uint32_t found[4]
    cdef uint32_t level = address_row(wave, instruction, 0)[lane]
    cdef uint32_t component
    cdef uint32_t position = 0
    memset(found, 0, sizeof(found))
    if o.narrow:
        level &= 0xffff
    if not view.empty:
        found[3] = view.last_level - view.first_level + 1
        if level < found[3]:
            found[0] = view.level[view.first_level + level].width
            found[1] = view.level[view.first_level + level].height
            found[2] = view.layers if view.type != image_3d else view.level[view.first_level + level].depth
            if view.type == image_1d_array:                 # layers take the place of the height
                found[1] = view.layers
    for component in range(4):
        if o.mask >> component & 1:
            put_data(wave, instruction, o, position, True, found[component], lane)
            position += 1
    put_residency(wave, instruction, 0, lane)


cdef int _image_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                     uint32_t lane) noexcept nogil:
    if o.flags & image_flag_atomic:
        return _atomic_lane(machine, wave, instruction, o, view, lane)
    if o.flags & image_flag_store:
        return _store_lane(machine, wave, instruction, o, view, lane)
    if instruction.decoded.opcode == op_image_get_resinfo:
        _query_lane(wave, instruction, o, view, lane)
        return stop_running
    if instruction.decoded.opcode == op_image_msaa_load:
        return _load_samples(machine, wave, instruction, o, view, lane)
    return _load_lane(machine, wave, instruction, o, view, lane)


cdef int _problem(Machine *machine, uint32_t number) noexcept nogil:
    machine.fault_bytes = number
    return stop_descriptor


cdef int _sample_lanes(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o,
                       const ImageView *view) noexcept nogil:
    """Results are written when all lanes have been read: derivatives are differences between lanes."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t words[sampler_words]
    cdef uint32_t result[max_lanes][4]
    cdef uint32_t missing[max_lanes]
    cdef uint32_t lane, i, component, position
    cdef const Sampler *sampler
    cdef int stop
    if instruction.decoded.source[1] == register_none:
        return stop_unsupported
    for i in range(<uint32_t>sampler_words):
        words[i] = read_scalar(wave, (instruction.decoded.source[1] >> 2) + i)
    sampler = find_sampler(machine.descriptors, words)
    if sampler == NULL or sampler.problem:
        return _problem(machine, sampler.problem) if sampler != NULL else stop_unsupported
    for lane in range(wave.lanes):
        if exec_mask >> lane & 1:
            machine.missing_texels = 0
            stop = sample_lane(machine, wave, instruction, o, view, sampler, lane, result[lane])
            missing[lane] = machine.missing_texels
            if stop != stop_running:
                return stop
    for lane in range(wave.lanes):
        if not exec_mask >> lane & 1:
            continue
        position = 0
        for component in range(4):
            if o.flags & image_flag_gather or o.mask >> component & 1:
                put_data(wave, instruction, o, position, view.format.integer, result[lane][component], lane)
                position += 1
        put_residency(wave, instruction, missing[lane], lane)
    return stop_running


cdef int execute_image(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t words[image_words]
    cdef uint32_t flags = opcode_image[instruction.decoded.opcode]
    cdef const ImageView *view
    cdef ImageOperands operands
    cdef uint32_t i, lane
    cdef int stop
    if modifier_r128(instruction.decoded.modifiers) or instruction.decoded.source_count < 4:
        return stop_unsupported
    for i in range(<uint32_t>image_words):
        words[i] = read_scalar(wave, (instruction.decoded.source[0] >> 2) + i)
    view = find_image(machine.descriptors, words)
    if view == NULL or view.problem:
        return _problem(machine, view.problem) if view != NULL else stop_unsupported
    if flags & (image_flag_store | image_flag_atomic) and view.format.kind[0] == texel_srgb:
        return stop_unsupported
    open_operands(&operands, instruction, view, machine.gfx_level)
    if flags & (image_flag_sample | image_flag_gather):
        return _sample_lanes(machine, wave, instruction, &operands, view)
    for lane in range(wave.lanes):
        if exec_mask >> lane & 1:
            machine.missing_texels = 0
            stop = _image_lane(machine, wave, instruction, &operands, view, lane)
            if stop != stop_running:
                return stop
    return stop_running
