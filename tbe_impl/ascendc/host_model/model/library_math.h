// The mathematical functions and activations of the library, which take hidden work space.
#pragma once

#include "elementwise.h"

namespace host_model {

// Work space that a function of this kind takes from the pipe when the caller gives none: `tensors`
// temporaries of one instruction's length in float. CANN's exact need depends on its version; this
// is the least that its documentation names.
inline uint64_t least_workspace(int tensors) { return static_cast<uint64_t>(tensors) * REPEAT_BYTES; }

struct Given {};  // the caller gives a tensor for the work space
struct Hidden {}; // the function takes it from UB

template <class T>
void check_count(Instruction& op, const AscendC::LocalTensor<T>& from, int64_t count) {
    op.check(count <= static_cast<int64_t>(from.elements), "argument",
             text_of("%s: a count of %lld elements, the source has %llu", op.name(),
                     static_cast<long long>(count), static_cast<unsigned long long>(from.elements)),
             "the count must not exceed the tensor");
}

// dst[i] = function(a[i]); computed in float, rounded once. `tensors` < 0: the caller gives work space.
template <class D, class T, class F>
void library_unary(const char* name, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<T>& a,
                   int64_t count, int tensors, const Where& where, F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, a);
    check_count(op, a, count);
    if (tensors > 0) take_workspace(name, least_workspace(tensors), where);
    apply_unary(op, dst, a, 0, 0, count, function);
}
template <class T, class F>
void library_binary(const char* name, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
                    const AscendC::LocalTensor<T>& b, int64_t count, int tensors, const Where& where,
                    F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, a, b);
    check_count(op, a, count);
    if (tensors > 0) take_workspace(name, least_workspace(tensors), where);
    apply_binary(op, dst, a, b, 0, 0, 0, count, function);
}

