// Elementwise arithmetic on vectors, in the forms with a count, with a mask and with mask bits.
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

// Fails unless the tensors start at multiples of 32 bytes.
template <class T>
void check_start(Instruction& op, const AscendC::LocalTensor<T>& tensor, uint32_t bytes = 32) {
    if (tensor.offset % bytes == 0) return;
    op.fail("alignment",
            text_of("%s: an operand starts at byte %llu of %s, which is no multiple of %u",
                    op.name(),
                    static_cast<unsigned long long>(tensor.offset -
                                                    (tensor.buffer ? tensor.buffer->offset : 0)),
                    tensor.buffer ? Core::name_of_buffer(*tensor.buffer).c_str() : "no buffer",
                    bytes),
            "start rows at multiples of 32 bytes: pad them, or copy them with DataCopyPad");
}
template <class... T>
void check_alignment(Instruction& op, const AscendC::LocalTensor<T>&... tensors) {
    (check_start(op, tensors), ...);
}

inline void check_range_of_repeats(Instruction& op, int64_t repeats, int64_t limit = 255) {
    if (repeats >= 0 && repeats <= limit) return;
    op.fail("argument",
            text_of("%s: %lld repeats; an instruction repeats 0 to %lld times", op.name(),
                    static_cast<long long>(repeats), static_cast<long long>(limit)),
            "split the call, or use the form with a count");
}

template <class D, class A> constexpr int64_t lanes_of() {
    return REPEAT_BYTES / std::max(sizeof(D), sizeof(A));
}
template <class D, class A>
std::array<Operand, 2> operands_of(const AscendC::UnaryRepeatParams& params) {
    return {{{sizeof(D), params.dstBlkStride, params.dstRepStride},
             {sizeof(A), params.srcBlkStride, params.srcRepStride}}};
}
template <class D, class A>
std::array<Operand, 3> operands_of(const AscendC::BinaryRepeatParams& params) {
    return {{{sizeof(D), params.dstBlkStride, params.dstRepStride},
             {sizeof(A), params.src0BlkStride, params.src0RepStride},
             {sizeof(A), params.src1BlkStride, params.src1RepStride}}};
}
// Strides of operands of different width that lie dense.
template <class D, class A> AscendC::UnaryRepeatParams dense_unary() {
    return {1, 1, lanes_of<D, A>() * sizeof(D) / BLOCK_BYTES,
            lanes_of<D, A>() * sizeof(A) / BLOCK_BYTES};
}
template <class D, class A> AscendC::BinaryRepeatParams dense_binary() {
    constexpr auto dst = lanes_of<D, A>() * sizeof(D) / BLOCK_BYTES;
    constexpr auto src = lanes_of<D, A>() * sizeof(A) / BLOCK_BYTES;
    return {1, 1, 1, dst, src, src};
}

// What an instruction warns of if its types are not documented: null if they are.
using TypeNames = std::string (*)();
template <class Allowed, class T> constexpr TypeNames undocumented() {
    return holds<T>(Allowed{}) ? nullptr : static_cast<TypeNames>(Allowed::names);
}
inline void warn_undocumented(Instruction& op, const char* dtype, TypeNames names) {
    if (!names) return;
    op.warn("unsupported",
            text_of("%s of %s: Atlas A2 (Ascend 910B) computes it for %s", op.name(), dtype,
                    names().c_str()),
            "Cast to one of those first");
}

