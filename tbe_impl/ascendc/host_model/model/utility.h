// Scalars, printing, assertions, caches, atomics on scalars, tensor lists, constants.
#pragma once

#include <cassert>
#include <chrono>
#include <tuple>
#include <utility>

#include "cast.h"
#include "data_copy.h"

namespace host_model {

// Formats as printf does; 16-bit floats pass as numbers.
template <class T> decltype(auto) printable(const T& value) {
    if constexpr (is_small_float<T>)
        return static_cast<double>(static_cast<float>(value));
    else if constexpr (std::is_class<T>::value)
        return static_cast<typename T::T>(value);
    else
        return value;
}
template <class... A> std::string formatted(const char* format, const A&... arguments) {
    std::string text(512, '\0');
    int length = std::snprintf(&text[0], text.size(), format, printable(arguments)..., 0);
    if (length >= static_cast<int>(text.size())) {
        text.resize(static_cast<size_t>(length) + 1);
        std::snprintf(&text[0], text.size(), format, printable(arguments)..., 0);
    }
    text.resize(static_cast<size_t>(std::max(length, 0)));
    return text;
}

// Adds text to the report's output; each line begins with the number of the core.
inline void print_from_core(const std::string& text) {
    if (!current_core) {
        std::fputs(text.c_str(), stderr);
        return;
    }
    report().print(text_of("[core %d] ", core().index) + text);
}

template <class... A>
void check_assertion(const char* text, const Where& where, bool holds, const A&... message) {
    if (holds) return;
    std::string more;
    if constexpr (sizeof...(A) > 0) more = ": " + formatted(message...);
    while (!more.empty() && more.back() == '\n') more.pop_back();
    if (!current_core) {
        std::fprintf(stderr, "%s:%d: assertion failed: %s%s\n", where.file, where.line, text,
                     more.c_str());
        std::abort();
    }
    core().fail("assert", text_of("assertion failed: %s", text) + more,
                "the kernel's own assertion: check the values that it names", where);
}

} // namespace host_model

// printf of a kernel. The macro names a function, so that AscendC::printf means it, too.
template <class... A> int HostModelPrint(const char* format, const A&... arguments) {
    std::string text = ::host_model::formatted(format, arguments...);
    ::host_model::print_from_core(text);
    return static_cast<int>(text.size());
}
namespace std {
using ::HostModelPrint; // of std::printf
}
#define printf(...) HostModelPrint(__VA_ARGS__)

#define HOST_MODEL_ASSERT(...)                                                                     \
    ::host_model::check_assertion(#__VA_ARGS__, ::host_model::Where::here(), __VA_ARGS__)
#undef assert
#define assert(...) HOST_MODEL_ASSERT(__VA_ARGS__)
#define ascendc_assert(...) HOST_MODEL_ASSERT(__VA_ARGS__)
#define ASSERT(...) HOST_MODEL_ASSERT(__VA_ARGS__)
// The second argument is code that reports the failure.
#define ASCENDC_ASSERT(condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            __VA_ARGS__;                                                                           \
            ::host_model::check_assertion(#condition, ::host_model::Where::here(), false);         \
        }                                                                                          \
    } while (0)
#define KERNEL_INFO "INFO"
#define KERNEL_WARN "WARN"
#define KERNEL_WARNING "WARN"
#define KERNEL_ERROR "ERROR"
#define KERNEL_DEBUG "DEBUG"
#define KERNEL_LOG(level, ...)                                                                     \
    ::host_model::print_from_core(std::string(level) + ": " +                                      \
                                  ::host_model::formatted(__VA_ARGS__) + "\n")

