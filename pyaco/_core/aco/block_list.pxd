"""The neighbours of a block in a CFG that is being edited: few, so that they mostly need no allocation of their own."""
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #include <vector>
    class BlockList {
        enum { most = 4 };
        uint32_t count = 0;
        uint32_t few[most];
        std::vector<uint32_t> many;     // all of them, where they are more
        uint32_t *data() { return count <= most ? few : many.data(); }
    public:
        size_t size() const { return count; }
        uint32_t &operator[](size_t k) { return data()[k]; }
        uint32_t back() { return data()[count - 1]; }
        void clear() { count = 0; }
        void pop_back() {
            if (--count == most)
                for (uint32_t k = 0; k < most; k++)
                    few[k] = many[k];
        }
        void push_back(uint32_t block) {
            if (count < most) {
                few[count++] = block;
                return;
            }
            if (count == most)
                many.assign(few, few + most);
            many.resize(count);         // some may have been taken away
            many.push_back(block);
            count++;
        }
    };
    """
    cdef cppclass BlockList:
        size_t size() noexcept nogil
        uint32_t &operator[](size_t) noexcept nogil
        uint32_t back() noexcept nogil
        void clear() noexcept nogil
        void pop_back() noexcept nogil
        void push_back(uint32_t) except + nogil