template <class D, class A>
HOST_MODEL_NOINLINE void unary_of(const char* name, const AscendC::LocalTensor<D>& dst,
                                  const AscendC::LocalTensor<A>& a, const Extent& extent,
                                  const AscendC::UnaryRepeatParams& params, const Where& where,
                                  TypeNames names, UnaryBlock<D, A> block) {
    Instruction op(Pipe::V, name, where);
    warn_undocumented(op, name_of_dtype<A>(), names);
    check_alignment(op, dst, a);
    for_each_run(op, extent, lanes_of<D, A>(), operands_of<D, A>(params),
                 [&](const auto& first, int64_t count) {
                     apply_block(op, dst, a, first[0], first[1], count, block);
                 });
}
template <class D, class A, class Block>
HOST_MODEL_NOINLINE void binary_of(const char* name, const AscendC::LocalTensor<D>& dst,
                                   const AscendC::LocalTensor<A>& a,
                                   const AscendC::LocalTensor<A>& b, const Extent& extent,
                                   const AscendC::BinaryRepeatParams& params, const Where& where,
                                   TypeNames names, Block block) {
    Instruction op(Pipe::V, name, where);
    warn_undocumented(op, name_of_dtype<D>(), names);
    check_alignment(op, dst, a, b);
    for_each_run(op, extent, lanes_of<D, A>(), operands_of<D, A>(params),
                 [&](const auto& first, int64_t count) {
                     apply_block(op, dst, a, b, first[0], first[1], first[2], count, block);
                 });
}

// One instruction of a function of one tensor, of two, and of two and the destination. `Allowed`
// lists the documented types.
template <class Allowed = AnyType, class D, class A, class F>
void unary(const char* name, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<A>& a,
           const Extent& extent, const AscendC::UnaryRepeatParams& params, const Where& where,
           F&& function) {
    unary_of(name, dst, a, extent, params, where, undocumented<Allowed, A>(),
             UnaryBlock<D, A>{unary_chunks<D, A, Plain<F>>, &function});
}
template <class Allowed = AnyType, class T, class F>
void binary(const char* name, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
            const AscendC::LocalTensor<T>& b, const Extent& extent,
            const AscendC::BinaryRepeatParams& params, const Where& where, F&& function) {
    binary_of(name, dst, a, b, extent, params, where, undocumented<Allowed, T>(),
              BinaryBlock<T>{binary_chunks<T, Plain<F>>, &function});
}
template <class Allowed = AnyType, class D, class A, class F>
void accumulate(const char* name, const AscendC::LocalTensor<D>& dst,
                const AscendC::LocalTensor<A>& a, const AscendC::LocalTensor<A>& b,
                const Extent& extent, const AscendC::BinaryRepeatParams& params, const Where& where,
                F&& function) {
    binary_of(name, dst, a, b, extent, params, where, undocumented<Allowed, D>(),
              AccumulateBlock<D, A>{accumulate_elements<D, A, Plain<F>>, &function});
}
// The forms with a count, for library functions.
template <class D, class A, class F>
void unary_count(const char* name, const AscendC::LocalTensor<D>& dst,
                 const AscendC::LocalTensor<A>& a, int64_t count, const Where& where,
                 F&& function) {
    unary(name, dst, a, counted(count), {}, where, function);
}
template <class T, class F>
void binary_count(const char* name, const AscendC::LocalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, int64_t count,
                  const Where& where, F&& function) {
    binary(name, dst, a, b, counted(count), {}, where, function);
}

template <class T> struct IsTensor : std::false_type {};
template <class T> struct IsTensor<AscendC::LocalTensor<T>> : std::true_type {};

// A scalar operand: a number, a reference `tensor(i)`, or element 0 of a tensor.
template <class T, class V> T scalar_of(Instruction& op, const V& value) {
    if constexpr (IsTensor<V>::value) {
        auto from = op.in(value, 0, 1, 1, "the scalar");
        op.require(from, "the tensor of the scalar");
        return static_cast<T>(*from.data);
    } else if constexpr (std::is_class<V>::value && !is_small_float<V>) {
        return static_cast<T>(static_cast<typename V::T>(value));
    } else {
        return static_cast<T>(value);
    }
}

