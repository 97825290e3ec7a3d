// On-chip memory without a pipe: allocators, the rest of it, the hidden work space of functions.
#pragma once

#include "pipe.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

// Gives tensors one after the other, without queues.
template <Hardware hardware = Hardware::UB> class LocalMemAllocator {
    using Where = ::host_model::Where;

public:
    template <TPosition position, class T, uint32_t count>
    LocalTensor<T> Alloc(Where where = Where::here()) {
        return Alloc<position, T>(count, where);
    }
    template <class T, uint32_t count> LocalTensor<T> Alloc(Where where = Where::here()) {
        return Alloc<default_position(), T>(count, where);
    }
    template <TPosition position, class T>
    LocalTensor<T> Alloc(uint32_t count, Where where = Where::here()) {
        auto* buffer = ::host_model::allocate(position, uint64_t(count) * sizeof(T), 0, 1, "buffer", where);
        return {buffer, position, buffer->offset, count};
    }
    template <class T> LocalTensor<T> Alloc(uint32_t count, Where where = Where::here()) {
        return Alloc<default_position(), T>(count, where);
    }
    uint32_t GetCurAddr() const {
        return static_cast<uint32_t>(
            ::host_model::core().taken[static_cast<int>(::host_model::memory_of(default_position()))]);
    }

private:
    static constexpr TPosition default_position() {
        return hardware == Hardware::L1    ? TPosition::A1
               : hardware == Hardware::L0A ? TPosition::A2
               : hardware == Hardware::L0B ? TPosition::B2
               : hardware == Hardware::L0C ? TPosition::CO1
                                           : TPosition::VECCALC;
    }
};

// The rest of on-chip memory as a tensor, until the next call.
template <class T, TPosition position>
bool PopStackBuffer(LocalTensor<T>& tensor, ::host_model::Where where = ::host_model::Where::here()) {
    auto& core = ::host_model::core();
    auto memory = ::host_model::memory_of(position);
    uint64_t taken = core.taken[static_cast<int>(memory)], size = core.pad(memory).bytes();
    core.buffers.push_back({memory, static_cast<uint32_t>(taken), static_cast<uint32_t>(size - taken),
                            0, 1, "workspace", where});
    auto* buffer = &core.buffers.back();
    tensor = LocalTensor<T>(buffer, position, buffer->offset, buffer->bytes / sizeof(T));
    return size > taken;
}

} // namespace AscendC

namespace host_model {

// Checks that a library function finds `bytes` of hidden work space behind the kernel's buffers.
inline void take_workspace(const char* name, uint64_t bytes, const Where& where) {
    Core& own = core();
    uint64_t taken = own.taken[0], size = own.pad(Memory::UB).bytes();
    own.workspace_peak = std::max(own.workspace_peak, bytes);
    if (taken + bytes <= size) return;
    own.fail("workspace_overflow",
             text_of("%s takes %llu bytes of hidden work space from UB, which has %llu bytes; the "
                     "kernel's buffers leave %llu",
                     name, static_cast<unsigned long long>(bytes),
                     static_cast<unsigned long long>(size),
                     static_cast<unsigned long long>(size > taken ? size - taken : 0)),
             "shrink the buffers, or give the function a tensor for its work space", where);
}

} // namespace host_model
