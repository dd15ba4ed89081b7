// Steps that hand their result on in registers of the host: the step that follows in a chain takes it from there, not from the row in memory, and
// what nothing else reads is not stored. Each is compiled for which of its sources come that way, whether it stores, and for both sizes of waves.
//
// The result travels in the vector arguments of the step's function. A step that is not in the chain does not look at them; a step whose sources are
// handed on stands right behind the one that makes them. All lanes of a wave are computed; only active ones are stored, and only their NaNs count.
// A NaN runs the plain step of the operation, between a store of what was handed on and a load of the result. Operations on singles are for waves
// that flush denormals, minima and maxima for those that are not in IEEE mode: blocks are made for such bits of MODE.
#pragma once
#include "host.h"
#include <utility>

enum {
    chain_none, chain_add, chain_subtract, chain_subtract_from, chain_multiply, chain_multiply_add, chain_multiply_last_add, chain_root,
    chain_reciprocal, chain_floor, chain_ceiling, chain_truncate, chain_round, chain_minimum, chain_maximum, chain_minimum3, chain_maximum3,
    chain_change, chain_move, chain_select, chain_single_of_unsigned, chain_single_of_signed, chain_not, chain_and, chain_or, chain_xor,
    chain_and_or, chain_or3, chain_xor3, chain_bit_select, chain_add_words, chain_subtract_words, chain_subtract_words_from, chain_add3,
    chain_multiply_words, chain_minimum_unsigned, chain_maximum_unsigned, chain_minimum_signed, chain_maximum_signed, chain_shift_left,
    chain_shift_right, chain_shift_right_signed, chain_shift_left_add, chain_shift_left_or, chain_add_shift_left, chain_xor_add, chain_align_bits,
    chain_square, chain_square_add, chain_scale_add_first, chain_scale_add, chain_shift_by_add, chain_add_magnitude, chain_multiply_subtract, chain_subtract_product, chain_extract_bits,
    chain_multiply24, chain_multiply24_add,
    chain_compare, chain_compare_signed = chain_compare + 32, chain_compare_unsigned = chain_compare_signed + 8,
    chain_last = chain_compare_unsigned + 8
};
// Besides a bit for each source that is handed on. A single that is not stored is handed on with its denormals where the next step takes these for
// zeros. Of a uniform source (the first of two, the last of three) one lane is loaded for all: loads and stores are what bounds most steps. Fused products
// that are scaled, and sums with what is shifted, have kinds of their own, in which the factor, or the shift, is uniform.
enum { chain_stores = 8, chain_wave32 = 16, chain_flushes = 32, chain_uniform = 64, chain_forms = 128 };