template <class T, class V> T scalar_value(const char* name, const V& value, const Where& where) {
    if constexpr (IsTensor<V>::value) {
        Instruction op(Pipe::V, name, where);
        return scalar_of<T>(op, value);
    } else if constexpr (std::is_class<V>::value && !is_small_float<V>) {
        return static_cast<T>(static_cast<typename V::T>(value));
    } else {
        (void)name, (void)where;
        return static_cast<T>(value);
    }
}

// dst = F(a, b), where one of a and b is a scalar; `scalar_index` tells which of two tensors.
template <class F, class Allowed, class T, class A, class B>
void with_scalar(const char* name, const AscendC::LocalTensor<T>& dst, const A& a, const B& b,
                 int scalar_index, const Extent& extent, const AscendC::UnaryRepeatParams& params,
                 const Where& where) {
    static_assert(IsTensor<A>::value || IsTensor<B>::value, "one of the operands must be a tensor");
    static_assert(!IsTensor<A>::value || std::is_same<A, AscendC::LocalTensor<T>>::value,
                  "source and destination have different element types");
    static_assert(!IsTensor<B>::value || std::is_same<B, AscendC::LocalTensor<T>>::value,
                  "source and destination have different element types");
    if constexpr (IsTensor<A>::value) {
        if (!IsTensor<B>::value || scalar_index == 1) {
            WithRight<F, Compute<T>> function{
                static_cast<Compute<T>>(scalar_value<T>(name, b, where))};
            return unary<Allowed>(name, dst, a, extent, params, where, function);
        }
    }
    if constexpr (IsTensor<B>::value) {
        WithLeft<F, Compute<T>> function{static_cast<Compute<T>>(scalar_value<T>(name, a, where))};
        unary<Allowed>(name, dst, b, extent, params, where, function);
    }
}

// Functions of two elements. `wraps` tells whether the result of signed integers overflowed.
struct AddFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x + y); }
    template <class I> static bool wraps(I x, I y, I r) { return ((x ^ r) & (y ^ r)) < 0; }
};
struct SubFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x - y); }
    template <class I> static bool wraps(I x, I y, I r) { return ((x ^ y) & (x ^ r)) < 0; }
};
struct MulFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x * y); }
    template <class I> static bool wraps(I x, I y, I r) {
        if constexpr (sizeof(I) == 8) {
            I product;
            return __builtin_mul_overflow(x, y, &product);
        } else {
            using Wide = std::conditional_t<sizeof(I) == 4, int64_t, int32_t>;
            return static_cast<Wide>(x) * static_cast<Wide>(y) != r;
        }
    }
};
struct DivFunction {
    template <class C> C operator()(C x, C y) const {
        if constexpr (std::is_integral<C>::value) {
            if (y == 0) return C(-1);
            if (std::is_signed<C>::value && y == C(-1)) return static_cast<C>(C(0) - x);
        }
        return static_cast<C>(x / y);
    }
};
struct MaxFunction {
    template <class C> C operator()(C x, C y) const { return x > y ? x : y; }
};
struct MinFunction {
    template <class C> C operator()(C x, C y) const { return x < y ? x : y; }
};
struct AndFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x & y); }
};
struct OrFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x | y); }
};
struct XorFunction {
    template <class C> C operator()(C x, C y) const { return static_cast<C>(x ^ y); }
};
struct AddReluFunction {
    template <class C> C operator()(C x, C y) const {
        return MaxFunction{}(static_cast<C>(x + y), C(0));
    }
};
struct SubReluFunction {
    template <class C> C operator()(C x, C y) const {
        return MaxFunction{}(static_cast<C>(x - y), C(0));
    }
};
struct AbsSubFunction {
    template <class C> C operator()(C x, C y) const { return x > y ? x - y : y - x; }
};
struct PreluFunction {
    template <class C> C operator()(C x, C y) const { return x > 0 ? x : static_cast<C>(x * y); }
};
struct LeakyReluFunction {
    template <class C> C operator()(C x, C slope) const {
        return x >= 0 ? x : static_cast<C>(x * slope);
    }
};

