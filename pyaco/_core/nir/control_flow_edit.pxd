"""Editing the tree of control flow: shared by the passes that remove, flatten or copy ifs and loops.

Between ``edit_begin`` and ``edit_end``, `contents[block]` holds the instructions of every block; nodes may be moved, merged and made. The end
writes the new order and repairs phis: sources from removed blocks disappear, a phi with one source becomes a mov after the
block's phis, one with none an undefined value.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport NodeId, ShaderData, ValueId

# Instructions of a block: rows of the order, which stays as it is until the end of the edit, or rows of their own once something is added. Most
# blocks are not touched.
cdef extern from *:
    """
    #ifndef PYACO_BLOCK_CONTENTS
    #define PYACO_BLOCK_CONTENTS
    #include <cstddef>
    #include <cstdint>
    #include <utility>
    #include <vector>
    class BlockContents {
        const std::uint32_t *rows = nullptr;
        std::uint32_t count = 0;
        std::vector<std::uint32_t> own;     // empty where `rows` are those of the order
        void take() {
            if (own.empty())
                own.assign(rows, rows + count);
        }
        void have_changed() {
            rows = own.data();
            count = static_cast<std::uint32_t>(own.size());
        }
    public:
        BlockContents() = default;
        BlockContents(BlockContents &&) = default;      // a copy would point into the original
        void stand_for(const std::uint32_t *first, std::uint32_t number) {
            rows = first;
            count = number;
        }
        bool stand_unchanged_for(const std::uint32_t *first, std::uint32_t number) const {
            return rows == first && count == number && own.empty();
        }
        std::uint32_t size() const { return count; }
        bool empty() const { return count == 0; }
        std::uint32_t operator[](std::size_t k) const { return rows[k]; }
        std::uint32_t back() const { return rows[count - 1]; }
        void push_back(std::uint32_t instruction) {
            take();
            own.push_back(instruction);
            have_changed();
        }
        void insert(std::size_t place, std::uint32_t instruction) {
            take();
            own.insert(own.begin() + static_cast<std::ptrdiff_t>(place), instruction);
            have_changed();
        }
        void append(const std::uint32_t *first, std::size_t number) {
            if (number == 0)
                return;
            take();
            own.insert(own.end(), first, first + number);
            have_changed();
        }
        void append(const BlockContents &other) { append(other.rows, other.count); }
        void pop_back() {
            if (!own.empty())
                own.pop_back();
            count--;
        }
        void clear() {
            own.clear();
            count = 0;
        }
        void swap(BlockContents &other) {
            std::swap(rows, other.rows);
            std::swap(count, other.count);
            own.swap(other.own);
        }
    };
    #endif
    """
    cdef cppclass BlockContents:
        void stand_for(const ValueId *first, uint32_t count) noexcept nogil
        bint stand_unchanged_for(const ValueId *first, uint32_t count) noexcept nogil
        uint32_t size() noexcept nogil
        bint empty() noexcept nogil
        ValueId operator[](size_t k) noexcept nogil
        ValueId back() noexcept nogil
        void push_back(ValueId instruction) except + nogil
        void insert(size_t place, ValueId instruction) except + nogil
        void append(const ValueId *first, size_t count) except + nogil
        void append(const BlockContents &other) except + nogil
        void pop_back() noexcept nogil
        void clear() noexcept nogil
        void swap(BlockContents &other) noexcept nogil

cdef struct ControlFlowEdit:
    ShaderData *shader
    vector[BlockContents] contents

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
