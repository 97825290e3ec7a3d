// Tiling data in the kernel: structures, keys, workspaces.
#pragma once

#include "pipe.h"

// Numbers of data types, for `#if ORIG_DTYPE_X == DT_FLOAT16`.
#define DT_FLOAT 0
#define DT_FLOAT16 1
#define DT_INT8 2
#define DT_INT32 3
#define DT_UINT8 4
#define DT_INT16 6
#define DT_UINT16 7
#define DT_UINT32 8
#define DT_INT64 9
#define DT_UINT64 10
#define DT_DOUBLE 11
#define DT_BOOL 12
#define DT_BF16 27

namespace host_model {

// Reads a tiling structure from global memory.
template <class T> T read_tiling(const void* address, const Where& where) {
    T data{};
    Allocation* found = global_memory().find(address);
    if (!found)
        core().fail("argument", "the tiling pointer is in no tensor of the launch",
                    "pass the kernel's tiling parameter", where);
    uint64_t offset = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - found->base);
    if (offset + sizeof(T) > found->bytes)
        core().fail("argument",
                    text_of("the tiling structure has %zu bytes, the tiling data %llu", sizeof(T),
                            static_cast<unsigned long long>(found->bytes)),
                    "the tiling function and the kernel must use the same structure", where);
    std::memcpy(static_cast<void*>(&data), address, sizeof(T));
    return data;
}

} // namespace host_model

// The request declares `HostModelDefaultTiling` for GET_TILING_DATA; REGISTER_TILING_DEFAULT
// declares it anew in the kernel's scope.
#define REGISTER_TILING_DEFAULT(type) using HostModelDefaultTiling = type
#define REGISTER_TILING_FOR_TILINGKEY(condition, type) static_assert(sizeof(type) > 0, "")
#define REGISTER_NONE_TILING
#define GET_TILING_DATA(name, pointer)                                                               \
    HostModelDefaultTiling name =                                                                    \
        ::host_model::read_tiling<HostModelDefaultTiling>(pointer, ::host_model::Where::here())
#define GET_TILING_DATA_WITH_STRUCT(type, name, pointer)                                             \
    type name = ::host_model::read_tiling<type>(pointer, ::host_model::Where::here())
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, pointer)                                         \
    type name##HostModelCopy = ::host_model::read_tiling<type>(pointer, ::host_model::Where::here()); \
    type* name = &name##HostModelCopy
#define GET_TILING_DATA_MEMBER(type, member, name, pointer)                                          \
    auto name = ::host_model::read_tiling<type>(pointer, ::host_model::Where::here()).member
#define COPY_TILING_WITH_STRUCT(type, source, name)                                                  \
    type name##HostModelCopy = *reinterpret_cast<const type*>(&(source));                            \
    type* name = &name##HostModelCopy
#define COPY_TILING_WITH_ARRAY(type, count, source, name)                                            \
    type name##HostModelCopy[count];                                                                 \
    std::memcpy(name##HostModelCopy, &(source), sizeof(name##HostModelCopy));                        \
    type(*name)[count] = &name##HostModelCopy
#define TILING_KEY_IS(key) (::host_model::launch_state().tiling_key == static_cast<uint64_t>(key))
#define TILING_KEY_VAR (::host_model::launch_state().tiling_key)
#define TILING_KEY_LIST(...) static_assert(true, "")

namespace AscendC {

// The user's part of the workspace; the model's system part is empty.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
inline GM_ADDR GetSysWorkSpacePtr() { return ::host_model::launch_state().workspace; }
inline void SetSysWorkSpace(GM_ADDR) {}
inline void SetSysWorkspace(GM_ADDR) {}

} // namespace AscendC

// Kernels call it without its namespace.
using AscendC::GetSysWorkSpacePtr;
