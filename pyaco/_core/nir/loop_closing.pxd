"""Values of a loop that are used after it, for passes that change how often or where a loop is left."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.shader cimport NodeId, ShaderData, SourceRow, ValueId
from pyaco._core.nir.control_flow_edit cimport ControlFlowEdit

cdef struct Use:                  # outside of the loop that defines the value
    NodeId place                  # the block where the value is needed
    NodeId user                   # the if whose condition it is, or 0
    SourceRow row                 # or a source
    uint32_t next                 # of the same value, 0 none

cdef struct Uses:
    Zeroed[NodeId] loop           # by value: the innermost loop that it is in, 0 none
    Zeroed[uint32_t] first        # by value: in `list`, 0 none
    vector[Use] list

# All uses outside of the loop of what they use. Phis use what they name at the end of the predecessor.
cdef int uses_find(Uses *uses, const ShaderData *s) except -1 nogil
# Whether a node is in a loop.
cdef bint is_in_loop(const ShaderData *s, NodeId node, NodeId loop) noexcept nogil
# Let a value of a loop reach its uses outside through a phi of the block after it; `leaving` are the blocks whose breaks leave the loop.
cdef int close_value(ControlFlowEdit *edit, const Uses *uses, NodeId loop, const vector[NodeId] &leaving, ValueId value) except -1 nogil
