// Functions of arrays, computed in chunks: one run of elements of an instruction.
#pragma once

#include "lanes.h"

namespace host_model {

// Blocks of 16-bit floats to and from float; an instruction computes in float and rounds once.
constexpr int64_t CHUNK = 256;
// Calls body(i) for i below count; the constant trip count of a full chunk lets compilers
// vectorise.
template <class Body> void for_chunk(int64_t count, Body&& body) {
    if (count == CHUNK)
        for (int64_t i = 0; i < CHUNK; ++i) body(i);
    else
        for (int64_t i = 0; i < count; ++i) body(i);
}
template <class T> void widen(const T* from, float* to, int64_t count) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (is_half<T>)
        for (; i + 8 <= count; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                         reinterpret_cast<const __m128i*>(from + i))));
#endif
    for (; i < count; ++i) to[i] = from[i];
}
template <class T> void narrow(const float* from, T* to, int64_t count) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (is_half<T>)
        for (; i + 8 <= count; i += 8)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < count; ++i) to[i] = static_cast<T>(from[i]);
}
// The elements in the type in which they are computed: `buffer` is filled for 16-bit floats.
template <class T> const Compute<T>* widened(const T* from, Compute<T>* buffer, int64_t count) {
    if constexpr (is_small_float<T>) {
        widen(from, buffer, count);
        return buffer;
    } else {
        return from;
    }
}

inline uint64_t infinite_halves(const half* values, int64_t count) {
    uint64_t found = 0;
    for (int64_t i = 0; i < count; ++i) found += (values[i].bits() & 0x7fff) == 0x7c00;
    return found;
}

template <class F, class T, class = void> struct Wraps : std::false_type {};
template <class F, class T>
struct Wraps<F, T, std::void_t<decltype(F::wraps(T{}, T{}, T{}))>>
    : std::integral_constant<bool, std::is_integral<T>::value && std::is_signed<T>::value> {};

// A function of two elements with one of them fixed.
template <class F, class C> struct WithRight {
    C y;
    template <class X> auto operator()(X x) const { return F{}(x, static_cast<X>(y)); }
    template <class X, class FF = F> static constexpr bool can_wrap() {
        return Wraps<FF, X>::value;
    }
    template <class X> bool wrapped(X x, X result) const {
        return F::wraps(x, static_cast<X>(y), result);
    }
};
template <class F, class C> struct WithLeft {
    C x;
    template <class Y> auto operator()(Y y) const { return F{}(static_cast<Y>(x), y); }
    template <class Y, class FF = F> static constexpr bool can_wrap() {
        return Wraps<FF, Y>::value;
    }
    template <class Y> bool wrapped(Y y, Y result) const {
        return F::wraps(static_cast<Y>(x), y, result);
    }
};
template <class F, class T, class = void> struct UnaryWraps : std::false_type {};
template <class F, class T>
struct UnaryWraps<F, T, std::enable_if_t<std::remove_reference_t<F>::template can_wrap<T>()>>
    : std::is_integral<T> {};

#define HOST_MODEL_NOINLINE __attribute__((noinline))

// A function of arrays: reads `count` elements, writes as many, returns how many overflowed. The
// code around it is compiled once for each pair of types, not for each function.
template <class D, class A> struct UnaryBlock {
    uint64_t (*run)(const void* context, const A* from, D* to, int64_t count);
    const void* context;
};
template <class T> struct BinaryBlock {
    uint64_t (*run)(const void* context, const T* left, const T* right, T* to, int64_t count);
    const void* context;
};
template <class D, class A> struct AccumulateBlock {
    uint64_t (*run)(const void* context, const D* before, const A* left, const A* right, D* to,
                    int64_t count);
    const void* context;
};