// Functions of one element.
#define HOST_MODEL_FUNCTION(NAME, EXPRESSION)                                                      \
    struct NAME {                                                                                  \
        template <class C> C operator()(C x) const { return static_cast<C>(EXPRESSION); }          \
    };
HOST_MODEL_FUNCTION(ExpFunction, std::exp(x))
HOST_MODEL_FUNCTION(LnFunction, std::log(x))
HOST_MODEL_FUNCTION(AbsFunction, x < 0 ? -x : x)
HOST_MODEL_FUNCTION(ReciprocalFunction, C(1) / x)
HOST_MODEL_FUNCTION(SqrtFunction, std::sqrt(x))
HOST_MODEL_FUNCTION(RsqrtFunction, C(1) / std::sqrt(x))
HOST_MODEL_FUNCTION(ReluFunction, x > 0 ? x : C(0))
HOST_MODEL_FUNCTION(NegFunction, -x)
HOST_MODEL_FUNCTION(NotFunction, ~x)

using Arithmetic = Types<int16_t, half, int32_t, float>;
using Floating = Types<half, float>;
using ReluTypes = Types<int16_t, half, float>;
using UnaryReluTypes = Types<half, int32_t, float>;
using Logical = Types<int16_t, uint16_t>;

// The logic functions compute 16-bit words on Atlas A2: with 32-bit tensors the count is one of
// words.
template <class T> using Word = std::conditional_t<(sizeof(T) > 2), int16_t, T>;
template <class T> AscendC::LocalTensor<Word<T>> words_of(const AscendC::LocalTensor<T>& tensor) {
    if constexpr (sizeof(T) > 2)
        return tensor.template ReinterpretCast<int16_t>();
    else
        return tensor;
}
template <class T> void warn_of_words(const char* name, const Where& where) {
    if constexpr (sizeof(T) > 2)
        core().warn(
            "argument",
            text_of("%s of %s computes 16-bit words: the count is one of words, so half of it "
                    "in elements",
                    name, name_of_dtype<T>()),
            "call it on ReinterpretCast<uint16_t>() of the tensors, with twice the count", where);
}

} // namespace host_model

namespace AscendC {

// Placeholder types of the forms whose scalar may stand left or right.
struct BinaryDefaultType {};
struct BinaryConfig {
    int8_t scalarTensorIndex = 1;
};
inline constexpr BinaryConfig DEFAULT_BINARY_CONFIG = {1};

#define HOST_MODEL_WHERE ::host_model::Where where = ::host_model::Where::here()

// The forms with a mask and with mask bits of a function of two tensors, and of one.
#define HOST_MODEL_BINARY_MASKED(NAME, FUNCTION, ALLOWED)                                          \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              uint64_t mask, int64_t repeatTime, const BinaryRepeatParams& repeatParams,           \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::binary<ALLOWED>(#NAME, dst, src0, src1,                                      \
                                      ::host_model::masked(mask, repeatTime, isSetMask),           \
                                      repeatParams, where, FUNCTION{});                            \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              const uint64_t mask[], int64_t repeatTime, const BinaryRepeatParams& repeatParams,   \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::binary<ALLOWED>(#NAME, dst, src0, src1,                                      \
                                      ::host_model::masked(mask, sizeof(T), repeatTime,            \
                                                           isSetMask),                             \
                                      repeatParams, where, FUNCTION{});                            \
    }
#define HOST_MODEL_BINARY(NAME, FUNCTION, ALLOWED)                                                 \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        ::host_model::binary<ALLOWED>(#NAME, dst, src0, src1,                                      \
                                      ::host_model::counted(count, isSetMask), {}, where,          \
                                      FUNCTION{});                                                 \
    }                                                                                              \
    HOST_MODEL_BINARY_MASKED(NAME, FUNCTION, ALLOWED)
