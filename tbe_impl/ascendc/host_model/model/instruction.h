// `Instruction`, through which API functions touch tensors: checks and definedness.
#pragma once

#include <forward_list>

#include "tensor.h"

namespace host_model {

// One instruction of an API function: takes spans of its operands, which checks bounds, alignment
// and order, and passes definedness on from inputs to outputs.
class Instruction {
public:
    Instruction(Pipe pipe, const char* name, const Where& where)
        : pipe_(pipe), name_(name), where_(where), core_(core()) {
        core_.issue(pipe, where);
    }
    Instruction(Instruction&&) = default;
    ~Instruction() {
        for (const Detached& one : detached_) one.store();
    }

    // Elements [first, first + count) of an on-chip tensor, to be read or written.
    // `alignment` is what the start must be a multiple of, in bytes.
    template <class T>
    Span<T> in(const AscendC::LocalTensor<T>& tensor, int64_t first, int64_t count,
               uint32_t alignment = 1, const char* operand = "a source") {
        return local(tensor, first, count, alignment, false, operand);
    }
    template <class T>
    Span<T> out(const AscendC::LocalTensor<T>& tensor, int64_t first, int64_t count,
                uint32_t alignment = 1, const char* operand = "the destination") {
        return local(tensor, first, count, alignment, true, operand);
    }
    // Elements of a tensor in global memory.
    template <class T>
    Span<T> in(const AscendC::GlobalTensor<T>& tensor, int64_t first, int64_t count) {
        core_.bytes_read += count * sizeof(T);
        return global(tensor, first, count, false, false);
    }
    template <class T>
    Span<T> out(const AscendC::GlobalTensor<T>& tensor, int64_t first, int64_t count,
                bool atomic = false) {
        core_.bytes_written += count * sizeof(T);
        return global(tensor, first, count, true, atomic);
    }

    // Element i of `to` depends on element i of each source.
    template <class T> void derive(const Span<T>& to) { define(to.shadow, to.count * sizeof(T)); }
    template <class T, class... Sources>
    void derive(const Span<T>& to, const Sources&... sources) {
        if (!to.shadow) return;
        if ((sources.whole && ...)) return define(to.shadow, to.count * sizeof(T));
        for (int64_t i = 0; i < to.count; ++i) {
            uint8_t state = 1;
            ((state = state == 1 ? sources.state(i) : state), ...);
            set(to, i, state);
        }
    }
    // Each element of `to` depends on all elements of the sources.
    template <class T, class... Sources>
    void derive_all(const Span<T>& to, const Sources&... sources) {
        if (!to.shadow) return;
        uint8_t state = 1;
        if (!(sources.whole && ...))
            ((state = state == 1 ? first_undefined(sources) : state), ...);
        for (int64_t i = 0; i < to.count; ++i) set(to, i, state);
    }
    // Sets the state of an element from a source's state, as `Span::state` returns it.
    template <class T> void set(const Span<T>& to, int64_t i, uint8_t state) {
        if (!to.shadow) return;
        if (state == 0) state = undefined_code();
        std::memset(to.shadow + i * sizeof(T), state, sizeof(T));
    }
    // Fails if an element is undefined, for values that decide what is done (indices, scalars).
    template <class T> void require(const Span<T>& from, const char* what, uint64_t first = 0) {
        if (from.whole) return;
        int64_t at = 0;
        while (from.state(at) == 1) ++at;
        uint8_t state = from.state(at);
        fail("undefined",
             text_of("%s uses element %lld of %s, which nobody wrote", name_,
                     static_cast<long long>(first) + static_cast<long long>(at), what),
             "fill the whole buffer before it is read", state >= 2 ? undefined_sites().site(state) : Where{},
             state >= 2 ? "first computed from undefined values here" : "");
    }

