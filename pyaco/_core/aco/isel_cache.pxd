"""Cache policy and ordering of vector memory operations, from the access qualifiers of NIR.

Sources: AMD ISA documents (GLC, SLC, DLC; scope and temporal hint of RDNA 4); what Mesa's ``ac_get_hw_cache_flags`` makes of qualifiers.
"""
from libc.stdint cimport uint32_t, uint64_t

from modifiers cimport (
    modifier_set_cache_dlc, modifier_set_cache_glc, modifier_set_cache_scope, modifier_set_cache_slc, modifier_set_cache_temporal_hint,
)
from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.program cimport gfx10, gfx11, gfx12, semantic_can_reorder, semantic_private, semantic_volatile
from pyaco._core.ir.shader cimport access_can_reorder, access_coherent, access_non_readable, access_non_temporal, access_volatile

cdef enum:
    scope_of_device = 2           # GFX12: coherent for all of the device
    hint_atomic_return = 1        # GFX12: an atomic gives back the old value
    hint_near_non_temporal = 4    # GFX12: the near caches need not keep it, the last one may

cdef inline uint32_t access_semantics(uint32_t access) noexcept nogil:
    cdef uint32_t semantics = 0
    if access & access_volatile:
        semantics |= semantic_volatile
    if access & access_can_reorder:
        semantics |= semantic_can_reorder | semantic_private
    return semantics

cdef inline uint64_t cache_policy_gfx12(uint64_t word, uint32_t access) noexcept nogil:
    cdef bint coherent = (access & (access_coherent | access_volatile)) != 0
    if access & access_non_temporal:
        word = modifier_set_cache_temporal_hint(word, hint_near_non_temporal)
    return modifier_set_cache_scope(word, scope_of_device if coherent else 0)

# Coherent loads miss the caches of the compute unit (glc; on GFX10 dlc for the shader array's too).
cdef inline uint64_t load_cache(Isel *c, uint64_t word, uint32_t access) noexcept nogil:
    cdef bint coherent = (access & (access_coherent | access_volatile)) != 0
    if c.gfx >= gfx12:
        return cache_policy_gfx12(word, access)
    word = modifier_set_cache_glc(word, coherent)
    if coherent and gfx10 <= c.gfx < gfx11:
        word = modifier_set_cache_dlc(word, 1)
    return modifier_set_cache_slc(word, (access & access_non_temporal) != 0)

cdef inline uint64_t store_cache(Isel *c, uint64_t word, uint32_t access) noexcept nogil:
    cdef bint coherent = (access & (access_coherent | access_volatile)) != 0
    if c.gfx >= gfx12:
        return cache_policy_gfx12(word, access)
    if c.gfx < gfx11:
        word = modifier_set_cache_glc(word, coherent or (access & access_non_readable) != 0)
    return modifier_set_cache_slc(word, (access & access_non_temporal) != 0)

# The policy of an atomic also says whether the old value is returned.
cdef inline uint64_t atomic_cache(Isel *c, uint64_t word, bint returns) noexcept nogil:
    if c.gfx >= gfx12:
        return modifier_set_cache_temporal_hint(modifier_set_cache_scope(word, scope_of_device), hint_atomic_return if returns else 0)
    return modifier_set_cache_glc(word, returns)
