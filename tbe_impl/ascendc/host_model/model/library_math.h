// The mathematical functions and activations of the library, which take hidden work space.
#pragma once

#include "../host/library_space.h"
#include "elementwise.h"

namespace host_model {

template <class T>
void check_count(Instruction& op, const AscendC::LocalTensor<T>& from, int64_t count) {
    op.check(count <= static_cast<int64_t>(from.elements), "argument",
             text_of("%s: a count of %lld elements, the source has %llu", op.name(),
                     static_cast<long long>(count), static_cast<unsigned long long>(from.elements)),
             "the count must not exceed the tensor");
}

// dst[i] = function(a[i]); computed in float, rounded once. `tensors` is the number of temporaries
// in hidden work space; 0: none, or the caller gives the work space.
template <class D, class T, class F>
void library_unary(const char* name, const AscendC::LocalTensor<D>& dst,
                   const AscendC::LocalTensor<T>& a, int64_t count, int tensors, const Where& where,
                   F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, a);
    check_count(op, a, count);
    if (tensors > 0) take_workspace(name, least_workspace(tensors), where);
    apply_unary(op, dst, a, 0, 0, count, function);
}
template <class T, class F>
void library_binary(const char* name, const AscendC::LocalTensor<T>& dst,
                    const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b,
                    int64_t count, int tensors, const Where& where, F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, a, b);
    check_count(op, a, count);
    check_count(op, b, count);
    if (tensors > 0) take_workspace(name, least_workspace(tensors), where);
    apply_binary(op, dst, a, b, 0, 0, 0, count, function);
}

template <class T> T sign_of(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }
// Rounds halves to even.
template <class T> T rint_of(T x) { return std::nearbyint(x); }
inline float gelu_of(float x) {
    double cubic = x + 0.044715 * double(x) * x * x;
    return static_cast<float>(x / (1 + std::exp(-1.5957691216057308 * cubic)));
}
// GELU by a polynomial of second degree for the error function.
inline float fast_gelu_of(float x) {
    float clipped = std::fmin(std::fabs(0.70710678f * x), 1.769f) - 1.769f;
    float half_erf = 0.5f - 0.1444f * clipped * clipped;
    return x * ((x < 0 ? -half_erf : half_erf) + 0.5f);
}
inline float silu_of(float x) { return x / (1 + std::exp(-x)); }
inline double digamma_of(double x) {
    if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    if (x < 0) return digamma_of(1 - x) - M_PI / std::tan(M_PI * x);
    double out = 0;
    for (; x < 10; x += 1) out -= 1 / x;
    double square = 1 / (x * x);
    return out + std::log(x) - 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square / 252));
}

// x to a constant power, and a constant to the power of x.
template <class C> struct PowerOf {
    C exponent;
    template <class X> X operator()(X x) const { return static_cast<X>(std::pow(x, exponent)); }
};
template <class C> struct PowerBase {
    C base;
    template <class X> X operator()(X x) const { return static_cast<X>(std::pow(base, x)); }
};

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_SHARED const LocalTensor<uint8_t>&
#define HOST_MODEL_FORMS template <class T, bool isReuseSource = false, const auto&... config>
#define HOST_MODEL_COMMA ,

// The four forms of a function: with work space or without, with a count or without. `OPERANDS`
// declares the sources, `RUN` computes from them.
#define HOST_MODEL_LIBRARY_FORMS(NAME, OPERANDS, ELEMENTS, RUN)                                    \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, OPERANDS, HOST_MODEL_SHARED,             \
                               uint32_t calCount, HOST_MODEL_WHERE) {                              \
        RUN(NAME, calCount, 0)                                                                     \
    }                                                                                              \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, OPERANDS, HOST_MODEL_SHARED,             \
                               HOST_MODEL_WHERE) {                                                 \
        RUN(NAME, ELEMENTS, 0)                                                                     \
    }                                                                                              \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, OPERANDS, uint32_t calCount,             \
                               HOST_MODEL_WHERE) {                                                 \
        RUN(NAME, calCount, ::host_model::temporaries::NAME)                                       \
    }                                                                                              \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, OPERANDS, HOST_MODEL_WHERE) {            \
        RUN(NAME, ELEMENTS, ::host_model::temporaries::NAME)                                       \
    }