    [[noreturn]] void fail(const char* kind, std::string message, std::string remedy,
                           Where other = {}, std::string relation = "") {
        core_.fail(kind, std::move(message), std::move(remedy), where_, other, std::move(relation));
    }
    // Adds an error; the instruction goes on if `possible`.
    void note(bool possible, const char* kind, std::string message, std::string remedy,
              Where other = {}, std::string relation = "") {
        if (!possible)
            fail(kind, std::move(message), std::move(remedy), other, std::move(relation));
        core_.note(kind, std::move(message), std::move(remedy), where_, other, std::move(relation));
    }
    void warn(const char* kind, std::string message, std::string remedy) {
        core_.warn(kind, std::move(message), std::move(remedy), where_);
    }
    // Fails unless `holds`.
    void check(bool holds, const char* kind, const std::string& message, const std::string& remedy) {
        if (!holds) fail(kind, message, remedy);
    }
    // Counts elements whose integer result wrapped, or whose finite operands gave an infinite half.
    void count_overflow(uint64_t elements, const char* dtype) {
        if (!elements) return;
        core_.overflows += elements;
        Finding one{"overflow", text_of("%s overflows in %s", name_, dtype),
                    "compute in a wider type: Cast to float or int32_t first", where_, core_.index};
        one.count = elements;
        report().add_warning(std::move(one));
    }
    uint8_t undefined_code() { return core_.undefined_code(where_); }
    Core& owner() { return core_; }
    const char* name() const { return name_; }
    const Where& where() const { return where_; }

private:
    static void define(uint8_t* shadow, uint64_t bytes) {
        if (shadow) std::memset(shadow, 1, bytes);
    }
    template <class T> static uint8_t first_undefined(const Span<T>& span) {
        for (int64_t i = 0; i < span.count; ++i)
            if (span.state(i) != 1) return span.state(i);
        return 1;
    }
    template <class T>
    __attribute__((noinline)) Span<T> local(const AscendC::LocalTensor<T>& tensor, int64_t first, int64_t count,
                  uint32_t alignment, bool write, const char* operand) {
        Memory memory = memory_of(tensor.position);
        Buffer* buffer = tensor.buffer;
        if (!buffer)
            fail("argument", text_of("%s: %s is a tensor without memory", name_, operand),
                 "take it from AllocTensor, DeQue or TBuf::Get first");
        if (count < 0)
            fail("argument", text_of("%s: a count of %lld elements", name_,
                                     static_cast<long long>(count)),
                 "check the arithmetic of the count: it is negative, or an unsigned value wrapped");
        if (buffer->state == Buffer::FREE)
            note(true, "queue",
                 text_of("%s uses %s after FreeTensor", name_, Core::name_of_buffer(*buffer).c_str()),
                 "free the tensor after its last use", buffer->changed, "freed here");
        int64_t begin = static_cast<int64_t>(tensor.offset) + first * static_cast<int64_t>(sizeof(T));
        int64_t size = count * static_cast<int64_t>(sizeof(T));
        int64_t end = static_cast<int64_t>(buffer->offset) + buffer->bytes;
        Scratchpad& pad = core_.pad(memory);
        if (begin < static_cast<int64_t>(buffer->offset) || begin + size > end)
            note(begin >= 0 && begin + size <= static_cast<int64_t>(pad.bytes()), "out_of_range",
                 text_of("%s: %s spans bytes %lld to %lld of %s, which has %u bytes", name_, operand,
                         static_cast<long long>(begin - buffer->offset),
                         static_cast<long long>(begin + size - buffer->offset),
                         Core::name_of_buffer(*buffer).c_str(), buffer->bytes),
                 "allocate the buffer for the padded length, or lower the count", buffer->where,
                 "allocated here");
        if (alignment > 1 && begin % alignment)
            fail("alignment",
                 text_of("%s: %s starts at byte %lld of %s, which is no multiple of %u", name_,
                         operand, static_cast<long long>(begin - buffer->offset),
                         Core::name_of_buffer(*buffer).c_str(), alignment),
                 "start rows at multiples of 32 bytes: pad them, or copy them with DataCopyPad");
        core_.access(pipe_, memory, begin, size, write, name_, where_);
        uint8_t* shadow = pad.defined.data() + begin;
        return {reinterpret_cast<T*>(pad.data() + begin), shadow, count,
                write || all_defined(shadow, size)};
    }
    template <class T>
    __attribute__((noinline)) Span<T> global(const AscendC::GlobalTensor<T>& tensor, int64_t first, int64_t count, bool write,
                   bool atomic) {
        auto& memory = global_memory();
        if (count < 0)
            fail("argument", text_of("%s: a count of %lld elements", name_,
                                     static_cast<long long>(count)),
                 "check the arithmetic of the count: it is negative, or an unsigned value wrapped");
        if (count == 0) return {tensor.address, nullptr, 0, true}; // an empty tail, anywhere
        auto* begin = reinterpret_cast<uint8_t*>(tensor.address) + first * static_cast<int64_t>(sizeof(T));
        uint64_t size = count * sizeof(T);
        Allocation* found = memory.find(tensor.address);
        if (!found) found = memory.find(begin);
        if (!found)
            fail("out_of_range",
                 text_of("%s: the address is in no tensor of the launch", name_),
                 "check SetGlobalBuffer and the offset that is added to its pointer");
        int64_t at = begin - found->base;
        // aclrtMalloc rounds sizes up to whole blocks and adds one, so that the last block of a copy
        // may reach over the end.
        if (at >= 0 && at + size > found->bytes && at + size < found->bytes + BLOCK_BYTES && pipe_ != Pipe::S)
            warn("out_of_range",
                 text_of("%s %s bytes %lld to %lld of %s, which has %llu bytes and then padding", name_,
                         write ? "writes" : "reads", static_cast<long long>(at),
                         static_cast<long long>(at + size), found->name.c_str(),
                         static_cast<unsigned long long>(found->bytes)),
                 "harmless for a tensor of its own, not for a view of a larger one: use DataCopyPad");
        else if (at < 0 || at + size > found->bytes) {
            note(size <= DETACHED_BYTES_MAX, "out_of_range",
                 text_of("%s %s bytes %lld to %lld of %s, which has %llu bytes", name_,
                         write ? "writes" : "reads", static_cast<long long>(at),
                         static_cast<long long>(at + size), found->name.c_str(),
                         static_cast<unsigned long long>(found->bytes)),
                 "check the tail: the last tile of the last core is shorter; DataCopyPad copies a "
                 "length that is no multiple of 32 bytes");
            return detach<T>(*found, at, count, write, atomic);
        }
        if (tensor.bounded && first + count > static_cast<int64_t>(tensor.elements))
            warn("out_of_range",
                 text_of("%s %s %s past the size that SetGlobalBuffer was given", name_,
                         write ? "writes" : "reads", found->name.c_str()),
                 "set the size of the core's part, and lower the count of its last tile");
        found->access(core_.index, memory.clocks, at, size, write, atomic, name_, where_);
        uint8_t* shadow = found->defined() ? found->defined() + at : nullptr;
        return {reinterpret_cast<T*>(begin), shadow, count,
                write || !shadow || all_defined(shadow, size)};
    }