// By System V's convention the arguments are registers, whether the function that is called has them or not.
// Kernels with sanitizers go without: their compiler would take minutes for each of the two modules.
#if defined(__AVX2__) && !defined(_WIN32) && !defined(__SANITIZE_ADDRESS__)
enum { chain_supported = 1 };
#if defined(__AVX512F__)
typedef __m512 Singles;
enum { part_lanes = 16 };
static ALWAYS_INLINE Singles part_load(const uint32_t *row) { return _mm512_loadu_ps(row); }
static ALWAYS_INLINE Singles part_all(uint32_t value) { return _mm512_castsi512_ps(_mm512_set1_epi32((int)value)); }
static ALWAYS_INLINE void part_store(uint32_t *row, Singles value) { _mm512_storeu_ps(row, value); }
static ALWAYS_INLINE void part_blend(uint32_t *row, Singles value, uint32_t active, const uint32_t *) {
    _mm512_storeu_ps(row, _mm512_mask_blend_ps((__mmask16)active, _mm512_castsi512_ps(loaded_words(row)), value));
}
template <unsigned parts> static ALWAYS_INLINE bool any_unordered(const Singles *values) {
    const __mmask16 found = _mm512_cmp_ps_mask(values[0], values[1], _CMP_UNORD_Q);
    return !_kortestz_mask16_u8(found, parts > 2 ? _mm512_cmp_ps_mask(values[2], values[parts - 1], _CMP_UNORD_Q) : found);
}
template <int predicate> static ALWAYS_INLINE uint32_t compare_singles(Singles a, Singles b) { return _mm512_cmp_ps_mask(a, b, predicate); }
static ALWAYS_INLINE Singles multiply_add(Singles a, Singles b, Singles c) { return _mm512_fmadd_ps(a, b, c); }
static ALWAYS_INLINE Singles root(Singles a) { return _mm512_sqrt_ps(a); }
template <int direction> static ALWAYS_INLINE Singles rounded(Singles a) { return _mm512_roundscale_ps(a, direction | _MM_FROUND_NO_EXC); }
static ALWAYS_INLINE Singles selected(Singles a, Singles b, uint32_t lanes) { return _mm512_mask_blend_ps((__mmask16)lanes, a, b); }
template <int predicate, bool is_signed> static ALWAYS_INLINE uint32_t compare_words(Singles a, Singles b) {
    const __m512i left = _mm512_castps_si512(a), right = _mm512_castps_si512(b);
    return is_signed ? _mm512_cmp_epi32_mask(left, right, predicate) : _mm512_cmp_epu32_mask(left, right, predicate);
}
// The number where the other is a NaN, and -0 < +0, as the operations have it; a NaN that signals gives a NaN.
static ALWAYS_INLINE Singles minimum(Singles a, Singles b) { return _mm512_range_ps(a, b, 4); }
static ALWAYS_INLINE Singles maximum(Singles a, Singles b) { return _mm512_range_ps(a, b, 5); }
static ALWAYS_INLINE Singles unless_nan(Singles a, Singles b) { return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a); }
#else
typedef __m256 Singles;
enum { part_lanes = 8 };
static ALWAYS_INLINE Singles part_load(const uint32_t *row) { return _mm256_loadu_ps((const float *)row); }
static ALWAYS_INLINE Singles part_all(uint32_t value) { return _mm256_castsi256_ps(_mm256_set1_epi32((int)value)); }
static ALWAYS_INLINE void part_store(uint32_t *row, Singles value) { _mm256_storeu_ps((float *)row, value); }
static ALWAYS_INLINE void part_blend(uint32_t *row, Singles value, uint32_t, const uint32_t *mask) {
    part_store(row, _mm256_blendv_ps(part_load(row), value, part_load(mask)));
}
template <unsigned parts> static ALWAYS_INLINE bool any_unordered(const Singles *values) {
    Singles found = _mm256_cmp_ps(values[0], values[1], _CMP_UNORD_Q);
    for (unsigned part = 2; part < parts; part += 2)
        found = _mm256_or_ps(found, _mm256_cmp_ps(values[part], values[part + 1], _CMP_UNORD_Q));
    return _mm256_movemask_ps(found) != 0;
}
template <int predicate> static ALWAYS_INLINE uint32_t compare_singles(Singles a, Singles b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, predicate));
}
static ALWAYS_INLINE Singles multiply_add(Singles a, Singles b, Singles c) { return _mm256_fmadd_ps(a, b, c); }
static ALWAYS_INLINE Singles root(Singles a) { return _mm256_sqrt_ps(a); }
template <int direction> static ALWAYS_INLINE Singles rounded(Singles a) { return _mm256_round_ps(a, direction | _MM_FROUND_NO_EXC); }
static ALWAYS_INLINE Singles selected(Singles a, Singles b, uint32_t lanes) {
    const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), some = _mm256_and_si256(_mm256_set1_epi32((int)lanes), own);
    return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_cmpeq_epi32(some, own)));
}
template <int predicate, bool is_signed> static ALWAYS_INLINE uint32_t compare_words(Singles a, Singles b) {
    const __m256i bias = _mm256_set1_epi32(is_signed ? 0 : (int)0x80000000);
    const __m256i left = _mm256_xor_si256(_mm256_castps_si256(a), bias), right = _mm256_xor_si256(_mm256_castps_si256(b), bias);
    const __m256i found = (predicate & 3) == 0 ? _mm256_cmpeq_epi32(left, right)
                        : (predicate & 3) == 1 ? _mm256_cmpgt_epi32(right, left) : _mm256_cmpgt_epi32(left, right);
    const uint32_t lanes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(found));
    return predicate == 2 || predicate == 4 || predicate == 5 ? ~lanes & 0xff : lanes;           // less or equal is not greater
}
static ALWAYS_INLINE Singles minimum(Singles a, Singles b) {
    const Singles smaller = _mm256_min_ps(a, b);                                                        // b where one is a NaN or both are equal
    const Singles nan = _mm256_cmp_ps(b, b, _CMP_UNORD_Q), same = _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
    return _mm256_or_ps(_mm256_andnot_ps(nan, smaller), _mm256_and_ps(a, _mm256_or_ps(nan, same)));
}
static ALWAYS_INLINE Singles maximum(Singles a, Singles b) {
    const Singles larger = _mm256_max_ps(a, b);
    const Singles nan = _mm256_cmp_ps(b, b, _CMP_UNORD_Q), differs = _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
    return _mm256_and_ps(_mm256_blendv_ps(larger, a, nan), _mm256_or_ps(a, differs));
}
static ALWAYS_INLINE Singles unless_nan(Singles, Singles b) { return b; }
#endif