#define HOST_MODEL_RUN_UNARY(NAME, COUNT, TENSORS)                                                 \
    ::host_model::library_unary(#NAME, dst, src, COUNT, TENSORS, where, HostModel##NAME{});
#define HOST_MODEL_RUN_BINARY(NAME, COUNT, TENSORS)                                                \
    ::host_model::library_binary(#NAME, dst, src0, src1, COUNT, TENSORS, where, HostModel##NAME{});
#define HOST_MODEL_LIBRARY_UNARY(NAME, ...)                                                        \
    struct HostModel##NAME {                                                                       \
        template <class X> auto operator()(X x) const { return __VA_ARGS__; }                      \
    };                                                                                             \
    HOST_MODEL_LIBRARY_FORMS(NAME, const LocalTensor<T>& src, src.elements, HOST_MODEL_RUN_UNARY)
#define HOST_MODEL_LIBRARY_BINARY(NAME, ...)                                                       \
    struct HostModel##NAME {                                                                       \
        template <class X> auto operator()(X x, X y) const { return __VA_ARGS__; }                 \
    };                                                                                             \
    HOST_MODEL_LIBRARY_FORMS(                                                                      \
        NAME, const LocalTensor<T>& src0 HOST_MODEL_COMMA const LocalTensor<T>& src1,              \
        src0.elements, HOST_MODEL_RUN_BINARY)

HOST_MODEL_LIBRARY_UNARY(Tanh, std::tanh(x))
HOST_MODEL_LIBRARY_UNARY(Sin, std::sin(x))
HOST_MODEL_LIBRARY_UNARY(Cos, std::cos(x))
HOST_MODEL_LIBRARY_UNARY(Tan, std::tan(x))
HOST_MODEL_LIBRARY_UNARY(Sinh, std::sinh(x))
HOST_MODEL_LIBRARY_UNARY(Cosh, std::cosh(x))
HOST_MODEL_LIBRARY_UNARY(Asin, std::asin(x))
HOST_MODEL_LIBRARY_UNARY(Acos, std::acos(x))
HOST_MODEL_LIBRARY_UNARY(Atan, std::atan(x))
HOST_MODEL_LIBRARY_UNARY(Asinh, std::asinh(x))
HOST_MODEL_LIBRARY_UNARY(Acosh, std::acosh(x))
HOST_MODEL_LIBRARY_UNARY(Atanh, std::atanh(x))
HOST_MODEL_LIBRARY_UNARY(Erf, std::erf(x))
HOST_MODEL_LIBRARY_UNARY(Erfc, std::erfc(x))
HOST_MODEL_LIBRARY_UNARY(Lgamma, std::lgamma(x))
HOST_MODEL_LIBRARY_UNARY(Digamma, ::host_model::digamma_of(x))
HOST_MODEL_LIBRARY_UNARY(Log, std::log(x))
HOST_MODEL_LIBRARY_UNARY(Log2, std::log2(x))
HOST_MODEL_LIBRARY_UNARY(Log10, std::log10(x))
HOST_MODEL_LIBRARY_UNARY(Ceil, std::ceil(x))
HOST_MODEL_LIBRARY_UNARY(Floor, std::floor(x))
HOST_MODEL_LIBRARY_UNARY(Trunc, std::trunc(x))
HOST_MODEL_LIBRARY_UNARY(Round, ::host_model::rint_of(x))
HOST_MODEL_LIBRARY_UNARY(Rint, ::host_model::rint_of(x))
HOST_MODEL_LIBRARY_UNARY(Frac, x - std::trunc(x))
HOST_MODEL_LIBRARY_UNARY(Sign, ::host_model::sign_of(x))
HOST_MODEL_LIBRARY_UNARY(Sigmoid, 1 / (1 + std::exp(-x)))
HOST_MODEL_LIBRARY_BINARY(Fmod, std::fmod(x, y))
HOST_MODEL_LIBRARY_BINARY(Hypot, std::hypot(x, y))
HOST_MODEL_LIBRARY_BINARY(Xor, static_cast<X>(x ^ y))
HOST_MODEL_LIBRARY_BINARY(GeGLU, x * ::host_model::gelu_of(y))
HOST_MODEL_LIBRARY_BINARY(ReGlu, x * (y > 0 ? y : 0))
HOST_MODEL_LIBRARY_BINARY(BitwiseAnd, static_cast<X>(x & y))
HOST_MODEL_LIBRARY_BINARY(BitwiseOr, static_cast<X>(x | y))
HOST_MODEL_LIBRARY_BINARY(BitwiseXor, static_cast<X>(x ^ y))