    // Copy of an access that reaches over an end of a tensor in global memory: nobody wrote the
    // bytes outside, and what the instruction writes there is lost.
    struct Detached {
        std::vector<uint8_t> data, states;
        uint64_t first = 0, bytes = 0; // the part inside
        uint8_t *target = nullptr, *target_states = nullptr;
        void store() const {
            if (!target) return;
            std::memcpy(target, data.data() + first, bytes);
            std::memcpy(target_states, states.data() + first, bytes);
        }
    };
    static constexpr uint64_t DETACHED_BYTES_MAX = 1 << 22;
    template <class T>
    Span<T> detach(Allocation& found, int64_t at, int64_t count, bool write, bool atomic) {
        int64_t size = count * static_cast<int64_t>(sizeof(T));
        int64_t low = std::min(std::max<int64_t>(at, 0), static_cast<int64_t>(found.bytes));
        int64_t high = std::max(std::min(at + size, static_cast<int64_t>(found.bytes)), low);
        detached_.emplace_front();
        Detached& one = detached_.front();
        one.data.assign(static_cast<size_t>(size), 0xa5);
        one.states.assign(static_cast<size_t>(size), 0);
        if (low < high) {
            found.access(core_.index, global_memory().clocks, low, high - low, write, atomic, name_,
                         where_);
            one.first = low - at;
            one.bytes = high - low;
            std::memcpy(one.data.data() + one.first, found.base + low, one.bytes);
            if (found.defined())
                std::memcpy(one.states.data() + one.first, found.defined() + low, one.bytes);
            else
                std::memset(one.states.data() + one.first, 1, one.bytes);
            if (write) {
                one.target = found.base + low;
                one.target_states = found.defined() + low;
            }
        }
        return {reinterpret_cast<T*>(one.data.data()), one.states.data(), count, write};
    }

    Pipe pipe_;
    const char* name_;
    Where where_;
    Core& core_;
    std::forward_list<Detached> detached_;
};

} // namespace host_model

namespace AscendC {

template <class T> T LocalTensor<T>::GetValue(uint64_t index, ::host_model::Where where) const {
    ::host_model::Instruction op(::host_model::Pipe::S, "GetValue", where);
    auto from = op.in(*this, index, 1);
    op.require(from, "a local tensor", index);
    return *from.data;
}
template <class T>
template <class U>
void LocalTensor<T>::SetValue(uint64_t index, U value, ::host_model::Where where) const {
    ::host_model::Instruction op(::host_model::Pipe::S, "SetValue", where);
    auto to = op.out(*this, index, 1);
    *to.data = static_cast<T>(value);
    op.derive(to);
}
template <class T> T GlobalTensor<T>::GetValue(uint64_t index, ::host_model::Where where) const {
    ::host_model::Instruction op(::host_model::Pipe::S, "GetValue", where);
    auto from = op.in(*this, index, 1);
    op.require(from, "a global tensor", index);
    return *from.data;
}
template <class T>
void GlobalTensor<T>::SetValue(uint64_t index, T value, ::host_model::Where where) const {
    ::host_model::Instruction op(::host_model::Pipe::S, "SetValue", where);
    auto to = op.out(*this, index, 1);
    *to.data = value;
    op.derive(to);
}
template <class T>
LocalTensor<T>::LocalTensor(TPosition position, uint32_t address, uint32_t elements,
                            ::host_model::Where where)
    : position(position), offset(address), elements(elements) {
    auto& core = ::host_model::core();
    ::host_model::Memory memory = ::host_model::memory_of(position);
    uint64_t bytes = uint64_t(elements) * sizeof(T), size = core.pad(memory).bytes();
    if (address + bytes > size)
        core.fail("on_chip_overflow",
                  ::host_model::text_of("a tensor at bytes %u to %llu of %s, which has %llu bytes",
                                        address, static_cast<unsigned long long>(address + bytes),
                                        ::host_model::name_of(memory),
                                        static_cast<unsigned long long>(size)),
                  "use a lower address or fewer elements", where);
    core.buffers.push_back({memory, address, static_cast<uint32_t>(bytes), 0, 1, "buffer", where});
    buffer = &core.buffers.back();
}

} // namespace AscendC