typedef uint32_t Unsigned __attribute__((vector_size(4 * part_lanes)));
typedef int32_t Signed __attribute__((vector_size(4 * part_lanes)));

// Denormals become zeros of their sign, which the host takes them for: by a product where the operation was a sum, by a sum where it was a product,
// since the host has units for each. The compiler must not know the constant, or it would leave the operation out.
static ALWAYS_INLINE Singles hidden(uint32_t value) {
    Singles constant = part_all(value);
    __asm__("" : "+v"(constant));
    return constant;
}
static ALWAYS_INLINE Singles flush_by_product(Singles a) { return a * hidden(0x3f800000); }
static ALWAYS_INLINE Singles flush_by_sum(Singles a) { return a + hidden(0x80000000); }

enum ChainResult { words, singles };

template <unsigned count, ChainResult kind> struct ChainOperation {
    static constexpr unsigned sources = count, uniform = count > 2 ? 2 : 0, factor = 3;         // factor: the source that is always uniform; 3: none
    static constexpr bool is_single = kind == singles;
};
// What each computes, as the table of semantics has it, of the sources a, b, c.
#define CHAIN_OPERATION(name, count, kind, Type, ...)                                                                                      \
    struct name : ChainOperation<count, kind> {                                                                                            \
        template <class Core, class Step>                                                                                                  \
        static ALWAYS_INLINE Singles of(const Core *core, const Step *step, unsigned lane, Singles a1, Singles b1, Singles c1) {           \
            const Type a = (Type)a1, b = (Type)b1, c = (Type)c1;                                                                           \
            (void)core, (void)step, (void)lane, (void)a, (void)b, (void)c;                                                                 \
            return (Singles)(__VA_ARGS__);                                                                                                 \
        }                                                                                                                                  \
    }