// Functions whose templates differ: Gelu and its variants.
#define HOST_MODEL_GELU(NAME, ...)                                                                 \
    struct HostModel##NAME {                                                                       \
        template <class X> auto operator()(X x) const { return __VA_ARGS__; }                      \
    };                                                                                             \
    template <class T, bool highPrecision = false, bool highPerformance = false>                   \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED,             \
              uint32_t dataSize, HOST_MODEL_WHERE) {                                               \
        HOST_MODEL_RUN_UNARY(NAME, dataSize, 0)                                                    \
    }                                                                                              \
    template <class T, bool highPrecision = false, bool highPerformance = false>                   \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,             \
              HOST_MODEL_WHERE) {                                                                  \
        HOST_MODEL_RUN_UNARY(NAME, dataSize, ::host_model::temporaries::NAME)                      \
    }
HOST_MODEL_GELU(Gelu, ::host_model::gelu_of(x))
HOST_MODEL_GELU(FasterGelu, x / (1 + std::exp(-1.702f * x)))
HOST_MODEL_GELU(FasterGeluV2, ::host_model::fast_gelu_of(x))

template <class T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,
          HOST_MODEL_WHERE) {
    ::host_model::library_unary("Silu", dst, src, dataSize, ::host_model::temporaries::Silu, where,
                                [](auto x) { return ::host_model::silu_of(x); });
}
template <class T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,
           ::host_model::Scalar<T> scalarValue, HOST_MODEL_WHERE) {
    float beta = static_cast<float>(scalarValue);
    ::host_model::library_unary("Swish", dst, src, dataSize, ::host_model::temporaries::Swish,
                                where, [beta](auto x) { return x / (1 + std::exp(-beta * x)); });
}
// src0 * Swish(src1).
#define HOST_MODEL_SWIGLU(NAME, SHARED, COUNT, ELEMENTS, TENSORS)                                  \
    template <class T, bool isReuseSource = false>                                                 \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
              float beta SHARED COUNT, HOST_MODEL_WHERE) {                                         \
        ::host_model::library_binary(                                                              \
            #NAME, dst, src0, src1, ELEMENTS, TENSORS, where,                                      \
            [beta](auto x, auto y) { return x * (y / (1 + std::exp(-beta * y))); });               \
    }
#define HOST_MODEL_ONE_SHARED , HOST_MODEL_SHARED
#define HOST_MODEL_ONE_COUNT , uint32_t calCount
HOST_MODEL_SWIGLU(SwiGLU, HOST_MODEL_ONE_SHARED, HOST_MODEL_ONE_COUNT, calCount, 0)
HOST_MODEL_SWIGLU(SwiGLU, HOST_MODEL_ONE_SHARED, , src0.elements, 0)
HOST_MODEL_SWIGLU(SwiGLU, , HOST_MODEL_ONE_COUNT, calCount, ::host_model::temporaries::SwiGLU)
HOST_MODEL_SWIGLU(SwiGLU, , , src0.elements, ::host_model::temporaries::SwiGLU)

// Power of tensor and tensor, tensor and scalar, scalar and tensor.
HOST_MODEL_LIBRARY_BINARY(Power, static_cast<X>(std::pow(x, y)))
#define HOST_MODEL_RUN_POWER_OF(NAME, COUNT, TENSORS)                                              \
    using C = ::host_model::Compute<T>;                                                            \
    ::host_model::library_unary(#NAME, dst, src0, COUNT, TENSORS, where,                           \
                                ::host_model::PowerOf<C>{static_cast<C>(src1)});
#define HOST_MODEL_RUN_POWER_BASE(NAME, COUNT, TENSORS)                                            \
    using C = ::host_model::Compute<T>;                                                            \
    ::host_model::library_unary(#NAME, dst, src1, COUNT, TENSORS, where,                           \
                                ::host_model::PowerBase<C>{static_cast<C>(src0)});
HOST_MODEL_LIBRARY_FORMS(Power,
                         const LocalTensor<T>& src0 HOST_MODEL_COMMA const
                         ::host_model::Scalar<T>& src1,
                         src0.elements, HOST_MODEL_RUN_POWER_OF)
HOST_MODEL_LIBRARY_FORMS(Power,
                         const ::host_model::Scalar<T>& src0 HOST_MODEL_COMMA const
                         LocalTensor<T>& src1,
                         src1.elements, HOST_MODEL_RUN_POWER_BASE)