#define HOST_MODEL_UNARY(NAME, FUNCTION, ALLOWED)                                                  \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count,                 \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::unary<ALLOWED>(#NAME, dst, src, ::host_model::counted(count, isSetMask), {}, \
                                     where, FUNCTION);                                             \
    }                                                                                              \
    HOST_MODEL_UNARY_MASKED(NAME, FUNCTION, ALLOWED)
#define HOST_MODEL_UNARY_MASKED(NAME, FUNCTION, ALLOWED)                                           \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,                 \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::unary<ALLOWED>(#NAME, dst, src,                                              \
                                     ::host_model::masked(mask, repeatTime, isSetMask),            \
                                     repeatParams, where, FUNCTION);                               \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],         \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::unary<ALLOWED>(#NAME, dst, src,                                              \
                                     ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask), \
                                     repeatParams, where, FUNCTION);                               \
    }
// A tensor and a scalar: on either side, or (with `config`) one element of a second tensor.
#define HOST_MODEL_SCALAR(NAME, FUNCTION, ALLOWED)                                                 \
    template <class T = BinaryDefaultType, bool isSetMask = true,                                  \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class D, class A, class B>       \
    void NAME(const LocalTensor<D>& dst, const A& src0, const B& src1, int64_t count,              \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::with_scalar<FUNCTION, ALLOWED>(#NAME, dst, src0, src1,                       \
                                                     config.scalarTensorIndex,                     \
                                                     ::host_model::counted(count, isSetMask), {},  \
                                                     where);                                       \
    }                                                                                              \
    template <class T = BinaryDefaultType, bool isSetMask = true,                                  \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class D, class A, class B>       \
    void NAME(const LocalTensor<D>& dst, const A& src0, const B& src1, uint64_t mask,              \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::with_scalar<FUNCTION, ALLOWED>(#NAME, dst, src0, src1,                       \
                                                     config.scalarTensorIndex,                     \
                                                     ::host_model::masked(mask, repeatTime,        \
                                                                          isSetMask),              \
                                                     repeatParams, where);                         \
    }                                                                                              \
    template <class T = BinaryDefaultType, bool isSetMask = true,                                  \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class D, class A, class B>       \
    void NAME(const LocalTensor<D>& dst, const A& src0, const B& src1, const uint64_t mask[],      \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::with_scalar<FUNCTION, ALLOWED>(#NAME, dst, src0, src1,                       \
                                                     config.scalarTensorIndex,                     \
                                                     ::host_model::masked(mask, sizeof(D),         \
                                                                          repeatTime, isSetMask),  \
                                                     repeatParams, where);                         \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue,          \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        NAME<BinaryDefaultType, isSetMask, DEFAULT_BINARY_CONFIG, T, LocalTensor<T>, U>(           \
            dst, src, scalarValue, count, where);                                                  \
    }

HOST_MODEL_BINARY(Add, ::host_model::AddFunction, ::host_model::Arithmetic)
HOST_MODEL_BINARY(Sub, ::host_model::SubFunction, ::host_model::Arithmetic)
HOST_MODEL_BINARY(Mul, ::host_model::MulFunction, ::host_model::Arithmetic)
HOST_MODEL_BINARY(Div, ::host_model::DivFunction, ::host_model::Floating)
HOST_MODEL_BINARY(Max, ::host_model::MaxFunction, ::host_model::Arithmetic)
HOST_MODEL_BINARY(Min, ::host_model::MinFunction, ::host_model::Arithmetic)
HOST_MODEL_BINARY(AddRelu, ::host_model::AddReluFunction, ::host_model::ReluTypes)
HOST_MODEL_BINARY(SubRelu, ::host_model::SubReluFunction, ::host_model::ReluTypes)
HOST_MODEL_BINARY(AbsSub, ::host_model::AbsSubFunction, ::host_model::AnyType)
HOST_MODEL_BINARY(Prelu, ::host_model::PreluFunction, ::host_model::AnyType)
HOST_MODEL_BINARY_MASKED(And, ::host_model::AndFunction, ::host_model::Logical)
HOST_MODEL_BINARY_MASKED(Or, ::host_model::OrFunction, ::host_model::Logical)