CHAIN_OPERATION(ChainAdd, 2, singles, Singles, a + b);
CHAIN_OPERATION(ChainSubtract, 2, singles, Singles, a - b);
CHAIN_OPERATION(ChainSubtractFrom, 2, singles, Singles, b - a);
CHAIN_OPERATION(ChainProduct, 2, singles, Singles, a * b);
CHAIN_OPERATION(ChainProductSum, 3, singles, Singles, multiply_add(a, b, c));
CHAIN_OPERATION(ChainProductLastSum, 3, singles, Singles, multiply_add(a, c, b));
CHAIN_OPERATION(ChainSquare, 2, singles, Singles, a * a);
CHAIN_OPERATION(ChainSquareSum, 3, singles, Singles, multiply_add(a, a, c));
struct ChainFirstScaledSum : ChainProductSum { static constexpr unsigned factor = 0; };
struct ChainScaledSum : ChainProductSum { static constexpr unsigned factor = 1; };
CHAIN_OPERATION(ChainAddMagnitude, 2, singles, Unsigned, (Singles)a + (Singles)(b & 0x7fffffff));
CHAIN_OPERATION(ChainProductDifference, 3, singles, Singles, multiply_add(a, b, -c));
CHAIN_OPERATION(ChainSubtractProduct, 3, singles, Singles, multiply_add(-a, b, c));
CHAIN_OPERATION(ChainRoot, 1, singles, Singles, root(a));
CHAIN_OPERATION(ChainReciprocal, 1, singles, Singles, part_all(0x3f800000) / a);
CHAIN_OPERATION(ChainFloor, 1, singles, Singles, rounded<_MM_FROUND_TO_NEG_INF>(a));
CHAIN_OPERATION(ChainCeiling, 1, singles, Singles, rounded<_MM_FROUND_TO_POS_INF>(a));
CHAIN_OPERATION(ChainTruncate, 1, singles, Singles, rounded<_MM_FROUND_TO_ZERO>(a));
CHAIN_OPERATION(ChainRound, 1, singles, Singles, rounded<_MM_FROUND_TO_NEAREST_INT>(a));
CHAIN_OPERATION(ChainMinimum, 2, singles, Singles, minimum(a, b));
CHAIN_OPERATION(ChainMaximum, 2, singles, Singles, maximum(a, b));
CHAIN_OPERATION(ChainMinimum3, 3, singles, Singles, unless_nan(minimum(a, b), minimum(minimum(a, b), c)));
CHAIN_OPERATION(ChainMaximum3, 3, singles, Singles, unless_nan(maximum(a, b), maximum(maximum(a, b), c)));
CHAIN_OPERATION(ChainChange, 1, words, Unsigned, (a & step->rest->change.keep) ^ step->rest->change.flip);
CHAIN_OPERATION(ChainMove, 1, words, Unsigned, a);
CHAIN_OPERATION(ChainSelect, 2, words, Singles, selected(a, b, core->wave->sgpr[step->mask_source + lane / 32] >> lane % 32));
CHAIN_OPERATION(ChainSingleOfUnsigned, 1, words, Unsigned, __builtin_convertvector(a, Singles));
CHAIN_OPERATION(ChainSingleOfSigned, 1, words, Signed, __builtin_convertvector(a, Singles));
CHAIN_OPERATION(ChainNot, 1, words, Unsigned, ~a);
CHAIN_OPERATION(ChainAnd, 2, words, Unsigned, a & b);
CHAIN_OPERATION(ChainOr, 2, words, Unsigned, a | b);
CHAIN_OPERATION(ChainXor, 2, words, Unsigned, a ^ b);
CHAIN_OPERATION(ChainAndOr, 3, words, Unsigned, (a & b) | c);
CHAIN_OPERATION(ChainOr3, 3, words, Unsigned, a | b | c);
CHAIN_OPERATION(ChainXor3, 3, words, Unsigned, a ^ b ^ c);
CHAIN_OPERATION(ChainBitSelect, 3, words, Unsigned, (a & b) | (~a & c));
CHAIN_OPERATION(ChainAddWords, 2, words, Unsigned, a + b);
CHAIN_OPERATION(ChainSubtractWords, 2, words, Unsigned, a - b);
CHAIN_OPERATION(ChainSubtractWordsFrom, 2, words, Unsigned, b - a);
CHAIN_OPERATION(ChainAdd3, 3, words, Unsigned, a + b + c);
CHAIN_OPERATION(ChainMultiplyWords, 2, words, Unsigned, a * b);
CHAIN_OPERATION(ChainMinimumUnsigned, 2, words, Unsigned, a < b ? a : b);
CHAIN_OPERATION(ChainMaximumUnsigned, 2, words, Unsigned, a > b ? a : b);
CHAIN_OPERATION(ChainMinimumSigned, 2, words, Signed, a < b ? a : b);
CHAIN_OPERATION(ChainMaximumSigned, 2, words, Signed, a > b ? a : b);
CHAIN_OPERATION(ChainShiftLeft, 2, words, Unsigned, b << (a & 31));
CHAIN_OPERATION(ChainShiftRight, 2, words, Unsigned, b >> (a & 31));
CHAIN_OPERATION(ChainShiftRightSigned, 2, words, Signed, b >> (a & 31));
CHAIN_OPERATION(ChainShiftLeftAdd, 3, words, Unsigned, (a << (b & 31)) + c);
struct ChainShiftByAdd : ChainShiftLeftAdd { static constexpr unsigned factor = 1; };
CHAIN_OPERATION(ChainShiftLeftOr, 3, words, Unsigned, (a << (b & 31)) | c);
CHAIN_OPERATION(ChainAddShiftLeft, 3, words, Unsigned, (a + b) << (c & 31));
CHAIN_OPERATION(ChainXorAdd, 3, words, Unsigned, (a ^ b) + c);
CHAIN_OPERATION(ChainExtractBits, 3, words, Unsigned, (a >> (b & 31)) & ((((Unsigned){} + 1) << (c & 31)) - 1));
CHAIN_OPERATION(ChainMultiply24, 2, words, Unsigned, (a & 0xffffff) * (b & 0xffffff));
CHAIN_OPERATION(ChainMultiply24Add, 3, words, Unsigned, (a & 0xffffff) * (b & 0xffffff) + c);
CHAIN_OPERATION(ChainAlignBits, 3, words, Unsigned, b >> (c & 31) | a << 1 << (31 - (c & 31)));
#undef CHAIN_OPERATION