inline double erf_of(double x) { return std::erf(x); }
template <class T> T sign_of(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }
// Rounds halves to even.
template <class T> T rint_of(T x) { return std::nearbyint(x); }
inline float gelu_of(float x) {
    return static_cast<float>(x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * double(x) * x * x))));
}
inline float silu_of(float x) { return x / (1 + std::exp(-x)); }
inline float digamma_of(float value) {
    double x = value, out = 0;
    if (x <= 0 && x == std::floor(x)) return std::numeric_limits<float>::quiet_NaN();
    if (x < 0) return static_cast<float>(digamma_of(static_cast<float>(1 - x)) - M_PI / std::tan(M_PI * x));
    for (; x < 10; x += 1) out -= 1 / x;
    double square = 1 / (x * x);
    return static_cast<float>(out + std::log(x) - 0.5 / x -
                              square * (1.0 / 12 - square * (1.0 / 120 - square / 252)));
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_WHERE ::host_model::Where where = ::host_model::Where::here()
#define HOST_MODEL_SHARED const LocalTensor<uint8_t>&
#define HOST_MODEL_FORMS template <class T, bool isReuseSource = false, const auto&... config>

// The four forms of a function of one tensor: with work space or without, with a count or without.
#define HOST_MODEL_LIBRARY_UNARY(NAME, TENSORS, ...)                                                 \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, \
                               uint32_t calCount, HOST_MODEL_WHERE) {                                \
        ::host_model::library_unary(#NAME, dst, src, calCount, 0, where,                             \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, \
                               HOST_MODEL_WHERE) {                                                   \
        ::host_model::library_unary(#NAME, dst, src, src.elements, 0, where,                         \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                               uint32_t calCount, HOST_MODEL_WHERE) {                                \
        ::host_model::library_unary(#NAME, dst, src, calCount, TENSORS, where,                       \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_WHERE) { \
        ::host_model::library_unary(#NAME, dst, src, src.elements, TENSORS, where,                   \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }
// The same for two tensors.
#define HOST_MODEL_LIBRARY_BINARY(NAME, TENSORS, ...)                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                               const LocalTensor<T>& src1, HOST_MODEL_SHARED, uint32_t calCount,     \
                               HOST_MODEL_WHERE) {                                                   \
        ::host_model::library_binary(#NAME, dst, src0, src1, calCount, 0, where,                     \
                                     [](auto x, auto y) { return __VA_ARGS__; });                    \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                               const LocalTensor<T>& src1, HOST_MODEL_SHARED, HOST_MODEL_WHERE) {    \
        ::host_model::library_binary(#NAME, dst, src0, src1, src0.elements, 0, where,                \
                                     [](auto x, auto y) { return __VA_ARGS__; });                    \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                               const LocalTensor<T>& src1, uint32_t calCount, HOST_MODEL_WHERE) {    \
        ::host_model::library_binary(#NAME, dst, src0, src1, calCount, TENSORS, where,               \
                                     [](auto x, auto y) { return __VA_ARGS__; });                    \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                               const LocalTensor<T>& src1, HOST_MODEL_WHERE) {                       \
        ::host_model::library_binary(#NAME, dst, src0, src1, src0.elements, TENSORS, where,          \
                                     [](auto x, auto y) { return __VA_ARGS__; });                    \
    }

HOST_MODEL_LIBRARY_UNARY(Tanh, 1, std::tanh(x))
HOST_MODEL_LIBRARY_UNARY(Sin, 2, std::sin(x))
HOST_MODEL_LIBRARY_UNARY(Cos, 2, std::cos(x))
HOST_MODEL_LIBRARY_UNARY(Tan, 4, std::tan(x))
HOST_MODEL_LIBRARY_UNARY(Sinh, 1, std::sinh(x))
HOST_MODEL_LIBRARY_UNARY(Cosh, 2, std::cosh(x))
HOST_MODEL_LIBRARY_UNARY(Asin, 2, std::asin(x))
HOST_MODEL_LIBRARY_UNARY(Acos, 2, std::acos(x))
HOST_MODEL_LIBRARY_UNARY(Atan, 5, std::atan(x))
HOST_MODEL_LIBRARY_UNARY(Asinh, 3, std::asinh(x))
HOST_MODEL_LIBRARY_UNARY(Acosh, 1, std::acosh(x))
HOST_MODEL_LIBRARY_UNARY(Atanh, 1, std::atanh(x))
HOST_MODEL_LIBRARY_UNARY(Erf, 3, std::erf(x))
HOST_MODEL_LIBRARY_UNARY(Erfc, 7, std::erfc(x))
HOST_MODEL_LIBRARY_UNARY(Lgamma, 8, std::lgamma(x))
HOST_MODEL_LIBRARY_UNARY(Digamma, 8, ::host_model::digamma_of(x))
HOST_MODEL_LIBRARY_UNARY(Log, 0, std::log(x))
HOST_MODEL_LIBRARY_UNARY(Log2, 1, std::log2(x))
HOST_MODEL_LIBRARY_UNARY(Log10, 0, std::log10(x))
HOST_MODEL_LIBRARY_UNARY(Ceil, 1, std::ceil(x))
HOST_MODEL_LIBRARY_UNARY(Floor, 1, std::floor(x))
HOST_MODEL_LIBRARY_UNARY(Trunc, 1, std::trunc(x))
HOST_MODEL_LIBRARY_UNARY(Round, 1, ::host_model::rint_of(x))
HOST_MODEL_LIBRARY_UNARY(Rint, 1, ::host_model::rint_of(x))
HOST_MODEL_LIBRARY_UNARY(Frac, 1, x - std::trunc(x))
HOST_MODEL_LIBRARY_UNARY(Sign, 3, ::host_model::sign_of(x))
HOST_MODEL_LIBRARY_UNARY(Sigmoid, 1, 1 / (1 + std::exp(-x)))
HOST_MODEL_LIBRARY_BINARY(Fmod, 1, std::fmod(x, y))
HOST_MODEL_LIBRARY_BINARY(Hypot, 3, std::hypot(x, y))
HOST_MODEL_LIBRARY_BINARY(Xor, 1, static_cast<decltype(x)>(x ^ y))
HOST_MODEL_LIBRARY_BINARY(GeGLU, 4, x * ::host_model::gelu_of(y))
HOST_MODEL_LIBRARY_BINARY(ReGlu, 3, x * (y > 0 ? y : 0))
HOST_MODEL_LIBRARY_BINARY(BitwiseAnd, 0, static_cast<decltype(x)>(x & y))
HOST_MODEL_LIBRARY_BINARY(BitwiseOr, 0, static_cast<decltype(x)>(x | y))
HOST_MODEL_LIBRARY_BINARY(BitwiseXor, 0, static_cast<decltype(x)>(x ^ y))

// Functions whose templates differ: Gelu and its variants.
#define HOST_MODEL_GELU(NAME, TENSORS, ...)                                                          \
    template <class T, bool highPrecision = false, bool highPerformance = false>                     \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED,               \
              uint32_t dataSize, HOST_MODEL_WHERE) {                                                 \
        ::host_model::library_unary(#NAME, dst, src, dataSize, 0, where,                             \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }                                                                                                \
    template <class T, bool highPrecision = false, bool highPerformance = false>                     \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,               \
              HOST_MODEL_WHERE) {                                                                    \
        ::host_model::library_unary(#NAME, dst, src, dataSize, TENSORS, where,                       \
                                    [](auto x) { return __VA_ARGS__; });                             \
    }
HOST_MODEL_GELU(Gelu, 3, ::host_model::gelu_of(x))
HOST_MODEL_GELU(FasterGelu, 2, x / (1 + std::exp(-1.702f * x)))

template <class T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, HOST_MODEL_WHERE) {
    ::host_model::library_unary("Silu", dst, src, dataSize, 0, where,
                                [](auto x) { return ::host_model::silu_of(x); });
}
template <class T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,
           ::host_model::Scalar<T> beta, HOST_MODEL_WHERE) {
    float scale = static_cast<float>(beta);
    ::host_model::library_unary("Swish", dst, src, dataSize, 0, where,
                                [scale](auto x) { return x / (1 + std::exp(-scale * x)); });
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, float beta,
            HOST_MODEL_SHARED, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_binary("SwiGLU", dst, src0, src1, count, 0, where, [beta](auto x, auto y) {
        return x * (y / (1 + std::exp(-beta * y)));
    });
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, float beta,
            HOST_MODEL_SHARED shared, HOST_MODEL_WHERE) {
    SwiGLU(dst, src0, src1, beta, shared, static_cast<uint32_t>(src0.elements), where);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, float beta,
            uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("SwiGLU", ::host_model::least_workspace(4), where);
    SwiGLU(dst, src0, src1, beta, LocalTensor<uint8_t>(), count, where);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, float beta,
            HOST_MODEL_WHERE) {
    SwiGLU(dst, src0, src1, beta, static_cast<uint32_t>(src0.elements), where);
}

// Power of tensor and tensor, tensor and scalar, scalar and tensor.
HOST_MODEL_LIBRARY_BINARY(Power, 4, static_cast<decltype(x)>(std::pow(x, y)))
#define HOST_MODEL_POWER(ARGUMENTS, SOURCE, SCALAR, EXPRESSION)                                      \
    HOST_MODEL_FORMS void Power(const LocalTensor<T>& dst, ARGUMENTS, HOST_MODEL_SHARED, uint32_t count, \
                                HOST_MODEL_WHERE) {                                                  \
        ::host_model::Compute<T> c = SCALAR;                                                         \
        ::host_model::library_unary("Power", dst, SOURCE, count, 0, where,                           \
                                    [c](auto x) { return static_cast<decltype(x)>(EXPRESSION); });   \
    }                                                                                                \
    HOST_MODEL_FORMS void Power(const LocalTensor<T>& dst, ARGUMENTS, HOST_MODEL_SHARED, HOST_MODEL_WHERE) { \
        ::host_model::Compute<T> c = SCALAR;                                                         \
        ::host_model::library_unary("Power", dst, SOURCE, SOURCE.elements, 0, where,                 \
                                    [c](auto x) { return static_cast<decltype(x)>(EXPRESSION); });   \
    }                                                                                                \
    HOST_MODEL_FORMS void Power(const LocalTensor<T>& dst, ARGUMENTS, uint32_t count, HOST_MODEL_WHERE) { \
        ::host_model::Compute<T> c = SCALAR;                                                         \
        ::host_model::library_unary("Power", dst, SOURCE, count, 4, where,                           \
                                    [c](auto x) { return static_cast<decltype(x)>(EXPRESSION); });   \
    }                                                                                                \
    HOST_MODEL_FORMS void Power(const LocalTensor<T>& dst, ARGUMENTS, HOST_MODEL_WHERE) {            \
        ::host_model::Compute<T> c = SCALAR;                                                         \
        ::host_model::library_unary("Power", dst, SOURCE, SOURCE.elements, 4, where,                 \
                                    [c](auto x) { return static_cast<decltype(x)>(EXPRESSION); });   \
    }
#define HOST_MODEL_COMMA ,
HOST_MODEL_POWER(const LocalTensor<T>& base HOST_MODEL_COMMA const ::host_model::Scalar<T>& exponent, base,
                 exponent, std::pow(x, c))
HOST_MODEL_POWER(const ::host_model::Scalar<T>& base HOST_MODEL_COMMA const LocalTensor<T>& exponent,
                 exponent, base, std::pow(c, x))

#define HOST_MODEL_CLAMP(NAME, EXPRESSION)                                                           \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, \
                               ::host_model::Scalar<T> limit, uint32_t count, HOST_MODEL_WHERE) {    \
        ::host_model::Compute<T> c = limit;                                                          \
        ::host_model::library_unary(#NAME, dst, src, count, 0, where, [c](auto x) { return EXPRESSION; }); \
    }                                                                                                \
    HOST_MODEL_FORMS void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                               ::host_model::Scalar<T> limit, uint32_t count, HOST_MODEL_WHERE) {    \
        ::host_model::Compute<T> c = limit;                                                          \
        ::host_model::library_unary(#NAME, dst, src, count, 1, where, [c](auto x) { return EXPRESSION; }); \
    }
HOST_MODEL_CLAMP(ClampMax, x > c ? c : x)
HOST_MODEL_CLAMP(ClampMin, x < c ? c : x)

// Exp with a Taylor level: the result is that of the exact function.
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_unary("Exp", dst, src, count, 0, where, [](auto x) { return std::exp(x); });
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_unary("Exp", dst, src, count, 4, where, [](auto x) { return std::exp(x); });
}

// Truth values of a kind of number.
template <class T, class U>
void IsFinite(const LocalTensor<U>& dst, const LocalTensor<T>& src, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_unary("IsFinite", dst, src, count, 0, where,
                                [](auto x) { return static_cast<float>(std::isfinite(x)); });
}
template <class T, class U, const auto&... config>
void IsInf(const LocalTensor<T>& dst, const LocalTensor<U>& src, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_unary("IsInf", dst, src, count, 1, where,
                                [](auto x) { return static_cast<float>(std::isinf(x)); });
}
template <class T, class U, const auto&... config>
void IsNan(const LocalTensor<T>& dst, const LocalTensor<U>& src, uint32_t count, HOST_MODEL_WHERE) {
    ::host_model::library_unary("IsNan", dst, src, count, 1, where,
                                [](auto x) { return static_cast<float>(std::isnan(x)); });
}

} // namespace AscendC
