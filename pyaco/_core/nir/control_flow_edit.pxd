"""Editing the tree of control flow: shared by the passes that remove, flatten or copy ifs and loops.

Between ``edit_begin`` and ``edit_end``, `contents[block]` holds the instructions of every block; nodes may be moved, merged and made. The end
writes the new order and repairs phis: sources from removed blocks disappear, a phi with one source becomes a mov after the
block's phis, one with none an undefined value.
"""
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport NodeId, ShaderData, ValueId

cdef struct ControlFlowEdit:
    ShaderData *shader
    vector[vector[ValueId]] contents

cdef int edit_begin(ControlFlowEdit *edit, ShaderData *shader) except -1 nogil
cdef int edit_end(ControlFlowEdit *edit) except -1 nogil
# A new unlinked node; the blocks in it have contents too.
cdef NodeId edit_node_new(ControlFlowEdit *edit, int kind) except 0 nogil
# Merge a block into the block that follows it. The later block keeps its id, because phis refer to it.
cdef int edit_merge_forward(ControlFlowEdit *edit, NodeId block, NodeId following) except -1 nogil
# Replace an if or a loop by the nodes of one of its lists, merging at both ends. The list must fall through to what
# follows, or end with a jump, after which the rest of the parent's list is cut.
cdef int edit_splice(ControlFlowEdit *edit, NodeId node, NodeId list_first) except -1 nogil
# Turn the phis of a block into movs of their source from one predecessor.
cdef int edit_resolve_phis(ControlFlowEdit *edit, NodeId block, NodeId predecessor) except -1 nogil
# The jump that ends a block, 0 when it falls through.
cdef ValueId edit_jump_of(const ControlFlowEdit *edit, NodeId block) noexcept nogil
# Remove what follows a node in its list; the list's last block must end with a jump already.
cdef void edit_cut_after(ControlFlowEdit *edit, NodeId node) noexcept nogil
# A copy of an instruction, in no block yet, whose sources name the same values.
cdef ValueId edit_copy_instruction(ShaderData *s, ValueId instruction) except 0 nogil
# Turn an instruction that has a row for a source into a mov.
cdef void edit_become_mov(ShaderData *s, ValueId instruction, ValueId value) noexcept nogil
