// Logical and bounding functions of the library: truth of elements, multiply-add, clamping.
#pragma once

#include "compare.h"

namespace host_model {

// An operand of a library function: a tensor, or a scalar that all elements share.
template <class A> decltype(auto) library_operand(const A& operand) {
    if constexpr (IsTensor<A>::value)
        return (operand);
    else
        return ScalarOperand<A>{operand};
}
// dst[i] = function(operands[i]...).
template <class D, class F, class... Operands>
void library_elements(const char* name, const AscendC::LocalTensor<D>& dst, int64_t count,
                      const Where& where, F&& function, const Operands&... operands) {
    Instruction op(Pipe::V, name, where);
    check_start(op, dst);
    (check_operand(op, operands), ...);
    auto run = [&](const auto&... sources) {
        auto to = op.out(dst, 0, count);
        for (int64_t i = 0; i < count; ++i) {
            uint8_t state = 1;
            ((state = state == 1 ? state_at(sources, i) : state), ...);
            to.data[i] = static_cast<D>(function(at(sources, i)...));
            op.set(to, i, state);
        }
    };
    run(elements(op, operands, 0, count, "a source")...);
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_LOGICAL_CONFIG(NAME, DEFAULT)                                                   \
    struct NAME {                                                                                  \
        bool isReuseSource = false;                                                                \
        int8_t scalarTensorIndex = 1;                                                              \
    };                                                                                             \
    inline constexpr NAME DEFAULT = {};

// Each of the operands is a tensor or a scalar; a result is true or false.
#define HOST_MODEL_LOGICAL(NAME, CONFIG, DEFAULT, EXPRESSION)                                      \
    HOST_MODEL_LOGICAL_CONFIG(CONFIG, DEFAULT)                                                     \
    template <const CONFIG& config = DEFAULT, class T, class U, class S>                           \
    void NAME(const LocalTensor<T>& dst, const U& src0, const S& src1, int64_t count,              \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::library_elements(                                                            \
            #NAME, dst, count, where,                                                              \
            [](auto a, auto b) {                                                                   \
                bool x = a != decltype(a)(0), y = b != decltype(b)(0);                             \
                return EXPRESSION;                                                                 \
            },                                                                                     \
            ::host_model::library_operand(src0), ::host_model::library_operand(src1));             \
    }
HOST_MODEL_LOGICAL(LogicalAnd, LogicalAndConfig, DEFAULT_LOGICAL_AND_CONFIG, x&& y)
HOST_MODEL_LOGICAL(LogicalOr, LogicalOrConfig, DEFAULT_LOGICAL_OR_CONFIG, x || y)
HOST_MODEL_LOGICAL(LogicalXor, LogicalXorConfig, DEFAULT_LOGICAL_XOR_CONFIG, x != y)
HOST_MODEL_LOGICAL(LogicalAnds, LogicalAndsConfig, DEFAULT_LOGICAL_ANDS_CONFIG, x&& y)
HOST_MODEL_LOGICAL(LogicalOrs, LogicalOrsConfig, DEFAULT_LOGICAL_ORS_CONFIG, x || y)

HOST_MODEL_LOGICAL_CONFIG(LogicalNotConfig, DEFAULT_LOGICAL_NOT_CONFIG)
template <const LogicalNotConfig& config = DEFAULT_LOGICAL_NOT_CONFIG, class T, class U>
void LogicalNot(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t count,
                HOST_MODEL_WHERE) {
    ::host_model::library_elements(
        "LogicalNot", dst, count, where, [](auto x) { return x == decltype(x)(0); }, src);
}
HOST_MODEL_LOGICAL_CONFIG(BitwiseNotConfig, DEFAULT_BITWISE_NOT_CONFIG)
template <const BitwiseNotConfig& config = DEFAULT_BITWISE_NOT_CONFIG, class T>
void BitwiseNot(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count,
                HOST_MODEL_WHERE) {
    ::host_model::library_elements(
        "BitwiseNot", dst, count, where, [](T x) { return static_cast<T>(~x); }, src);
}

// dst = src0 * src1 + src2, rounded once.
HOST_MODEL_LOGICAL_CONFIG(FmaConfig, DEFAULT_FMA_CONFIG)
template <const FmaConfig& config = DEFAULT_FMA_CONFIG, class T>
void Fma(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
         const LocalTensor<T>& src2, int64_t count, HOST_MODEL_WHERE) {
    ::host_model::library_elements(
        "Fma", dst, count, where,
        [](T x, T y, T z) {
            return std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
        },
        src0, src1, src2);
}
template <const FmaConfig& config = DEFAULT_FMA_CONFIG, class T>
void Fma(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
         const LocalTensor<T>& src2, const LocalTensor<uint8_t>& sharedTmpBuffer, int64_t count,
         HOST_MODEL_WHERE) {
    (void)sharedTmpBuffer;
    Fma<config, T>(dst, src0, src1, src2, count, where);
}

// Bounds the elements below and above, by tensors or scalars.
HOST_MODEL_LOGICAL_CONFIG(ClampConfig, DEFAULT_CLAMP_CONFIG)
template <const ClampConfig& config = DEFAULT_CLAMP_CONFIG, class T, class U, class S>
void Clamp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& min, const S& max,
           int64_t count, HOST_MODEL_WHERE) {
    ::host_model::library_elements(
        "Clamp", dst, count, where,
        [](T x, auto low, auto high) {
            T least = static_cast<T>(low), most = static_cast<T>(high);
            return x < least ? least : x > most ? most : x;
        },
        src, ::host_model::library_operand(min), ::host_model::library_operand(max));
}

// Chooses src0 where the condition holds, else src1; both are tensors or scalars.
template <class T, class U, class S, class V>
void Where(const LocalTensor<T>& dst, const U& src0, const S& src1,
           const LocalTensor<V>& condition, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_elements(
        "Where", dst, count, where,
        [](V holds, auto a, auto b) { return holds ? static_cast<T>(a) : static_cast<T>(b); },
        condition, ::host_model::library_operand(src0), ::host_model::library_operand(src1));
}

// Chooses by a mask of bytes or words: src0 where it is 0, else src1. The rows of the mask may be
// longer than those of the source.
struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};

} // namespace AscendC