template <class D, class A, class F>
uint64_t unary_chunks(const void* context, const A* from, D* to, int64_t count) {
    const F& function = *static_cast<const F*>(context);
    uint64_t overflows = 0;
    Compute<A> in_buffer[CHUNK];
    Compute<D> out_buffer[CHUNK];
    for (int64_t start = 0; start < count; start += CHUNK) {
        int64_t n = std::min(CHUNK, count - start);
        const Compute<A>* x = widened(from + start, in_buffer, n);
        uint64_t infinite = 0;
        if constexpr (is_half<A> && is_half<D>) infinite = infinite_halves(from + start, n);
        for_chunk(n, [&](int64_t i) { out_buffer[i] = static_cast<Compute<D>>(function(x[i])); });
        if constexpr (std::is_same<D, A>::value && UnaryWraps<F, A>::value) {
            int32_t wrapped = 0;
            for_chunk(n, [&](int64_t i) { wrapped += function.wrapped(x[i], out_buffer[i]); });
            overflows += static_cast<uint64_t>(wrapped);
        }
        if constexpr (is_small_float<D>)
            narrow(out_buffer, to + start, n);
        else
            std::memcpy(to + start, out_buffer, n * sizeof(D));
        if constexpr (is_half<D> && is_half<A>) {
            uint64_t results = infinite_halves(to + start, n);
            if (results > infinite) overflows += results - infinite;
        }
    }
    return overflows;
}
template <class T, class F>
uint64_t binary_chunks(const void* context, const T* left, const T* right, T* to, int64_t count) {
    const F& function = *static_cast<const F*>(context);
    uint64_t overflows = 0;
    Compute<T> left_buffer[CHUNK], right_buffer[CHUNK], out_buffer[CHUNK];
    for (int64_t start = 0; start < count; start += CHUNK) {
        int64_t n = std::min(CHUNK, count - start);
        const Compute<T>* x = widened(left + start, left_buffer, n);
        const Compute<T>* y = widened(right + start, right_buffer, n);
        for_chunk(n, [&](int64_t i) {
            out_buffer[i] = static_cast<Compute<T>>(function(x[i], y[i]));
        });
        if constexpr (Wraps<F, T>::value) {
            int32_t wrapped = 0;
            for_chunk(n, [&](int64_t i) { wrapped += F::wraps(x[i], y[i], out_buffer[i]); });
            overflows += static_cast<uint64_t>(wrapped);
        }
        if constexpr (is_small_float<T>)
            narrow(out_buffer, to + start, n);
        else
            std::memcpy(to + start, out_buffer, n * sizeof(T));
        if constexpr (is_half<T>)
            if (infinite_halves(to + start, n))
                for (int64_t i = 0; i < n; ++i)
                    overflows += (to[start + i].bits() & 0x7fff) == 0x7c00 && std::isfinite(x[i]) &&
                                 std::isfinite(y[i]);
    }
    return overflows;
}
template <class D, class A, class F>
uint64_t accumulate_elements(const void* context, const D* before, const A* left, const A* right,
                             D* to, int64_t count) {
    const F& function = *static_cast<const F*>(context);
    uint64_t overflows = 0;
    for (int64_t i = 0; i < count; ++i) {
        Compute<A> x = left[i], y = right[i];
        Compute<D> z = before[i];
        to[i] = static_cast<D>(function(z, static_cast<Compute<D>>(x), static_cast<Compute<D>>(y)));
        if constexpr (is_half<D>)
            overflows += (to[i].bits() & 0x7fff) == 0x7c00 && std::isfinite(x) &&
                         std::isfinite(y) && std::isfinite(z);
    }
    return overflows;
}

// One run of elements that are contiguous in each operand.
template <class D, class A>
HOST_MODEL_NOINLINE void apply_block(Instruction& op, const AscendC::LocalTensor<D>& dst,
                                     const AscendC::LocalTensor<A>& a, int64_t dst_first,
                                     int64_t a_first, int64_t count, UnaryBlock<D, A> block) {
    auto from = op.in(a, a_first, count, 1, "the source");
    auto to = op.out(dst, dst_first, count);
    op.count_overflow(block.run(block.context, from.data, to.data, count), name_of_dtype<D>());
    op.derive(to, from);
}
template <class T>
HOST_MODEL_NOINLINE void
apply_block(Instruction& op, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
            const AscendC::LocalTensor<T>& b, int64_t dst_first, int64_t a_first, int64_t b_first,
            int64_t count, BinaryBlock<T> block) {
    auto left = op.in(a, a_first, count, 1, "source 0");
    auto right = op.in(b, b_first, count, 1, "source 1");
    auto to = op.out(dst, dst_first, count);
    op.count_overflow(block.run(block.context, left.data, right.data, to.data, count),
                      name_of_dtype<T>());
    op.derive(to, left, right);
}
template <class D, class A>
HOST_MODEL_NOINLINE void
apply_block(Instruction& op, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<A>& a,
            const AscendC::LocalTensor<A>& b, int64_t dst_first, int64_t a_first, int64_t b_first,
            int64_t count, AccumulateBlock<D, A> block) {
    auto before = op.in(dst, dst_first, count, 1, "the destination");
    auto left = op.in(a, a_first, count, 1, "source 0");
    auto right = op.in(b, b_first, count, 1, "source 1");
    auto to = op.out(dst, dst_first, count);
    op.count_overflow(block.run(block.context, before.data, left.data, right.data, to.data, count),
                      name_of_dtype<D>());
    op.derive(to, before, left, right);
}
template <class F> using Plain = std::remove_const_t<std::remove_reference_t<F>>;

// dst[i] = function(a[i]), function(a[i], b[i]) and function(dst[i], a[i], b[i]) for one run;
// integers that wrap and halves that become infinite count as overflows.
template <class D, class A, class F>
void apply_unary(Instruction& op, const AscendC::LocalTensor<D>& dst,
                 const AscendC::LocalTensor<A>& a, int64_t dst_first, int64_t a_first,
                 int64_t count, F&& function) {
    apply_block(op, dst, a, dst_first, a_first, count,
                UnaryBlock<D, A>{unary_chunks<D, A, Plain<F>>, &function});
}
template <class T, class F>
void apply_binary(Instruction& op, const AscendC::LocalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b,
                  int64_t dst_first, int64_t a_first, int64_t b_first, int64_t count,
                  F&& function) {
    apply_block(op, dst, a, b, dst_first, a_first, b_first, count,
                BinaryBlock<T>{binary_chunks<T, Plain<F>>, &function});
}

} // namespace host_model