template <class Operation> static constexpr bool chain_is_square = false;
template <> constexpr bool chain_is_square<ChainSquare> = true;
template <> constexpr bool chain_is_square<ChainSquareSum> = true;

template <class Operation> struct ChainFlush { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_product(a); } };
template <> struct ChainFlush<ChainProduct> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainProductSum> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainFirstScaledSum> : ChainFlush<ChainProductSum> {};
template <> struct ChainFlush<ChainScaledSum> : ChainFlush<ChainProductSum> {};
template <> struct ChainFlush<ChainProductDifference> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainSubtractProduct> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainSquare> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainSquareSum> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };
template <> struct ChainFlush<ChainProductLastSum> { static ALWAYS_INLINE Singles of(Singles a) { return flush_by_sum(a); } };

// ---------------------------------------------------------------------------------------------------------------------------------- parts of a step
template <class Core, class Step> static ALWAYS_INLINE const uint32_t *chain_source(const Core *core, const Step *step, unsigned slot) {
    return (const uint32_t *)(core->base[step->base[slot]] + step->offset[slot]);
}

template <class Core, class Step> static ALWAYS_INLINE uint32_t *chain_destination(const Core *core, const Step *step) {
    return (uint32_t *)(core->base[step->destination_base] + step->destination);
}

// Its lanes are those from the first on that the step is for: of a wave64 with one idle half, the binder makes steps of 32 lanes for the other.
template <class Step> static ALWAYS_INLINE unsigned chain_first_lane(const Step *step) { return step->sgpr; }

// Store a step's result. What lies in the pool has no lanes to keep.
template <unsigned parts, class Core, class Step> static ALWAYS_INLINE void chain_put(const Core *core, const Step *step, const Singles *values) {
    uint32_t *const row = chain_destination(core, step);
    if (!core->partial[step->destination_base]) {
        for (unsigned part = 0; part < parts; ++part)
            part_store(row + part_lanes * part, values[part]);
        return;
    }
    if (core->active == 0)                                  // lane_mask may hold what EXEC was before
        return;
    const unsigned first = chain_first_lane(step);
    const uint64_t active = core->active >> first;
    const auto store_first = [=](unsigned count) __attribute__((always_inline)) {
        for (unsigned part = 0; part < count; ++part)
            part_store(row + part_lanes * part, values[part]);
    };
    if (parts * part_lanes == 32 && (uint32_t)active == 0xffffffff)
        return store_first(parts);
    if (parts * part_lanes == 32 && (uint32_t)active == 0xffff)             // a workgroup of so many
        return store_first(parts / 2);
    for (unsigned part = 0; part < parts; ++part)
        part_blend(row + part_lanes * part, values[part], (uint32_t)(active >> (part_lanes * part)), core->lane_mask + first + part_lanes * part);
}

// The compiler must not know that the address is a sum, or it would load the function before it adds.
template <class Core, class Step, class... Parts, size_t... part>
static ALWAYS_INLINE int chain_go_on(Core *core, const Step *step, const Singles *values, std::index_sequence<part...>, Parts...) {
    ++step;
    __asm__("" : "+r"(step));
    return reinterpret_cast<int (*)(Core *, const Step *, Parts...)>(step->function)(core, step, values[part]...);
}

template <unsigned parts, class Core, class Step>
static ALWAYS_INLINE bool chain_finds_nan(const Core *core, const Step *step, const Singles *values) {
    if (__builtin_expect(!any_unordered<parts>(values), 1))
        return false;
    const uint64_t lanes = core->active >> chain_first_lane(step);
    uint32_t active = 0;
    for (unsigned part = 0; part < parts; ++part)
        active |= compare_singles<_CMP_UNORD_Q>(values[part], values[part]) & (uint32_t)(lanes >> (part_lanes * part));
    return active != 0;
}

// Whether the step stores its result.
template <class Step> static ALWAYS_INLINE bool chain_is_stored(const Step *step) { return step->wide_address != 0; }