namespace host_model {

template <class T, class U, class A, class B>
void select_by_elements(const AscendC::LocalTensor<T>& dst, const A& src0, const B& src1,
                        const AscendC::LocalTensor<U>& mask,
                        const AscendC::SelectWithBytesMaskShapeInfo& info, const Where& where) {
    Instruction op(Pipe::V, "Select", where);
    check_start(op, dst);
    check_start(op, mask);
    op.check(info.srcLastAxis <= info.maskLastAxis, "argument",
             text_of("Select: rows of %u elements with masks of %u", info.srcLastAxis,
                     info.maskLastAxis),
             "the rows of the mask are as long as those of the source, or longer");
    op.check(info.srcLastAxis * sizeof(T) % 32 == 0 && info.maskLastAxis * sizeof(U) % 32 == 0,
             "alignment",
             text_of("Select: rows of %u elements with masks of %u fill no whole blocks of 32 "
                     "bytes",
                     info.srcLastAxis, info.maskLastAxis),
             "pad the rows of the source and of the mask");
    for (int64_t row = 0; row < info.firstAxis; ++row) {
        int64_t first = row * info.srcLastAxis, width = info.srcLastAxis;
        auto a = elements(op, src0, first, width, "source 0");
        auto b = elements(op, src1, first, width, "source 1");
        auto chosen = op.in(mask, row * info.maskLastAxis, width, 1, "the mask");
        auto to = op.out(dst, first, width);
        for (int64_t i = 0; i < width; ++i) {
            bool second = chosen.data[i] != U(0);
            uint8_t state = second ? state_at(b, i) : state_at(a, i);
            to.data[i] = second ? static_cast<T>(at(b, i)) : static_cast<T>(at(a, i));
            op.set(to, i, chosen.state(i) == 1 ? state : chosen.state(i));
        }
    }
}

} // namespace host_model

namespace AscendC {

template <class T, class U, bool isReuseMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, ::host_model::Scalar<T> src1,
            const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
            const SelectWithBytesMaskShapeInfo& info, HOST_MODEL_WHERE) {
    (void)sharedTmpBuffer;
    ::host_model::select_by_elements(dst, src0, ::host_model::ScalarOperand<T>{src1}, mask, info,
                                     where);
}
template <class T, class U, bool isReuseMask = true>
void Select(const LocalTensor<T>& dst, ::host_model::Scalar<T> src0, const LocalTensor<T>& src1,
            const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
            const SelectWithBytesMaskShapeInfo& info, HOST_MODEL_WHERE) {
    (void)sharedTmpBuffer;
    ::host_model::select_by_elements(dst, ::host_model::ScalarOperand<T>{src0}, src1, mask, info,
                                     where);
}

} // namespace AscendC