HOST_MODEL_SCALAR(Adds, ::host_model::AddFunction, ::host_model::Arithmetic)
HOST_MODEL_SCALAR(Subs, ::host_model::SubFunction, ::host_model::Arithmetic)
HOST_MODEL_SCALAR(Muls, ::host_model::MulFunction, ::host_model::Arithmetic)
HOST_MODEL_SCALAR(Divs, ::host_model::DivFunction, ::host_model::Floating)
HOST_MODEL_SCALAR(Maxs, ::host_model::MaxFunction, ::host_model::Arithmetic)
HOST_MODEL_SCALAR(Mins, ::host_model::MinFunction, ::host_model::Arithmetic)
HOST_MODEL_SCALAR(Ands, ::host_model::AndFunction, ::host_model::AnyType)
HOST_MODEL_SCALAR(Ors, ::host_model::OrFunction, ::host_model::AnyType)
HOST_MODEL_SCALAR(LeakyRelu, ::host_model::LeakyReluFunction, ::host_model::Floating)

HOST_MODEL_UNARY(Exp, ::host_model::ExpFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Ln, ::host_model::LnFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Abs, ::host_model::AbsFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Reciprocal, ::host_model::ReciprocalFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Sqrt, ::host_model::SqrtFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Rsqrt, ::host_model::RsqrtFunction{}, ::host_model::Floating)
HOST_MODEL_UNARY(Relu, ::host_model::ReluFunction{}, ::host_model::UnaryReluTypes)
HOST_MODEL_UNARY(Neg, ::host_model::NegFunction{}, ::host_model::AnyType)
HOST_MODEL_UNARY_MASKED(Not, ::host_model::NotFunction{}, ::host_model::Logical)

#define HOST_MODEL_WORDS(NAME, FUNCTION)                                                           \
    template <class T>                                                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        ::host_model::warn_of_words<T>(#NAME, where);                                              \
        ::host_model::binary(#NAME, ::host_model::words_of(dst), ::host_model::words_of(src0),     \
                             ::host_model::words_of(src1), ::host_model::counted(count), {},       \
                             where, FUNCTION{});                                                   \
    }
HOST_MODEL_WORDS(And, ::host_model::AndFunction)
HOST_MODEL_WORDS(Or, ::host_model::OrFunction)
template <class T>
void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count, HOST_MODEL_WHERE) {
    ::host_model::warn_of_words<T>("Not", where);
    ::host_model::unary("Not", ::host_model::words_of(dst), ::host_model::words_of(src),
                        ::host_model::counted(count), {}, where, ::host_model::NotFunction{});
}

// dst = src0 * dst + src1, and dst = src0 * src1 + dst.
#define HOST_MODEL_ACCUMULATE(NAME, EXPRESSION)                                                    \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        ::host_model::accumulate<::host_model::Floating>(#NAME, dst, src0, src1,                   \
                                                         ::host_model::counted(count, isSetMask),  \
                                                         ::host_model::dense_binary<T, U>(),       \
                                                         where, [](auto dst, auto x, auto y) {     \
                                                             return EXPRESSION;                    \
                                                         });                                       \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              uint64_t mask, int64_t repeatTime, const BinaryRepeatParams& repeatParams,           \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::accumulate<::host_model::Floating>(#NAME, dst, src0, src1,                   \
                                                         ::host_model::masked(mask, repeatTime,    \
                                                                              isSetMask),          \
                                                         repeatParams, where,                      \
                                                         [](auto dst, auto x, auto y) {            \
                                                             return EXPRESSION;                    \
                                                         });                                       \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              const uint64_t mask[], int64_t repeatTime, const BinaryRepeatParams& repeatParams,   \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::accumulate<::host_model::Floating>(                                          \
            #NAME, dst, src0, src1,                                                                \
            ::host_model::masked(mask, std::max(sizeof(T), sizeof(U)), repeatTime, isSetMask),     \
            repeatParams, where, [](auto dst, auto x, auto y) { return EXPRESSION; });             \
    }                                                                                              \
    template <class T, bool isSetMask, class... A>                                                 \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              uint64_t mask, int64_t repeatTime, const BinaryRepeatParams& repeatParams,           \
              HOST_MODEL_WHERE) {                                                                  \
        NAME<T, T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, where);             \
    }                                                                                              \
    template <class T, bool isSetMask, class... A>                                                 \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              const uint64_t mask[], int64_t repeatTime, const BinaryRepeatParams& repeatParams,   \
              HOST_MODEL_WHERE) {                                                                  \
        NAME<T, T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, where);             \
    }
