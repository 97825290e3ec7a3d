// The words that CANN's compiler adds to C++, and the functions that ask which core runs.
#pragma once

#include "launch.h"

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __local_mem__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __vector__
#define __cube__
#define __mix__(...)
#define __sync_noalias__
#define __sync_alias__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#define __no_simd_vf_fusion__
#define __check_sync_alias__
#define __simd_vf__
#define __host_aicore__
#define __disable_kernel_type_autoinfer__
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif
#define __DAV_C220__ 1
#define __DAV_C220_VEC__ 1

using GM_ADDR = uint8_t*;

// Hints for branches.
constexpr bool likely(bool condition) { return condition; }
constexpr bool unlikely(bool condition) { return condition; }

// The compiler's own min and max, also of two types. The parameter pack, which is empty, makes them
// less specialised than functions of the same name in a kernel: the kernel's own are called.
template <class T, class U, class... None, class = std::enable_if_t<sizeof...(None) == 0>>
constexpr std::common_type_t<T, U> min(const T& a, const U& b, const None&...) {
    return b < a ? b : a;
}
template <class T, class U, class... None, class = std::enable_if_t<sizeof...(None) == 0>>
constexpr std::common_type_t<T, U> max(const T& a, const U& b, const None&...) {
    return a < b ? b : a;
}
template <class T> constexpr T min(std::initializer_list<T> values) { return std::min(values); }
template <class T> constexpr T max(std::initializer_list<T> values) { return std::max(values); }

#define KERNEL_TYPE_AIV_ONLY 1
#define KERNEL_TYPE_AIC_ONLY 2
#define KERNEL_TYPE_MIX_AIV_1_0 3
#define KERNEL_TYPE_MIX_AIC_1_0 4
#define KERNEL_TYPE_MIX_AIC_1_1 5
#define KERNEL_TYPE_MIX_AIC_1_2 6
#define KERNEL_TYPE_AICORE 7
#define KERNEL_TYPE_VECTORCORE 8
#define KERNEL_TYPE_MIX_AICORE 9
#define KERNEL_TYPE_MIX_VECTOR_CORE 10
#define KERNEL_TASK_TYPE_DEFAULT(value) ((void)(value))
#define KERNEL_TASK_TYPE(key, value) ((void)(value))
#define ASCEND_IS_AIV (!::host_model::core().is_cube)
#define ASCEND_IS_AIC (::host_model::core().is_cube)
#define ASCEND_IS_NOT_AIV (!(ASCEND_IS_AIV))
#define ASCEND_IS_NOT_AIC (!(ASCEND_IS_AIC))

namespace AscendC {

using ::bfloat16_t;
using ::float16_t;
using ::half;

template <class A, class B> struct IsSameType : std::is_same<A, B> {};

enum class TPosition : uint8_t {
    GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM,
    TSCM, C2PIPE2GM, C2PIPE2LOCAL, MAX,
};
using QuePosition = TPosition;

// Number of this core among those of the launch.
inline int64_t GetBlockIdx() { return ::host_model::core().index; }
inline int64_t GetBlockNum() { return ::host_model::launch_state().blocks; }
inline int64_t GetSubBlockIdx() { return ::host_model::core().sub_block; }
inline int64_t GetSubBlockNum() { return ::host_model::core().sub_blocks; }
inline int64_t GetTaskRatio() { return ::host_model::core().sub_blocks; }
inline void InitSocState() {}
inline constexpr uint32_t GetDataBlockSizeInBytes() { return 32; }
inline uint32_t GetUBSizeInBytes() {
    return static_cast<uint32_t>(::host_model::core().chip.bytes[0]);
}
inline uint32_t GetRuntimeUBSize() { return GetUBSizeInBytes(); }
inline constexpr uint32_t GetVecLen() { return 256; }

} // namespace AscendC

inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }

namespace host_model {

// Stands for `kernel<<<blocks, l2, stream>>>` in host code, which the model does not run.
struct LaunchCall {
    uint32_t blocks;
    template <class... A> void operator()(const A&...) const {}
};

inline Memory memory_of(AscendC::TPosition position) {
    using P = AscendC::TPosition;
    switch (position) {
    case P::A1: case P::B1: case P::C1: case P::TSCM: return Memory::L1;
    case P::A2: return Memory::L0A;
    case P::B2: return Memory::L0B;
    case P::C2: return Memory::BIAS;
    case P::CO1: return Memory::L0C;
    case P::C2PIPE2GM: return Memory::FIXPIPE;
    default: return Memory::UB;
    }
}

// The pipe that fills a queue at this position, and the one that empties it.
inline Pipe filling_pipe(AscendC::TPosition position) {
    using P = AscendC::TPosition;
    switch (position) {
    case P::GM: case P::VECIN: case P::A1: case P::B1: case P::C1: return Pipe::MTE2;
    case P::A2: case P::B2: case P::C2: return Pipe::MTE1;
    case P::CO1: return Pipe::M;
    case P::CO2: return Pipe::FIX;
    default: return Pipe::V;
    }
}
inline Pipe emptying_pipe(AscendC::TPosition position) {
    using P = AscendC::TPosition;
    switch (position) {
    case P::VECOUT: case P::GM: return Pipe::MTE3;
    case P::A1: case P::B1: case P::C1: case P::TSCM: return Pipe::MTE1;
    case P::A2: case P::B2: case P::C2: return Pipe::M;
    case P::CO1: return Pipe::FIX;
    default: return Pipe::V;
    }
}

} // namespace host_model