template <class Core, class Step> static int chain_return(Core *, const Step *) { return 0; }

// Changes the sign of a source for the plain step, of a step that does so itself (`_fold_signs`): in a row of the pool, which is `core->base[1]`.
template <class Core, class Step> static void chain_change_source(Core *core, const Step *step, Step *plain) {
    const uint32_t *const row = chain_source(core, plain, step->allocation);
    for (unsigned lane = 0; lane < 64; ++lane)
        ((uint32_t *)(core->base[1] + step->immediate))[lane] = (row[lane] & step->rest->change.keep) ^ step->rest->change.flip;
    plain->base[step->allocation] = 1;
    plain->offset[step->allocation] = step->immediate;
}

// The plain step, by itself, which is for all lanes.
template <class Core, class Step, class... Parts>
static __attribute__((noinline, cold)) int chain_plainly(Core *core, const Step *step, bool takes, Parts... handed) {
    Singles values[] = {handed...};
    if (takes && !chain_is_stored(step - 1))
        chain_put<sizeof...(Parts)>(core, step - 1, values);
    Step alone[2] = {*step, *step};
    const unsigned first = chain_first_lane(step);
    for (unsigned slot = 0; slot < 3; ++slot)
        alone[0].offset[slot] -= 4 * first;
    alone[0].destination -= 4 * first;
    alone[0].mask_source -= first / 32;
    if (step->immediate != 0)
        chain_change_source(core, step, alone);
    alone[0].function = step->rest->plain;
    alone[1].function = chain_return<Core, Step>;
    const int stop = alone[0].function(core, alone);
    if (stop != 0)
        return stop;
    for (unsigned part = 0; part < sizeof...(Parts); ++part)
        values[part] = part_load(chain_destination(core, step) + part_lanes * part);
    return chain_go_on(core, step, values, std::index_sequence_for<Parts...>(), handed...);
}

template <class Operation, unsigned form, class Core, class Step, class... Parts>
static int chain_step(Core *core, const Step *step, Parts... handed) {
    constexpr unsigned parts = sizeof...(Parts);
    const Singles taken[] = {handed...};
    Singles values[parts];
    const uint32_t *rows[3];
    for (unsigned slot = 0; slot < 3; ++slot)
        rows[slot] = slot < Operation::sources && !(form >> slot & 1) ? chain_source(core, step, slot) : nullptr;
    const Singles everywhere = form & chain_uniform ? part_all(*rows[Operation::uniform]) : Singles();
    const Singles factor = Operation::factor < 3 ? part_all(*rows[Operation::factor % 3]) : Singles();
#pragma GCC unroll 8
    for (unsigned part = 0; part < parts; ++part) {
        Singles source[3] = {taken[part], taken[part], taken[part]};
        for (unsigned slot = 0; slot < Operation::sources; ++slot)
            if (!(form >> slot & 1))
                source[slot] = slot == Operation::factor                        ? factor
                             : form & chain_uniform && slot == Operation::uniform ? everywhere : part_load(rows[slot] + part_lanes * part);
        values[part] = Operation::of(core, step, part_lanes * part, source[0], source[1], source[2]);
    }
    if (!Operation::is_single) {
        if (form & chain_stores)
            chain_put<parts>(core, step, values);
        return chain_go_on(core, step, values, std::index_sequence_for<Parts...>(), handed...);
    }
    if (__builtin_expect(chain_finds_nan<parts>(core, step, values), 0))
        return chain_plainly(core, step, (form & 7) != 0, handed...);
    Singles flushed[parts];
#pragma GCC unroll 8
    for (unsigned part = 0; part < parts; ++part)
        flushed[part] = form & (chain_stores | chain_flushes) ? ChainFlush<Operation>::of(values[part]) : values[part];
    if (form & chain_stores)
        chain_put<parts>(core, step, flushed);
    return chain_go_on(core, step, flushed, std::index_sequence_for<Parts...>(), handed...);
}

template <unsigned predicate> struct CompareSingles {
    static ALWAYS_INLINE uint32_t of(Singles a, Singles b) { return compare_singles<predicate>(a, b); }
};
template <unsigned predicate> struct CompareSigned {
    static ALWAYS_INLINE uint32_t of(Singles a, Singles b) { return compare_words<predicate, true>(a, b); }
};
template <unsigned predicate> struct CompareUnsigned {
    static ALWAYS_INLINE uint32_t of(Singles a, Singles b) { return compare_words<predicate, false>(a, b); }
};