HOST_MODEL_ACCUMULATE(MulAddDst, x* y + dst)
HOST_MODEL_ACCUMULATE(FusedMulAdd, x* dst + y)
HOST_MODEL_ACCUMULATE(MulAddRelu, ::host_model::MaxFunction{}(x* dst + y, decltype(dst)(0)))
HOST_MODEL_ACCUMULATE(FusedMulAddRelu, ::host_model::MaxFunction{}(x* dst + y, decltype(dst)(0)))

} // namespace AscendC

namespace host_model {

// dst = scalar * src + dst.
template <class D, class A, class V>
void axpy(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<A>& src, const V& value,
          const Extent& extent, const AscendC::UnaryRepeatParams& params, const Where& where) {
    auto scalar = static_cast<Compute<D>>(scalar_value<A>("Axpy", value, where));
    AscendC::BinaryRepeatParams strides{params.dstBlkStride, params.srcBlkStride,
                                        params.srcBlkStride, params.dstRepStride,
                                        params.srcRepStride, params.srcRepStride};
    accumulate<Floating>("Axpy", dst, src, src, extent, strides, where,
                         [scalar](auto z, auto x, auto) { return scalar * x + z; });
}

// A left shift keeps the sign bit of signed elements.
template <class T> T shift_left(T x, int distance) {
    using U = std::make_unsigned_t<T>;
    constexpr int bits = sizeof(T) * 8;
    U shifted = distance >= bits ? U(0) : static_cast<U>(static_cast<U>(x) << distance);
    if (!std::is_signed<T>::value) return static_cast<T>(shifted);
    constexpr U sign = static_cast<U>(U(1) << (bits - 1));
    return static_cast<T>((shifted & static_cast<U>(~sign)) | (static_cast<U>(x) & sign));
}
// A right shift is arithmetic for signed elements; `round` adds the last bit that is shifted out.
template <class T> T shift_right(T x, int distance, bool round) {
    constexpr int bits = sizeof(T) * 8;
    if (distance == 0) return x;
    T shifted = distance >= bits ? (x < 0 ? T(-1) : T(0)) : static_cast<T>(x >> distance);
    if (round && std::is_signed<T>::value)
        shifted = static_cast<T>(shifted + (x >> std::min(distance - 1, bits - 1) & 1));
    return shifted;
}
using Shifted = Types<int16_t, uint16_t, int32_t, uint32_t>;
template <class T, class V>
void shift(const char* name, bool left, bool round, const AscendC::LocalTensor<T>& dst,
           const AscendC::LocalTensor<T>& src, const V& value, const Extent& extent,
           const AscendC::UnaryRepeatParams& params, const Where& where) {
    int64_t distance = scalar_value<int64_t>(name, value, where);
    if (distance < 0 || distance > static_cast<int64_t>(sizeof(T) * 8))
        core().fail("argument",
                    text_of("%s of %s by %lld bits", name, name_of_dtype<T>(),
                            static_cast<long long>(distance)),
                    text_of("the distance is 0 to %zu bits", sizeof(T) * 8), where);
    int bits = static_cast<int>(distance);
    unary<Shifted>(name, dst, src, extent, params, where, [left, bits, round](T x) {
        return left ? shift_left(x, bits) : shift_right(x, bits, round);
    });
}

} // namespace host_model

