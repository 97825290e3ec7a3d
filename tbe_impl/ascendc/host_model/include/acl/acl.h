// The runtime's functions that host code beside a kernel calls. They only let such code compile: the
// model launches kernels itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

using aclError = int;
using aclrtStream = void*;
using aclrtContext = void*;
constexpr aclError ACL_SUCCESS = 0, ACL_ERROR_NONE = 0;
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtCreateContext(aclrtContext*, int32_t) { return ACL_SUCCESS; }
inline aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream*) { return ACL_SUCCESS; }
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtMalloc(void** data, size_t bytes, aclrtMemMallocPolicy) {
    return *data = std::malloc(bytes), *data ? ACL_SUCCESS : 1;
}
inline aclError aclrtMallocHost(void** data, size_t bytes) {
    return *data = std::malloc(bytes), *data ? ACL_SUCCESS : 1;
}
inline aclError aclrtFree(void* data) { return std::free(data), ACL_SUCCESS; }
inline aclError aclrtFreeHost(void* data) { return std::free(data), ACL_SUCCESS; }
inline aclError aclrtMemcpy(void* to, size_t, const void* from, size_t bytes, aclrtMemcpyKind) {
    return std::memcpy(to, from, bytes), ACL_SUCCESS;
}
inline aclError aclrtMemset(void* to, size_t, int32_t value, size_t bytes) {
    return std::memset(to, value, bytes), ACL_SUCCESS;
}
#define CHECK_ACL(call) (void)(call)
