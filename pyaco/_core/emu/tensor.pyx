"""TENSOR_LOAD_TO_LDS and TENSOR_STORE_FROM_LDS: a tile of up to five dimensions, moved at once, whatever EXEC is.

The descriptor says where the tile begins in memory, how large it is, and how much of it lies within the tensor: beyond that loads give zeros and
stores are dropped. In LDS its elements follow each other, x first; loads may leave gaps there, which are not written. Instead of y, rows can be
named one by one (gather). Extents and strides count elements of 1, 2, 4 or 8 bytes.

A descriptor may iterate: the tile is moved several times, each time further on in memory and in LDS. And it may arrive at a barrier in LDS when all
is moved.

What is refused: loads for other workgroups of a cluster (``wave_sync``), tiles larger than any LDS, and iterations that leave the tensor, of which
one reading (rocjitsu's) has zeros and another (FlyDSL's, which iterates over what the descriptor has no dimension for) what lies there.

Sources: HIP's header ``amd_hip_gfx1250_TDM.h`` (the fields); AMD's "CDNA5" ISA document, 10.11, as programs for it quote it (addresses, bounds,
EXEC, that stores have no gaps, iteration, arrival); Triton's ``TDMUtility.cpp`` (what gaps' fields count, and that a count of 0 moves nothing);
rocjitsu's ``tensor_dma.h`` (gaps of iterations, no arrival where the count is 0).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from isa_opcodes cimport op_tensor_load_to_lds, op_tensor_store_from_lds
from pyaco._core.common.machine cimport register_none, register_null
from pyaco._core.emu.access cimport load_lds, note, store_lds, stray
from pyaco._core.emu.lds_barrier cimport after_arrival
from pyaco._core.emu.memory cimport canonical_address, memory_at
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport is_for_others

cdef enum:
    dimensions = 5
    descriptor_words = 20             # groups of 4, 8, 4 and 4
    type_of_tensors = 2
    most_bytes = 1 << 20              # of a tile: more than any LDS
    most_rows = 16                    # of a gather with indices of 16 bits
    most_iterations = 256
    flag_arrives = 1 << 18
    flag_iterates = 1 << 19

cdef struct Tensor:
    uint64_t address                  # of the tile in memory
    uint32_t lds                      # and in LDS
    uint32_t bytes                    # of an element
    uint32_t tile[dimensions]         # elements
    uint32_t bound[dimensions]        # of them within the tensor
    uint64_t stride[dimensions]       # elements
    uint32_t gap_every                # bytes; 0: no gaps
    uint32_t gap
    uint32_t rows                     # of a gather; 0: it is none
    uint32_t row[most_rows]
    uint32_t iterations
    uint64_t step                     # elements in memory from one to the next
    uint64_t lds_step                 # ... and in LDS


cdef uint32_t _read_words(const Wave *wave, const Instruction *instruction, uint32_t *words) noexcept nogil:
    """The descriptor, and how many of its groups there are; those that are missing are zeros."""
    cdef uint32_t[4] sizes = [4, 8, 4, 4]
    cdef uint32_t group, i
    cdef uint32_t place = 0
    cdef uint16_t source
    cdef uint32_t groups = 4
    for group in range(4):
        source = instruction.decoded.source[group] if group < instruction.decoded.source_count else <uint16_t>register_none
        for i in range(sizes[group]):
            if source == register_none or source == register_null:
                words[place + i] = 0
                groups = min(groups, group)
            else:
                words[place + i] = wave.sgpr[(source >> 2) + i]
        place += sizes[group]
    return groups


cdef inline uint32_t _straddling(const uint32_t *words, uint32_t first) noexcept nogil:
    """A field of 32 bits that begins in the upper half of a word."""
    return words[first] >> 16 | words[first + 1] << 16


cdef void _open_rows(Tensor *tensor, const uint32_t *words) noexcept nogil:
    """The rows of a gather, as many as the tile has."""
    cdef bint long_indices = words[0] >> 30 & 1 != 0
    cdef uint32_t i
    tensor.tile[1] = tensor.rows = min(tensor.tile[1], <uint32_t>(most_rows // 2 if long_indices else most_rows))
    for i in range(tensor.rows):
        tensor.row[i] = words[12 + i] if long_indices else (words[12 + i // 2] >> (16 * (i & 1))) & 0xffff


cdef void _open_outer(Tensor *tensor, const uint32_t *words) noexcept nogil:
    """The third dimension, and the others or the iteration, which takes their place."""
    cdef const uint32_t *shape = &words[4]
    tensor.tile[2] = shape[4] >> 16
    tensor.stride[2] = shape[6] >> 16 | (<uint64_t>shape[7] << 16)
    tensor.bound[2] = words[12]
    if shape[0] & flag_iterates:
        tensor.iterations = (words[15] >> 16) + 1
        tensor.lds_step = words[13]
        tensor.step = words[14] | (<uint64_t>(words[15] & 0xffff) << 32)
    else:
        tensor.bound[3] = words[13]
        tensor.tile[3] = words[15] >> 16
        tensor.stride[3] = words[14] | (<uint64_t>(words[15] & 0xffff) << 32)
    tensor.bound[4] = _straddling(words, 17)
    tensor.tile[4] = words[18] >> 16
    tensor.stride[4] = words[16] | (<uint64_t>(words[17] & 0xffff) << 32)


cdef bint _stays_inside(const Tensor *tensor) noexcept nogil:
    """Whether the tiles of all iterations but the first lie within the tensor, each dimension beyond all elements of those before it."""
    cdef uint64_t offset, origin
    cdef uint32_t i, number
    if tensor.stride[1] < tensor.bound[0] or (tensor.bound[2] > 1 and tensor.stride[2] < tensor.stride[1] * tensor.bound[1]):
        return False
    for number in range(1, tensor.iterations):
        offset = number * tensor.step
        for i in range(2, 0, -1):
            origin = offset // tensor.stride[i] if tensor.bound[i] > 1 else 0
            offset -= origin * tensor.stride[i]
            if origin + tensor.tile[i] > tensor.bound[i]:
                return False
        if offset + tensor.tile[0] > tensor.bound[0]:
            return False
    return True


cdef bint _open(Tensor *tensor, const uint32_t *words, uint32_t groups, bint loads) noexcept nogil:
    """Read the descriptor; False: it asks for what is not known."""
    cdef const uint32_t *shape = &words[4]
    cdef uint32_t flags = shape[0]
    cdef bint gathers = words[0] >> 31 != 0
    cdef uint64_t elements
    cdef uint32_t i
    memset(tensor, 0, sizeof(Tensor))
    if words[3] >> 30 != type_of_tensors or words[0] >> 30 == 1:
        return False
    tensor.lds = words[1]
    tensor.address = words[2] | (<uint64_t>(words[3] & 0x1ffffff) << 32)
    tensor.bytes = 1 << (flags >> 16 & 3)
    if loads and flags >> 20 & 1:
        tensor.gap_every = 4 << ((flags >> 22 & 7) + 1)
        tensor.gap = 4 * ((flags >> 25) + 1)
    tensor.bound[0] = _straddling(shape, 1)
    tensor.bound[1] = _straddling(shape, 2)
    tensor.tile[0] = shape[3] >> 16
    tensor.tile[1] = shape[4] & 0xffff
    tensor.stride[0] = tensor.iterations = 1
    tensor.stride[1] = shape[5] | (<uint64_t>(shape[6] & 0xffff) << 32)
    if gathers:
        _open_rows(tensor, words)
    else:
        _open_outer(tensor, words)
    if flags & flag_iterates and not gathers:
        if groups < 3 or tensor.iterations > most_iterations or tensor.tile[1] == 0 or tensor.tile[4]:
            return False
    elif groups < 4 and (gathers or tensor.tile[2]):
        return False
    elements = tensor.tile[0]
    for i in range(1, <uint32_t>dimensions):                # a dimension without extent is none
        if tensor.tile[i] == 0 and not (gathers and i == 1):
            tensor.tile[i] = tensor.bound[i] = 1
        elements *= tensor.tile[i]
        if elements > most_bytes:
            return False
    if tensor.iterations > 1 and tensor.step and tensor.tile[0] and not _stays_inside(tensor):
        return False
    return elements * tensor.bytes <= most_bytes


cdef void _move_run(Machine *machine, const Instruction *instruction, const Tensor *tensor, uint64_t position, uint32_t bytes, uint8_t *host,
                    bint loads) noexcept nogil:
    """Neighbouring elements that begin at the `position`-th byte of the tile; `host` NULL: zeros."""
    cdef uint64_t zeros = 0
    cdef uint64_t place
    cdef uint32_t done = 0
    cdef uint8_t *source
    while done < bytes:
        place = tensor.lds + position + done
        if tensor.gap_every:
            place += (position + done) // tensor.gap_every * tensor.gap
        note_lds_bounds(machine, instruction, place + tensor.bytes)
        note(machine.log, space_lds, access_kind_store if loads else access_kind_load, 0, place, tensor.bytes)
        if loads:
            source = host + done if host != NULL else <uint8_t *>&zeros
            store_lds(machine.lds, machine.lds_bytes, place, tensor.bytes, source)
        else:
            load_lds(machine.lds, machine.lds_bytes, place, tensor.bytes, host + done)
        done += tensor.bytes


cdef int _move_row(Machine *machine, const Instruction *instruction, const Tensor *tensor, uint64_t address, uint64_t position, uint32_t inside,
                   bint loads) noexcept nogil:
    """A row of the tile, of whose elements the first `inside` are within the tensor."""
    cdef uint32_t bytes = inside * tensor.bytes
    cdef uint8_t *host
    if inside:
        host = memory_at(machine.memory, address, bytes)
        if host == NULL:
            return stray(machine, 0, address, bytes, not loads)
        note(machine.log, space_global, access_kind_load if loads else access_kind_store, 0, canonical_address(address), bytes)
        _move_run(machine, instruction, tensor, position, bytes, host, loads)
    if loads:
        _move_run(machine, instruction, tensor, position + bytes, (tensor.tile[0] - inside) * tensor.bytes, NULL, loads)
    return stop_running


cdef int _move(Machine *machine, const Instruction *instruction, const Tensor *tensor, uint32_t iteration, bint loads) noexcept nogil:
    """All rows of the tile, in the order of LDS."""
    cdef uint32_t at[dimensions]
    cdef uint32_t i
    cdef uint64_t position = iteration * tensor.lds_step * tensor.bytes
    cdef uint64_t offset, row
    cdef bint inside
    cdef int stop = stop_running
    memset(at, 0, sizeof(at))
    while stop == stop_running:
        inside = True
        offset = iteration * tensor.step
        for i in range(1, <uint32_t>dimensions):
            row = tensor.row[at[1]] if i == 1 and tensor.rows else at[i]
            inside = inside and row < tensor.bound[i]
            offset += row * tensor.stride[i]
        stop = _move_row(machine, instruction, tensor, tensor.address + offset * tensor.bytes, position,
                         min(tensor.tile[0], tensor.bound[0]) if inside else 0, loads)
        position += <uint64_t>tensor.tile[0] * tensor.bytes
        i = 1
        while i < <uint32_t>dimensions:
            at[i] += 1
            if at[i] < tensor.tile[i]:
                break
            at[i] = 0
            i += 1
        if i == <uint32_t>dimensions:
            return stop
    return stop


cdef void _arrive(Machine *machine, const Instruction *instruction, uint32_t place) noexcept nogil:
    """One arrival at the barrier at `place` in LDS."""
    cdef uint64_t barrier
    note_lds_bounds(machine, instruction, place + 8)
    note(machine.log, space_lds, access_kind_atomic, 0, place, 8)
    load_lds(machine.lds, machine.lds_bytes, place, 8, <uint8_t *>&barrier)
    barrier = after_arrival(barrier, 1)
    store_lds(machine.lds, machine.lds_bytes, place, 8, <uint8_t *>&barrier)


cdef int _execute_tensor(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t words[descriptor_words]
    cdef Tensor tensor
    cdef bint loads = instruction.decoded.opcode == <int>op_tensor_load_to_lds
    cdef uint32_t groups = _read_words(wave, instruction, words)
    cdef uint32_t i
    cdef int stop = stop_running
    if words[0] & 3 == 0:
        return stop_running
    if not _open(&tensor, words, groups, loads) or (loads and is_for_others(wave, words[4])):
        return stop_unsupported
    for i in range(tensor.iterations):
        if stop == stop_running and tensor.tile[0] and tensor.tile[1]:
            stop = _move(machine, instruction, &tensor, i, loads)
    if stop == stop_running and words[4] & flag_arrives:
        _arrive(machine, instruction, (words[5] & 0xffff) << 3)
    return stop


cdef void fill_tensor(Handler *table) noexcept nogil:
    table[<int>op_tensor_load_to_lds] = _execute_tensor
    table[<int>op_tensor_store_from_lds] = _execute_tensor
