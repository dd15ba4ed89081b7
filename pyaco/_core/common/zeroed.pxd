"""Rows of scratch memory that begin as zero: what passes know of each value or block.

A ``vector`` writes its rows one by one, which on small shaders was a thirtieth of a compilation; here they are cleared at once, and those of many
pages come cleared from the system. The first KiB stands inside, as in a `SmallVector`, and for the same reason.
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
    #ifdef __SANITIZE_ADDRESS__
        enum { OWN = 1 };               // rows: AddressSanitizer is to see what is read behind the last one
    #else
        enum { OWN = sizeof(T) < 1024 ? 1024 / sizeof(T) : 1 };
    #endif
        alignas(T) unsigned char own[OWN * sizeof(T)];
        T *rows = own_rows();
        std::size_t count = 0;
        T *own_rows() { return reinterpret_cast<T *>(own); }
        bool is_own() const { return rows == reinterpret_cast<const T *>(own); }
        void release() {
            if (!is_own())
                std::free(rows);
        }
    public:
        Zeroed() {}
        Zeroed(const Zeroed &) = delete;
        Zeroed &operator=(const Zeroed &) = delete;
        ~Zeroed() { release(); }
        void assign(std::size_t wanted) {
            const std::size_t bytes = wanted * sizeof(T);
            release();
            rows = own_rows();
            count = 0;
            if (wanted > OWN) {
                void *memory = bytes < FRESH ? std::malloc(bytes) : std::calloc(wanted, sizeof(T));
                if (memory == nullptr)
                    throw std::bad_alloc();
                rows = static_cast<T *>(memory);
            }
            if (bytes < FRESH)
                std::memset(static_cast<void *>(rows), 0, bytes);
            count = wanted;
        }
        void swap(Zeroed &other) {
            const bool here = is_own(), there = other.is_own();
            unsigned char kept[sizeof(own)];
            if (here)
                std::memcpy(kept, own, count * sizeof(T));
            if (there)
                std::memcpy(own, other.own, other.count * sizeof(T));
            if (here)
                std::memcpy(other.own, kept, count * sizeof(T));
            std::swap(rows, other.rows);
            std::swap(count, other.count);
            if (there)
                rows = own_rows();
            if (here)
                other.rows = other.own_rows();
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
