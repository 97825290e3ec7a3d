// Atomic modes: copies to global memory add to it, or take the larger or smaller value.
#pragma once

#include "data_copy.h"

namespace AscendC {

// Copies to global memory add to it, or take the larger or smaller value, until SetAtomicNone.
#define HOST_MODEL_ATOMIC(NAME, MODE)                                                              \
    template <class T> void NAME(HOST_MODEL_WHERE) {                                               \
        if (::host_model::atomic_code<T>() == 0)                                                   \
            ::host_model::core().fail("unsupported",                                               \
                                      std::string(#NAME) + " of " +                                \
                                          ::host_model::name_of_dtype<T>(),                        \
                                      "use int8_t, int16_t, half, bfloat16_t, int32_t or float",   \
                                      where);                                                      \
        ::host_model::core().atomic_mode = static_cast<int>(::host_model::Atomic::MODE);           \
        ::host_model::core().atomic_dtype = ::host_model::atomic_code<T>();                        \
    }
HOST_MODEL_ATOMIC(SetAtomicAdd, ADD)
HOST_MODEL_ATOMIC(SetAtomicMax, MAX)
HOST_MODEL_ATOMIC(SetAtomicMin, MIN)
template <class T> void SetAtomicType() {
    ::host_model::core().atomic_dtype = ::host_model::atomic_code<T>();
}
enum class AtomicDtype {
    ATOMIC_NONE = 0,
    ATOMIC_F32,
    ATOMIC_F16,
    ATOMIC_S16,
    ATOMIC_S32,
    ATOMIC_S8,
    ATOMIC_BF16
};
enum class AtomicOp { ATOMIC_SUM = 0 };
template <AtomicDtype type, AtomicOp op> void SetStoreAtomicConfig() {
    auto& core = ::host_model::core();
    core.atomic_mode = static_cast<int>(
        type == AtomicDtype::ATOMIC_NONE ? ::host_model::Atomic::NONE : ::host_model::Atomic::ADD);
    core.atomic_dtype = static_cast<int>(type);
}
inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
    auto& core = ::host_model::core();
    atomicType = static_cast<uint16_t>(core.atomic_mode ? core.atomic_dtype : 0);
    atomicOp = 0;
}
inline void SetAtomicNone() { ::host_model::core().atomic_mode = 0; }
inline void DisableDmaAtomic() { SetAtomicNone(); }

} // namespace AscendC
