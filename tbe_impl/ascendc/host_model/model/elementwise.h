// Elementwise arithmetic on vectors, in the forms with a count, with a mask and with mask bits.
//
// This module exceeds 500 lines because each function has forms with a count, a mask, mask bits.
#pragma once

#include "array_functions.h"

namespace host_model {

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
