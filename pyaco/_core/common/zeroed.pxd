"""Rows of scratch memory that begin as zero: what passes know of each value or block.

A ``vector`` writes its rows one by one, which on small shaders was a thirtieth of a compilation; here they are cleared at once, and those of many
pages come cleared from the system.
"""

cdef extern from *:
    """
    #ifndef PYACO_ZEROED
    #define PYACO_ZEROED
    #include <cstdlib>
    #include <cstring>
    #include <new>
    #include <type_traits>
    #include <utility>
    template <typename T>
    class Zeroed {
        static_assert(std::is_trivially_copyable_v<T>, "rows are cleared as bytes");
        enum { FRESH = 1 << 17 };       // bytes from which the system gives pages of their own
        T *rows = nullptr;
        std::size_t count = 0;
        void release() {
            if (count * sizeof(T) < FRESH)
                ::operator delete(rows);
            else
                std::free(rows);
        }
    public:
        Zeroed() = default;
        Zeroed(const Zeroed &) = delete;
        Zeroed &operator=(const Zeroed &) = delete;
        ~Zeroed() { release(); }
        void assign(std::size_t wanted) {
            release();
            rows = nullptr;
            count = 0;
            const std::size_t bytes = wanted * sizeof(T);
            if (bytes < FRESH) {
                rows = static_cast<T *>(std::memset(::operator new(bytes), 0, bytes));
            } else {
                rows = static_cast<T *>(std::calloc(bytes, 1));
                if (rows == nullptr)
                    throw std::bad_alloc();
            }
            count = wanted;
        }
        void swap(Zeroed &other) {
            std::swap(rows, other.rows);
            std::swap(count, other.count);
        }
        T &operator[](std::size_t row) { return rows[row]; }
        const T &operator[](std::size_t row) const { return rows[row]; }
        T *data() { return rows; }
        const T *data() const { return rows; }
        std::size_t size() const { return count; }
        bool empty() const { return count == 0; }
    };
    #endif
    """
    cdef cppclass Zeroed[T]:
        # So many rows of zero instead of those that there were; raises MemoryError.
        void assign(size_t count) except + nogil
        T &operator[](size_t row) noexcept nogil
        void swap(Zeroed[T] &other) noexcept nogil
        T *data() noexcept nogil
        size_t size() noexcept nogil
        bint empty() noexcept nogil