#define HOST_MODEL_CLAMP(NAME, EXPRESSION)                                                         \
    template <class C> struct HostModel##NAME {                                                    \
        C c;                                                                                       \
        template <class X> X operator()(X x) const { return EXPRESSION; }                          \
    };                                                                                             \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,               \
                               HOST_MODEL_SHARED, ::host_model::Scalar<T> scalar,                  \
                               uint32_t calCount, HOST_MODEL_WHERE) {                              \
        using C = ::host_model::Compute<T>;                                                        \
        ::host_model::library_unary(#NAME, dst, src, calCount, 0, where,                           \
                                    HostModel##NAME<C>{static_cast<C>(scalar)});                   \
    }                                                                                              \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,               \
                               ::host_model::Scalar<T> scalar, uint32_t calCount,                  \
                               HOST_MODEL_WHERE) {                                                 \
        using C = ::host_model::Compute<T>;                                                        \
        ::host_model::library_unary(#NAME, dst, src, calCount, ::host_model::temporaries::Clamp,   \
                                    where, HostModel##NAME<C>{static_cast<C>(scalar)});            \
    }
HOST_MODEL_CLAMP(ClampMax, x > c ? c : x)
HOST_MODEL_CLAMP(ClampMin, x < c ? c : x)

// Exp with a Taylor level: the result is that of the exact function.
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED,
         uint32_t calCount, HOST_MODEL_WHERE) {
    ::host_model::library_unary("Exp", dst, src, calCount, 0, where,
                                [](auto x) { return std::exp(x); });
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t calCount,
         HOST_MODEL_WHERE) {
    ::host_model::library_unary("Exp", dst, src, calCount, ::host_model::temporaries::Exp, where,
                                [](auto x) { return std::exp(x); });
}
// dst += src * scalar; dst may be wider than src.
template <class T, class U, bool isReuseSource = false>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
          const ::host_model::Scalar<U>& scalarValue, HOST_MODEL_SHARED, uint32_t calCount,
          HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Axpy", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_count(op, src, calCount);
    auto from = op.in(src, 0, calCount);
    auto before = op.in(dst, 0, calCount, 1, "the destination");
    auto to = op.out(dst, 0, calCount);
    float scale = static_cast<float>(scalarValue);
    for (int64_t i = 0; i < to.count; ++i)
        to.data[i] = static_cast<T>(float(before.data[i]) + float(from.data[i]) * scale);
    op.derive(to, from, before);
}
// Sine and cosine at once.
struct SinCosConfig {
    bool isReuseSource = false;
};
inline constexpr SinCosConfig DEFAULT_SINCOS_CONFIG = {};
template <const SinCosConfig& config = DEFAULT_SINCOS_CONFIG, class T>
void SinCos(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src,
            HOST_MODEL_SHARED shared, uint32_t count, HOST_MODEL_WHERE) {
    Sin(dst0, src, shared, count, where);
    Cos(dst1, src, shared, count, where);
}
template <const SinCosConfig& config = DEFAULT_SINCOS_CONFIG, class T>
void SinCos(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src,
            uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::take_workspace(
        "SinCos", ::host_model::least_workspace(::host_model::temporaries::SinCos), where);
    SinCos<config>(dst0, dst1, src, LocalTensor<uint8_t>(), count, where);
}

// Truth values of a kind of number.
#define HOST_MODEL_KIND(NAME, ...)                                                                 \
    template <class T, class U, const auto&... config>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, HOST_MODEL_SHARED,             \
              uint32_t count, HOST_MODEL_WHERE) {                                                  \
        ::host_model::library_unary(#NAME, dst, src, count, 0, where,                              \
                                    [](auto x) { return static_cast<float>(__VA_ARGS__); });       \
    }                                                                                              \
    template <class T, class U, const auto&... config>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, uint32_t count,                \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::library_unary(#NAME, dst, src, count, ::host_model::temporaries::NAME,       \
                                    where,                                                         \
                                    [](auto x) { return static_cast<float>(__VA_ARGS__); });       \
    }
HOST_MODEL_KIND(IsInf, std::isinf(x))
HOST_MODEL_KIND(IsNan, std::isnan(x))
template <class T, class U>
void IsFinite(const LocalTensor<U>& dst, const LocalTensor<T>& src, uint32_t count,
              HOST_MODEL_WHERE) {
    ::host_model::library_unary("IsFinite", dst, src, count, 0, where,
                                [](auto x) { return static_cast<float>(std::isfinite(x)); });
}

} // namespace AscendC
