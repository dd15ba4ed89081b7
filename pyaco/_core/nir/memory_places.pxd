"""Which memory a deref names, and whether two may be the same: shared by the passes that follow what is in memory.

A *place* is a chain of derefs by what it means: two derefs that name the same element by the same index value are one place, wherever they
stand. Its root is a variable, a pointer that came from elsewhere (a cast), or an element behind a pointer (``deref_ptr_as_array``). Roots of
one variable, of one binding, or of pointers that nobody knows are *kin*: they may overlap in any way.

A component of a vector that a constant picks is the place of the vector with the number of the component.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport index_access

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.shader cimport (
    NodeId, ShaderData, ValueId, access_atomic, access_coherent, access_restrict, access_volatile, intrinsic_index, mode_function_temp, mode_global,
    mode_shader_temp, mode_shared, mode_ssbo,
)

ctypedef uint32_t PlaceId         # row in Places.rows; 0 is none: not known, or not followed

cdef enum:
    mode_private = mode_function_temp | mode_shader_temp
    element_unknown = 0xffffffffffffffff
    mode_pointed = mode_ssbo | mode_global    # a physical address may point into a storage buffer that is not restrict
    mode_followed = mode_private | mode_shared | mode_pointed

cdef enum:                        # Place.step: how it is reached from its parent
    step_root = 0
    step_member = 1               # key: the member
    step_element = 2              # key: the index
    step_run_time = 3             # key: value << 4 | component of the index, plus `addend`

cdef struct Place:
    PlaceId parent
    PlaceId root
    uint8_t step
    uint32_t depth                # 0: a root
    uint64_t key
    uint64_t addend
    uint64_t kin                  # roots: what they are of
    uint64_t element              # roots that are buffers: which one of an array of bindings; element_unknown
    uint32_t mode

cdef struct Spot:                 # what an access reaches
    PlaceId place
    uint32_t component            # the first one, of the place

cdef struct Places:
    const ShaderData *s
    SmallVector[Place] rows
    Zeroed[uint32_t] of_deref     # by value: place << 4 | component
    SmallVector[PlaceId] found         # hash table of rows: linear probing, at most half full

cdef struct Effect:               # what an instruction reads or writes
    PlaceId place                 # 0: all that `modes` say
    uint32_t modes                # 0: nothing that is followed
    bint restricted

cdef enum MemoryEvent:            # Event.kind
    event_load = 0                # load_deref or store_deref of a place
    event_store = 1
    event_other = 2               # whatever else has the effect that a pass looks for
    event_jump = 3
    event_if = 4
    event_loop = 5
    event_end = 6                 # of an if or loop

cdef struct Event:
    uint32_t kind
    uint32_t number               # accesses and jumps: the instruction; others: row in MemoryEvents.constructs
    Spot spot                     # of loads and stores
    Effect effect                 # of accesses; `modes` are 0 where it is not what a pass looks for

cdef struct Construct:            # an if or loop, by rows of events
    uint32_t begin
    uint32_t otherwise            # of an if: the first row of its second list
    uint32_t end
    bint busy                     # an access or a loop stands in it

# What a walk over the shader's memory accesses meets, in program order. An if in which nothing stands is left out.
cdef struct MemoryEvents:
    SmallVector[Event] rows
    SmallVector[Construct] constructs

# Whether an intrinsic has the effect that a pass looks for.
ctypedef bint (*IsEffect)(const Places *p, ValueId intrinsic, Effect *effect) noexcept nogil

cdef int places_begin(Places *p, const ShaderData *s) except -1 nogil
# Whether the shader has loads or stores of what is followed: else there is nothing to find.
cdef bint places_are_accessed(const ShaderData *s) noexcept nogil
# Note what a deref names; its parent has been noted. Derefs of modes that are not followed have the place 0.
cdef int places_note(Places *p, ValueId deref) except -1 nogil
# Whether two places may overlap. `restricted`: of neither one's access may other bindings be the memory.
cdef bint places_may_overlap(const Places *p, PlaceId a, PlaceId b, bint restricted) noexcept nogil
# What memory an intrinsic may reach: that of its deref, what a barrier names, that of images, or all.
cdef void effect_of(const Places *p, ValueId intrinsic, Effect *effect) noexcept nogil
# Note all places, and the accesses of them with the effect that a pass looks for.
cdef int events_gather(MemoryEvents *events, Places *p, IsEffect is_effect) except -1 nogil
# Whether an effect may concern a place.
cdef bint effect_concerns(const Places *p, const Effect *effect, PlaceId place, bint restricted) noexcept nogil
# Remove instructions from the order: those whose row, by value, is not zero.
cdef int remove_accesses(ShaderData *s, const Zeroed[uint8_t] &removed) except -1 nogil
# What a deref names; it has been noted.
cdef inline Spot place_of(const Places *p, ValueId deref) noexcept nogil:
    return Spot(p.of_deref[deref] >> 4, p.of_deref[deref] & 15)

# Whether the list in some rows ends with a jump.
cdef inline bint events_end_with_jump(const MemoryEvents *events, uint32_t first, uint32_t end) noexcept nogil:
    return end > first and events.rows[end - 1].kind == event_jump

# Whether no other binding may be the memory of an access.
cdef inline bint access_is_restricted(const ShaderData *s, ValueId access) noexcept nogil:
    return intrinsic_index(s, access, index_access) & access_restrict != 0

# Whether an access must stay as it is.
cdef inline bint access_is_ordered(const ShaderData *s, ValueId access) noexcept nogil:
    return intrinsic_index(s, access, index_access) & (access_volatile | access_atomic) != 0

# Whether others may write what is read here, or read what is written here; when they do is said by barriers and atomics.
cdef inline bint access_is_coherent(const ShaderData *s, ValueId access) noexcept nogil:
    return intrinsic_index(s, access, index_access) & access_coherent != 0
