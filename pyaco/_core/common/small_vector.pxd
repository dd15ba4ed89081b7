"""Vectors of plain rows whose first KiB stands inside them: the scratch data of passes, which on small shaders then costs no allocation.

A compilation of a small shader made some 400 vectors, and to take and free their memory was a tenth of its time. Not for what stands in vectors
itself, in objects of Python or in locals of functions that call themselves: each is larger than a KiB.
"""

cdef extern from *:
    """
    #ifndef PYACO_SMALL_VECTOR
    #define PYACO_SMALL_VECTOR
    #include <cstdint>
    #include <cstdlib>
    #include <cstring>
    #include <new>
    #include <type_traits>
    #include <utility>
    template <typename T>
    class SmallVector {
        static_assert(std::is_trivially_copyable_v<T>, "rows are moved as bytes");
    #ifdef __SANITIZE_ADDRESS__
        enum { OWN = 1 };               // rows: AddressSanitizer is to see what is read behind the last one
    #else
        enum { OWN = sizeof(T) < 1024 ? 1024 / sizeof(T) : 1 };
    #endif
        alignas(T) unsigned char own[OWN * sizeof(T)];
        T *rows = own_rows();
        std::size_t count = 0;
        std::size_t room = OWN;
        T *own_rows() { return reinterpret_cast<T *>(own); }
        bool is_own() const { return rows == reinterpret_cast<const T *>(own); }
        void release() {
            if (!is_own())
                std::free(rows);
        }
        [[gnu::noinline]] void grow(std::size_t wanted) {
            if (wanted < 2 * room)
                wanted = 2 * room;
            T *moved = wanted <= SIZE_MAX / sizeof(T) ? static_cast<T *>(std::realloc(is_own() ? nullptr : rows, wanted * sizeof(T))) : nullptr;
            if (moved == nullptr)
                throw std::bad_alloc();
            if (is_own())
                std::memcpy(moved, own, count * sizeof(T));
            rows = moved;
            room = wanted;
        }
        [[gnu::noinline]] void grow_with(const T &row) {
            const T added = row;        // which may stand in here
            grow(count + 1);
            rows[count++] = added;
        }
    public:
        SmallVector() {}
        SmallVector(const SmallVector &) = delete;
        SmallVector &operator=(const SmallVector &) = delete;
        ~SmallVector() { release(); }
        void reserve(std::size_t wanted) {
            if (wanted > room)
                grow(wanted);
        }
        void push_back(const T &row) {
            if (count == room)
                return grow_with(row);
            new (rows + count++) T(row);
        }
        void pop_back() { count--; }
        void clear() { count = 0; }
        void resize(std::size_t wanted) {
            reserve(wanted);
            if (wanted > count)
                std::memset(static_cast<void *>(rows + count), 0, (wanted - count) * sizeof(T));
            count = wanted;
        }
        void assign(std::size_t wanted, const T &row) {
            const T each = row;
            if (wanted > room) {
                count = 0;
                grow(wanted);
            }
            for (std::size_t k = 0; k < wanted; k++)
                rows[k] = each;
            count = wanted;
        }
        void swap(SmallVector &other) {
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
            std::swap(room, other.room);
            if (there)
                rows = own_rows();
            if (here)
                other.rows = other.own_rows();
        }
        T &operator[](std::size_t row) { return rows[row]; }
        const T &operator[](std::size_t row) const { return rows[row]; }
        T &back() { return rows[count - 1]; }
        const T &back() const { return rows[count - 1]; }
        T *data() { return rows; }
        const T *data() const { return rows; }
        T *begin() { return rows; }
        T *end() { return rows + count; }
        const T *begin() const { return rows; }
        const T *end() const { return rows + count; }
        std::size_t size() const { return count; }
        bool empty() const { return count == 0; }
    };
    #endif
    """
    # As `libcpp.vector`; new rows of `resize` hold zero. What grows raises MemoryError.
    cdef cppclass SmallVector[T]:
        void reserve(size_t count) except + nogil
        void push_back(const T &row) except + nogil
        void pop_back() noexcept nogil
        void clear() noexcept nogil
        void resize(size_t count) except + nogil
        void assign(size_t count, const T &row) except + nogil
        void swap(SmallVector[T] &other) noexcept nogil
        T &operator[](size_t row) noexcept nogil
        T &back() noexcept nogil
        T *data() noexcept nogil
        T *begin() noexcept nogil
        T *end() noexcept nogil
        size_t size() noexcept nogil
        bint empty() noexcept nogil