namespace host_model {

template <class T> std::string element_text(const T& value) {
    if constexpr (is_floating<T>)
        return text_of("%f", static_cast<double>(static_cast<Compute<T>>(value)));
    else if constexpr (std::is_signed<T>::value)
        return text_of("%lld", static_cast<long long>(value));
    else
        return text_of("%llu", static_cast<unsigned long long>(value));
}
// Prints elements; "?" stands for one that nobody wrote, "-" for one past the tensor.
template <class Tensor>
void dump(const char* name, const Tensor& tensor, uint32_t desc, int64_t first, int64_t count,
          const AscendC::ShapeInfo* shape, const Where& where) {
    using T = typename Tensor::PrimType;
    Instruction op(Pipe::S, name, where);
    int64_t rows = 1, shown = count;
    if (shape && shape->shapeDim) {
        shown = 1;
        for (int i = 0; i < shape->shapeDim; ++i) shown *= shape->shape[i];
        rows =
            std::max<int64_t>(1, shown / std::max<int64_t>(1, shape->shape[shape->shapeDim - 1]));
    }
    auto from = op.in(tensor, first, std::min(count, shown));
    std::string text = text_of("%s: line %d, desc %u, %lld elements of %s\n[", name, where.line,
                               desc, static_cast<long long>(shown), name_of_dtype<T>());
    for (int64_t i = 0; i < shown; ++i) {
        if (i) text += rows > 1 && i % (shown / rows) == 0 ? ",\n " : ", ";
        text += i >= from.count ? "-" : from.state(i) == 1 ? element_text(from.data[i]) : "?";
    }
    print_from_core(text + "]\n");
}

// An atomic function of an element of global memory; returns the element before.
template <class T, class F>
T atomic(const char* name, T* address, const Where& where, F&& function) {
    Instruction op(Pipe::S, name, where);
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(address);
    auto to = op.out(tensor, 0, 1, true);
    std::lock_guard<std::mutex> lock(atomic_lock(address));
    if (to.state(0) != 1)
        op.fail("undefined", text_of("%s of an element that nobody wrote", name), "set it first");
    T before = *to.data;
    *to.data = function(before);
    return before;
}

} // namespace host_model

namespace AscendC {

using ::HostModelPrint;
template <class... A> void PRINTF(const char* format, const A&... arguments) {
    HostModelPrint(format, arguments...);
}

template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpTensor", tensor, desc, 0, dumpSize, nullptr, where);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpTensor", tensor, desc, 0, dumpSize, nullptr, where);
}
template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize,
                const ShapeInfo& shapeInfo, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpTensor", tensor, desc, 0, dumpSize, &shapeInfo, where);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize,
                const ShapeInfo& shapeInfo, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpTensor", tensor, desc, 0, dumpSize, &shapeInfo, where);
}
template <class T>
void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t countOff,
                     uint32_t dumpSize, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpAccChkPoint", tensor, index, countOff, dumpSize, nullptr, where);
}
template <class T>
void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t countOff,
                     uint32_t dumpSize, HOST_MODEL_WHERE) {
    ::host_model::dump("DumpAccChkPoint", tensor, index, countOff, dumpSize, nullptr, where);
}
template <class T> void LocalTensor<T>::Print(uint32_t count, ::host_model::Where where) const {
    ::host_model::dump("Print", *this, 0, 0, count ? count : static_cast<int64_t>(elements),
                       nullptr, where);
}
inline void PrintTimeStamp(uint32_t) {}
inline void Trap(HOST_MODEL_WHERE) {
    ::host_model::core().fail("assert", "the kernel called Trap()",
                              "check the values that led here", where);
}

// Cycles of a clock of 50 MHz.
inline int64_t GetSystemCycle() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() / 20;
}
inline int64_t GetProgramCounter() { return 0; }
inline int64_t GetArchVersion() { return 0x220; }

// Bits of integers.
template <int countValue> int64_t GetBitCount(uint64_t valueIn) {
    int64_t ones = __builtin_popcountll(valueIn);
    return countValue ? ones : 64 - ones;
}
inline int64_t CountLeadingZero(uint64_t valueIn) {
    return valueIn ? __builtin_clzll(valueIn) : 64;
}
template <int countValue> int64_t GetSFFValue(uint64_t valueIn) {
    uint64_t bits = countValue ? valueIn : ~valueIn;
    return bits ? __builtin_ctzll(bits) : -1;
}
inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) {
    return valueIn == 0 || valueIn == -1 ? -1 : __builtin_clrsbll(valueIn);
}
template <int countValue> int64_t ScalarGetCountOfValue(uint64_t valueIn) {
    return GetBitCount<countValue>(valueIn);
}
inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }
template <int countValue> int64_t ScalarGetSFFValue(uint64_t valueIn) {
    return GetSFFValue<countValue>(valueIn);
}
constexpr int32_t CeilDivision(int32_t num1, int32_t num2) {
    return num2 == 0 ? 0 : static_cast<int32_t>((static_cast<int64_t>(num1) + num2 - 1) / num2);
}
// Quotients and multiples rounded up. The empty pack lets a kernel's own functions of these names
// win in overload resolution.
template <class A, class B, class... None,
          class = std::enable_if_t<std::is_integral<A>::value && std::is_integral<B>::value &&
                                   sizeof...(None) == 0>>