// A comparison, which ends its chain. Its predicate is one of the host's.
template <class Comparison, unsigned form, class Core, class Step, class... Parts>
static int chain_comparison(Core *core, const Step *step, Parts... handed) {
    const Singles taken[] = {handed...};
    uint64_t found = 0;
#pragma GCC unroll 8
    for (unsigned part = 0; part < sizeof...(Parts); ++part) {
        const Singles a = form & 1 ? taken[part] : part_load(chain_source(core, step, 0) + part_lanes * part);
        const Singles b = form & 2 ? taken[part] : part_load(chain_source(core, step, 1) + part_lanes * part);
        found |= (uint64_t)Comparison::of(a, b) << (part_lanes * part);
    }
    found = (found << (form & chain_wave32 ? chain_first_lane(step) : 0)) & core->active;
    store_pair(core->mask_result, found);
    if (form & chain_wave32 && core->halves == 1)
        core->wave->sgpr[step->mask_destination] = (uint32_t)found;
    else
        store_pair(&core->wave->sgpr[step->mask_destination], found);
    ++step;
    return reinterpret_cast<int (*)(Core *, const Step *, uint64_t)>(step->function)(core, step, found);        // `hand_exec`
}

// -------------------------------------------------------------------------------------------------------------------------------------------- table
template <size_t> using ChainPart = Singles;

template <class Operation, unsigned form, class Core, class Step, class Function, size_t... part>
static Function chain_form(std::index_sequence<part...>) {
    return reinterpret_cast<Function>(
        static_cast<int (*)(Core *, const Step *, ChainPart<part>...)>(chain_step<Operation, form, Core, Step, ChainPart<part>...>));
}

// The form that stands for another: for one with more sources than the operation has (which is not used), with a flush of what is none, or of what is
// stored flushed; both factors of a square are the same.
template <class Operation> static constexpr unsigned chain_form_of(unsigned form) {
    if (chain_is_square<Operation>)
        form = (form & ~2u) | (form & 1) << 1;
    if ((form & 7) >> Operation::sources || (form & 7) >> Operation::factor & 1 || (form & chain_uniform && form >> Operation::uniform & 1))
        return form & chain_wave32;
    if (!Operation::is_single)
        return form & ~chain_flushes;
    return form & chain_stores ? form & ~chain_flushes : form;
}

template <class Operation, class Core, class Step, class Function, size_t... form>
static void chain_fill(Function *table, std::index_sequence<form...>) {
    const Function forms[] = {chain_form<Operation, chain_form_of<Operation>(form), Core, Step, Function>(
        std::make_index_sequence<(form & chain_wave32 ? 32 : 64) / part_lanes>())...};
    for (unsigned index = 0; index < chain_forms; ++index)
        table[index] = forms[index];
}

template <class Comparison, unsigned form, class Core, class Step, class Function, size_t... part>
static Function comparison_form(std::index_sequence<part...>) {
    return reinterpret_cast<Function>(
        static_cast<int (*)(Core *, const Step *, ChainPart<part>...)>(chain_comparison<Comparison, form, Core, Step, ChainPart<part>...>));
}

// By predicate, each with a form for every choice of sources, of a wave64 and of a wave32.
template <template <unsigned> class Comparison, class Core, class Step, class Function, size_t... index>
static void comparison_fill(Function *table, std::index_sequence<index...>) {
    const Function forms[] = {comparison_form<Comparison<index / 8>, (index & 3) | (index & 4 ? chain_wave32 : 0), Core, Step, Function>(
        std::make_index_sequence<(index & 4 ? 32 : 64) / part_lanes>())...};
    for (unsigned number = 0; number < sizeof...(index); ++number)
        table[(number >> 3) * chain_forms + ((number & 3) | (number & 4 ? chain_wave32 : 0))] = forms[number];
}