namespace AscendC {

template <class T, class U, bool isSetMask = true, class V>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const V& scalarValue, int64_t count,
          HOST_MODEL_WHERE) {
    ::host_model::axpy(dst, src, scalarValue, ::host_model::counted(count, isSetMask),
                       ::host_model::dense_unary<T, U>(), where);
}
template <class T, class U, bool isSetMask = true, class V>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const V& scalarValue, uint64_t mask,
          int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::axpy(dst, src, scalarValue, ::host_model::masked(mask, repeatTime, isSetMask),
                       repeatParams, where);
}
template <class T, class U, bool isSetMask = true, class V>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const V& scalarValue,
          const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& repeatParams,
          HOST_MODEL_WHERE) {
    ::host_model::axpy(dst, src, scalarValue,
                       ::host_model::masked(mask, std::max(sizeof(T), sizeof(U)), repeatTime,
                                            isSetMask),
                       repeatParams, where);
}

template <class T, bool isSetMask = true, class V>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
               int64_t count, HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftLeft", true, false, dst, src, scalarValue,
                        ::host_model::counted(count, isSetMask), {}, where);
}
template <class T, bool isSetMask = true, class V>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
               uint64_t mask, int64_t repeatTime, const UnaryRepeatParams& repeatParams,
               HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftLeft", true, false, dst, src, scalarValue,
                        ::host_model::masked(mask, repeatTime, isSetMask), repeatParams, where);
}
template <class T, bool isSetMask = true, class V>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
               const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& repeatParams,
               HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftLeft", true, false, dst, src, scalarValue,
                        ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask), repeatParams,
                        where);
}
template <class T, bool isSetMask = true, class V>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
                int64_t count, HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftRight", false, false, dst, src, scalarValue,
                        ::host_model::counted(count, isSetMask), {}, where);
}
template <class T, bool isSetMask = true, class V>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
                uint64_t mask, int64_t repeatTime, const UnaryRepeatParams& repeatParams,
                bool roundEn = false, HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftRight", false, roundEn, dst, src, scalarValue,
                        ::host_model::masked(mask, repeatTime, isSetMask), repeatParams, where);
}
template <class T, bool isSetMask = true, class V>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalarValue,
                const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& repeatParams,
                bool roundEn = false, HOST_MODEL_WHERE) {
    ::host_model::shift("ShiftRight", false, roundEn, dst, src, scalarValue,
                        ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask), repeatParams,
                        where);
}

// Distances from a tensor.
template <class T, class U>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1,
               int64_t count, HOST_MODEL_WHERE) {
    ::host_model::binary("ShiftLeft", dst, src0, src1.template ReinterpretCast<T>(),
                         ::host_model::counted(count), {}, where, [](T x, T distance) {
                             int bits = static_cast<int>(
                                 std::min<int64_t>(static_cast<int64_t>(distance),
                                                   static_cast<int64_t>(sizeof(T) * 8)));
                             return ::host_model::shift_left(x, bits);
                         });
}

// Distances from a tensor.
template <class T, class U>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1,
                int64_t count, HOST_MODEL_WHERE) {
    ::host_model::binary("ShiftRight", dst, src0, src1.template ReinterpretCast<T>(),
                         ::host_model::counted(count), {}, where, [](T x, T distance) {
                             int bits = static_cast<int>(
                                 std::min<int64_t>(static_cast<int64_t>(distance),
                                                   static_cast<int64_t>(sizeof(T) * 8)));
                             return ::host_model::shift_right(x, bits, false);
                         });
}

} // namespace AscendC