constexpr std::common_type_t<A, B> DivCeil(A a, B b, None...) {
    using C = std::common_type_t<A, B>;
    return b == 0 ? C(0) : (C(a) + C(b) - 1) / C(b);
}
template <class A, class B, class... None,
          class = std::enable_if_t<std::is_integral<A>::value && std::is_integral<B>::value &&
                                   sizeof...(None) == 0>>
constexpr std::common_type_t<A, B> Ceil(A a, B b, None...) {
    return DivCeil(a, b);
}
template <class A, class B, class... None,
          class = std::enable_if_t<std::is_integral<A>::value && std::is_integral<B>::value &&
                                   sizeof...(None) == 0>>
constexpr std::common_type_t<A, B> AlignUp(A a, B b, None...) {
    return DivCeil(a, b) * std::common_type_t<A, B>(b);
}
template <int count = 1> void Nop() {}

// Caches: the model has none, so that each access sees global memory.
enum class CacheLine { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
template <class T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {}
template <class T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <class T> void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}
inline void ICachePreLoad(int64_t) {}
inline int64_t GetICachePreloadStatus() { return 0; }

// Elements of global memory by address.
template <class T> T ReadGmByPassDCache(T* addr, HOST_MODEL_WHERE) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(addr);
    return tensor.GetValue(0, where);
}
template <class T>
void WriteGmByPassDCache(T* addr, ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(addr);
    tensor.SetValue(0, value, where);
}
template <class T> T AtomicAdd(T* address, ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    return ::host_model::atomic("AtomicAdd", address, where,
                                [&](T x) { return static_cast<T>(x + value); });
}
template <class T> T AtomicMax(T* address, ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    return ::host_model::atomic("AtomicMax", address, where,
                                [&](T x) { return std::max(x, value); });
}
template <class T> T AtomicMin(T* address, ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    return ::host_model::atomic("AtomicMin", address, where,
                                [&](T x) { return std::min(x, value); });
}
template <class T> T AtomicExch(T* address, ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    return ::host_model::atomic("AtomicExch", address, where, [&](T) { return value; });
}
template <class T>
T AtomicCas(T* address, ::host_model::Scalar<T> value1, ::host_model::Scalar<T> value2,
            HOST_MODEL_WHERE) {
    return ::host_model::atomic("AtomicCas", address, where,
                                [&](T x) { return x == value1 ? value2 : x; });
}

// Control register.
template <int8_t startBit, int8_t endBit> void SetCtrlSpr(int64_t value) {
    constexpr uint64_t mask =
        (endBit - startBit == 63 ? ~0ull : (1ull << (endBit - startBit + 1)) - 1) << startBit;
    uint64_t& control = ::host_model::core().registers.control;
    control = (control & ~mask) | (static_cast<uint64_t>(value) << startBit & mask);
}
template <int8_t startBit, int8_t endBit> int64_t GetCtrlSpr() {
    constexpr uint64_t mask =
        endBit - startBit == 63 ? ~0ull : (1ull << (endBit - startBit + 1)) - 1;
    return static_cast<int64_t>(::host_model::core().registers.control >> startBit & mask);
}
template <int8_t startBit, int8_t endBit> void ResetCtrlSpr() { SetCtrlSpr<startBit, endBit>(0); }

enum class EngineType { AIC, AIV };
// Runs a function on cube or on vector cores.
template <EngineType engine, auto funPtr, class... Args> void Async(Args... args) {
    if ((engine == EngineType::AIC) == ::host_model::core().is_cube) funPtr(args...);
}