// Fills `chain_forms` functions of each kind; those of a comparison are at `chain_compare` and the host's predicate.
template <class Core, class Step> static void fill_chains(int (**table)(Core *, const Step *)) {
    typedef int (*Function)(Core *, const Step *);
    const auto all = std::make_index_sequence<chain_forms>();
#define CHAIN(kind, Operation) chain_fill<Operation, Core, Step, Function>(table + chain_forms * kind, all)
    CHAIN(chain_add, ChainAdd);
    CHAIN(chain_subtract, ChainSubtract);
    CHAIN(chain_subtract_from, ChainSubtractFrom);
    CHAIN(chain_multiply, ChainProduct);
    CHAIN(chain_multiply_add, ChainProductSum);
    CHAIN(chain_multiply_last_add, ChainProductLastSum);
    CHAIN(chain_square, ChainSquare);
    CHAIN(chain_square_add, ChainSquareSum);
    CHAIN(chain_scale_add_first, ChainFirstScaledSum);
    CHAIN(chain_scale_add, ChainScaledSum);
    CHAIN(chain_add_magnitude, ChainAddMagnitude);
    CHAIN(chain_multiply_subtract, ChainProductDifference);
    CHAIN(chain_subtract_product, ChainSubtractProduct);
    CHAIN(chain_root, ChainRoot);
    CHAIN(chain_reciprocal, ChainReciprocal);
    CHAIN(chain_floor, ChainFloor);
    CHAIN(chain_ceiling, ChainCeiling);
    CHAIN(chain_truncate, ChainTruncate);
    CHAIN(chain_round, ChainRound);
    CHAIN(chain_minimum, ChainMinimum);
    CHAIN(chain_maximum, ChainMaximum);
    CHAIN(chain_minimum3, ChainMinimum3);
    CHAIN(chain_maximum3, ChainMaximum3);
    CHAIN(chain_change, ChainChange);
    CHAIN(chain_move, ChainMove);
    CHAIN(chain_select, ChainSelect);
    CHAIN(chain_single_of_unsigned, ChainSingleOfUnsigned);
    CHAIN(chain_single_of_signed, ChainSingleOfSigned);
    CHAIN(chain_not, ChainNot);
    CHAIN(chain_and, ChainAnd);
    CHAIN(chain_or, ChainOr);
    CHAIN(chain_xor, ChainXor);
    CHAIN(chain_and_or, ChainAndOr);
    CHAIN(chain_or3, ChainOr3);
    CHAIN(chain_xor3, ChainXor3);
    CHAIN(chain_bit_select, ChainBitSelect);
    CHAIN(chain_add_words, ChainAddWords);
    CHAIN(chain_subtract_words, ChainSubtractWords);
    CHAIN(chain_subtract_words_from, ChainSubtractWordsFrom);
    CHAIN(chain_add3, ChainAdd3);
    CHAIN(chain_multiply_words, ChainMultiplyWords);
    CHAIN(chain_minimum_unsigned, ChainMinimumUnsigned);
    CHAIN(chain_maximum_unsigned, ChainMaximumUnsigned);
    CHAIN(chain_minimum_signed, ChainMinimumSigned);
    CHAIN(chain_maximum_signed, ChainMaximumSigned);
    CHAIN(chain_shift_left, ChainShiftLeft);
    CHAIN(chain_shift_right, ChainShiftRight);
    CHAIN(chain_shift_right_signed, ChainShiftRightSigned);
    CHAIN(chain_shift_left_add, ChainShiftLeftAdd);
    CHAIN(chain_shift_by_add, ChainShiftByAdd);
    CHAIN(chain_shift_left_or, ChainShiftLeftOr);
    CHAIN(chain_add_shift_left, ChainAddShiftLeft);
    CHAIN(chain_xor_add, ChainXorAdd);
    CHAIN(chain_align_bits, ChainAlignBits);
    CHAIN(chain_extract_bits, ChainExtractBits);
    CHAIN(chain_multiply24, ChainMultiply24);
    CHAIN(chain_multiply24_add, ChainMultiply24Add);
#undef CHAIN
    comparison_fill<CompareSingles, Core, Step>(table + chain_forms * chain_compare, std::make_index_sequence<32 * 8>());
    comparison_fill<CompareSigned, Core, Step>(table + chain_forms * chain_compare_signed, std::make_index_sequence<8 * 8>());
    comparison_fill<CompareUnsigned, Core, Step>(table + chain_forms * chain_compare_unsigned, std::make_index_sequence<8 * 8>());
}
#else
enum { chain_supported = 0 };
template <class Core, class Step> static void fill_chains(int (**)(Core *, const Step *)) {}
#endif
