"""One texel: where it lies, and what it holds. The contract is in ``image_texel.pxd``."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from pyaco._core.emu.access cimport note, stray
from pyaco._core.emu.image_view cimport ImageLevel, ImageView, texel_address
from pyaco._core.emu.memory cimport memory_at, memory_is_reserved
from pyaco._core.emu.texels cimport load_block_texel, load_texel
from pyaco._core.emu.wave cimport Machine, access_kind_load, space_global, stop_running, stop_unsupported


cdef inline bint _is_inside(const ImageView *view, uint32_t level, uint32_t x, uint32_t y, uint32_t z, uint32_t sample) noexcept nogil:
    cdef const ImageLevel *found
    if view.empty or level < view.first_level or level > view.last_level:
        return False
    found = &view.level[level]
    return x < found.width and y < found.height and z < found.depth and sample < view.samples


cdef int reach_texel(Machine *machine, uint32_t lane, const ImageView *view, const Place *p, uint8_t access_kind, uint32_t bytes,
                     uint8_t **host) noexcept nogil:
    """Where a texel lies on the host; NULL: outside of the image, or in a page of a sparse image that is not mapped."""
    cdef uint64_t address
    host[0] = NULL
    if not _is_inside(view, p.level, p.x, p.y, p.z, p.sample):
        return stop_running
    if access_kind != access_kind_load and (view.format.in_blocks or view.format.mask_samples):
        return stop_unsupported
    if view.format.in_blocks:
        address = texel_address(view, &view.level[p.level], p.x / view.format.block.width, p.y / view.format.block.height, p.z, p.sample)
    else:
        address = texel_address(view, &view.level[p.level], p.x, p.y, p.z, p.sample)
    host[0] = memory_at(machine.memory, address, bytes)
    if host[0] == NULL:
        if memory_is_reserved(machine.memory, address):
            machine.missing_texels += 1
            return stop_running
        return stray(machine, lane, address, bytes, access_kind != access_kind_load)
    note(machine.log, space_global, access_kind, lane, address, bytes)
    return stop_running


cdef int fetch_texel(Machine *machine, uint32_t lane, const ImageView *view, uint32_t level, uint32_t x, uint32_t y, uint32_t z,
                     uint32_t sample, uint32_t *texel) noexcept nogil:
    cdef Place place
    cdef uint8_t *host
    cdef int stop
    place.level, place.x, place.y, place.z, place.sample = level, x, y, z, sample
    stop = reach_texel(machine, lane, view, &place, access_kind_load, view.format.bytes, &host)
    if stop != stop_running or host == NULL:
        memset(texel, 0, 16)
        return stop
    if view.format.in_blocks:
        load_block_texel(&view.format, host, x % view.format.block.width, y % view.format.block.height, texel)
    else:
        load_texel(&view.format, host, texel)
    return stop_running