// A list of tensors in global memory: the offset of the addresses in bytes, for each tensor a word
// with its number of dimensions (low half) and its index (high half) and the sizes, then the
// addresses.
template <class T> class TensorDesc {
public:
    void SetShapeAddr(uint64_t* shapePtr) { shape = shapePtr; }
    uint64_t GetDim() const { return dims; }
    uint64_t GetIndex() const { return index; }
    uint64_t GetShape(uint32_t offset) const { return shape[offset]; }
    T* GetDataPtr() const { return data; }
    GlobalTensor<T> GetDataObj() const {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data);
        return tensor;
    }
    uint64_t* shape = nullptr;
    uint64_t dims = 0, index = 0;
    T* data = nullptr;
};
class ListTensorDesc {
public:
    ListTensorDesc() = default;
    ListTensorDesc(void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
        Init(data, length, shapeSize);
    }
    void Init(void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
        words_ = static_cast<uint64_t*>(data);
        size_ = 0;
        pointers_ = words_ + words_[0] / 8;
        for (uint64_t* at = words_ + 1; at < pointers_; at += 1 + (*at & 0xffffffff)) ++size_;
        (void)length, (void)shapeSize;
    }
    template <class T> void GetDesc(TensorDesc<T>& desc, uint32_t index, HOST_MODEL_WHERE) {
        check(index, where);
        if (!desc.shape)
            ::host_model::core().fail("argument",
                                      "GetDesc of a TensorDesc without memory for the shape",
                                      "call SetShapeAddr first", where);
        uint64_t* at = words_ + 1;
        for (uint32_t i = 0; i < index; ++i) at += 1 + (*at & 0xffffffff);
        desc.dims = *at & 0xffffffff;
        desc.index = *at >> 32;
        for (uint64_t i = 0; i < desc.dims; ++i) desc.shape[i] = at[1 + i];
        desc.data = reinterpret_cast<T*>(pointers_[index]);
    }
    template <class T> T* GetDataPtr(uint32_t index, HOST_MODEL_WHERE) {
        check(index, where);
        return reinterpret_cast<T*>(pointers_[index]);
    }
    uint32_t GetSize() const { return size_; }

private:
    void check(uint32_t index, const ::host_model::Where& where) const {
        if (words_ && index < size_) return;
        ::host_model::core().fail("argument",
                                  ::host_model::text_of("tensor %u of a list of %u", index, size_),
                                  "GetSize() is the number of tensors", where);
    }
    uint64_t* words_ = nullptr;
    uint64_t* pointers_ = nullptr;
    uint32_t size_ = 0;
};

constexpr uint32_t ONE_BLK_SIZE = 32, DEFAULT_C0_SIZE = 32, DEFAULT_BLK_SIZE = 256,
                   ONE_REPEAT_BYTE_SIZE = 256, TOTAL_VEC_LOCAL_SIZE = 184 * 1024;

template <class T> struct NumericLimits {
    static constexpr T Max() { return limit(0x7bff, 0x7f7f, std::numeric_limits<T>::max()); }
    static constexpr T Lowest() { return limit(0xfbff, 0xff7f, std::numeric_limits<T>::lowest()); }
    static constexpr T Min() { return limit(0x0400, 0x0080, std::numeric_limits<T>::min()); }
    static constexpr T Infinity() {
        return limit(0x7c00, 0x7f80, std::numeric_limits<T>::infinity());
    }
    static constexpr T NegativeInfinity() {
        return limit(0xfc00, 0xff80, -std::numeric_limits<T>::infinity());
    }
    static constexpr T QuietNaN() {
        return limit(0x7e00, 0x7fc0, std::numeric_limits<T>::quiet_NaN());
    }
    static constexpr T DeNormMin() {
        return limit(0x0001, 0x0001, std::numeric_limits<T>::denorm_min());
    }

private:
    template <class V> static constexpr T limit(uint16_t half_bits, uint16_t bfloat_bits, V other) {
        if constexpr (::host_model::is_half<T>)
            return T(::host_model::half_to_float(half_bits));
        else if constexpr (::host_model::is_bfloat<T>)
            return T(::host_model::bfloat_to_float(bfloat_bits));
        else
            return static_cast<T>(other);
    }
};

// The documented parts of the standard library, under the name that kernels use.
namespace Std = ::std;

} // namespace AscendC
