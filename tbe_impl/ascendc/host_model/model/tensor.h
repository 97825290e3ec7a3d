// LocalTensor and GlobalTensor, and `Instruction`, through which API functions touch them.
#pragma once

#include <initializer_list>

#include "language.h"

namespace AscendC {

struct ShapeInfo {
    uint8_t shapeDim = 0, originalShapeDim = 0;
    uint32_t shape[8] = {}, originalShape[8] = {};
    int dataFormat = 0;
    ShapeInfo() = default;
    ShapeInfo(uint8_t dims, const uint32_t* sizes, int format = 0)
        : shapeDim(dims), originalShapeDim(dims), dataFormat(format) {
        for (int i = 0; i < dims && i < 8; ++i) shape[i] = originalShape[i] = sizes[i];
    }
};
enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode { READ = 1, WRITE, RW };
using TTagType = int32_t;

template <class T> class GlobalTensor;
template <class T> class LocalTensor;

} // namespace AscendC

namespace host_model {

// What an instruction sees of a tensor: data, the shadow of definedness (null: all defined).
template <class T> struct Span {
    T* data;
    uint8_t* shadow;
    int64_t count;
    bool whole; // all elements are defined
    // 1 if element i is defined, else the code of its origin (0: never written).
    uint8_t state(int64_t i) const {
        if (!shadow) return 1;
        for (size_t byte = 0; byte < sizeof(T); ++byte)
            if (shadow[i * sizeof(T) + byte] != 1) return shadow[i * sizeof(T) + byte];
        return 1;
    }
};

// What `a + b` of two tensors is: assigning it to a tensor runs the instruction.
template <class Store> struct TensorExpression {
    Store store;
};
template <class Store> TensorExpression<Store> tensor_expression(Store store) { return {store}; }
// The expression as operand of an assignment to a tensor of T, with the place of the assignment.
template <class T> struct AssignedExpression {
    template <class Store>
    AssignedExpression(const TensorExpression<Store>& expression, Where where = Where::here())
        : store(expression.store), where(where) {}
    std::function<void(const AscendC::LocalTensor<T>&, const Where&)> store;
    Where where;
};

} // namespace host_model

namespace AscendC {

// An element of a tensor as `tensor(i)`: reads and writes of it are checked.
template <class Tensor> class ElementReference {
public:
    using T = typename Tensor::PrimType;
    ElementReference(const Tensor& tensor, uint64_t index, const ::host_model::Where& where)
        : tensor_(tensor), index_(index), where_(where) {}
    operator T() const { return tensor_.GetValue(index_, where_); }
    const ElementReference& operator=(T value) const {
        tensor_.SetValue(index_, value, where_);
        return *this;
    }
    const ElementReference& operator=(const ElementReference& other) const {
        return *this = static_cast<T>(other);
    }

private:
    const Tensor& tensor_;
    uint64_t index_;
    ::host_model::Where where_;
};

// A tensor in on-chip memory: a view of a buffer that a queue, a TBuf or an allocator gave.
template <class T> class LocalTensor {
public:
    using PrimType = T;
    LocalTensor() = default;
    LocalTensor(::host_model::Buffer* buffer, TPosition position, uint64_t offset, uint64_t elements)
        : buffer(buffer), position(position), offset(offset), elements(elements) {}
    const LocalTensor& operator=(const ::host_model::AssignedExpression<T>& expression) const {
        expression.store(*this, expression.where);
        return *this;
    }
    // A tensor at an address of the memory of `position`, as static allocation uses it.
    LocalTensor(TPosition position, uint32_t address, uint32_t elements,
                ::host_model::Where where = ::host_model::Where::here());

    T GetValue(uint64_t index, ::host_model::Where where = ::host_model::Where::here()) const;
    template <class U>
    void SetValue(uint64_t index, U value,
                  ::host_model::Where where = ::host_model::Where::here()) const;
    ElementReference<LocalTensor> operator()(
        uint64_t index, ::host_model::Where where = ::host_model::Where::here()) const {
        return {*this, index, where};
    }
    LocalTensor operator[](uint64_t index) const {
        LocalTensor other = *this;
        other.offset += index * sizeof(T);
        other.elements = elements > index ? elements - index : 0;
        return other;
    }
    template <class U> LocalTensor<U> ReinterpretCast() const {
        LocalTensor<U> other(buffer, position, offset, elements * sizeof(T) / sizeof(U));
        other.tag = tag;
        return other;
    }
    // A host pointer; accesses through it are not checked.
    T* GetPhyAddr(uint64_t index = 0) const {
        auto& pad = ::host_model::core().pad(::host_model::memory_of(position));
        if (buffer) std::fill_n(pad.defined.begin() + buffer->offset, buffer->bytes, uint8_t(1));
        return reinterpret_cast<T*>(pad.data() + offset) + index;
    }
    int32_t GetPosition() const { return static_cast<int32_t>(position); }
    uint32_t GetSize() const { return static_cast<uint32_t>(elements); }
    uint32_t GetLength() const { return static_cast<uint32_t>(elements * sizeof(T)); }
    void SetSize(uint32_t size) { elements = size; }
    void SetBufferLen(uint32_t size) { elements = size; }
    void SetUserTag(TTagType value) { tag = value; }
    TTagType GetUserTag() const { return tag; }
    void SetShapeInfo(const ShapeInfo& info) { shape = info; }
    ShapeInfo GetShapeInfo() const { return shape; }
    template <class U> void SetAddrWithOffset(LocalTensor<U>& source, uint32_t index) {
        buffer = source.buffer;
        position = source.position;
        offset = source.offset + index * sizeof(U);
        elements = source.elements > index ? (source.elements - index) * sizeof(U) / sizeof(T) : 0;
    }
    void Print(uint32_t count = 0, ::host_model::Where where = ::host_model::Where::here()) const;

    ::host_model::Buffer* buffer = nullptr;
    TPosition position = TPosition::VECCALC;
    uint64_t offset = 0;   // bytes from the start of the memory
    uint64_t elements = 0;
    TTagType tag = 0;
    ShapeInfo shape;
};

// A tensor in global memory.
template <class T> class GlobalTensor {
public:
    using PrimType = T;
    void SetGlobalBuffer(T* buffer, uint64_t size) {
        address = buffer;
        elements = size;
        bounded = true;
    }
    void SetGlobalBuffer(T* buffer) {
        address = buffer;
        elements = ~0ull / sizeof(T) / 2;
        bounded = false;
    }
    T* GetPhyAddr(uint64_t index = 0) const { return address + index; }
    T GetValue(uint64_t index, ::host_model::Where where = ::host_model::Where::here()) const;
    void SetValue(uint64_t index, T value,
                  ::host_model::Where where = ::host_model::Where::here()) const;
    ElementReference<GlobalTensor> operator()(
        uint64_t index, ::host_model::Where where = ::host_model::Where::here()) const {
        return {*this, index, where};
    }
    GlobalTensor operator[](uint64_t index) const {
        GlobalTensor other = *this;
        other.address += index;
        other.elements = elements > index ? elements - index : 0;
        return other;
    }
    template <class U> GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> other;
        other.address = reinterpret_cast<U*>(address);
        other.elements = elements * sizeof(T) / sizeof(U);
        other.bounded = bounded;
        return other;
    }
    uint64_t GetSize() const { return bounded ? elements : 0; }
    void SetShapeInfo(const ShapeInfo& info) { shape = info; }
    ShapeInfo GetShapeInfo() const { return shape; }
    template <CacheRwMode mode = CacheRwMode::RW> void SetL2CacheHint(CacheMode) {}

    T* address = nullptr;
    uint64_t elements = 0;
    bool bounded = false; // SetGlobalBuffer named the size
    ShapeInfo shape;
};

} // namespace AscendC

namespace host_model {

// One instruction of an API function: takes spans of its operands, which checks bounds, alignment
// and order, and passes definedness on from inputs to outputs.
class Instruction {
public:
    Instruction(Pipe pipe, const char* name, const Where& where)
        : pipe_(pipe), name_(name), where_(where), core_(core()) {
        core_.issue(pipe, where);
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
            fail("queue",
                 text_of("%s uses %s after FreeTensor", name_, Core::name_of_buffer(*buffer).c_str()),
                 "free the tensor after its last use", buffer->changed, "freed here");
        int64_t begin = static_cast<int64_t>(tensor.offset) + first * static_cast<int64_t>(sizeof(T));
        int64_t size = count * static_cast<int64_t>(sizeof(T));
        int64_t end = static_cast<int64_t>(buffer->offset) + buffer->bytes;
        if (begin < static_cast<int64_t>(buffer->offset) || begin + size > end)
            fail("out_of_range",
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
        Scratchpad& pad = core_.pad(memory);
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
        else if (at < 0 || at + size > found->bytes)
            fail("out_of_range",
                 text_of("%s %s bytes %lld to %lld of %s, which has %llu bytes", name_,
                         write ? "writes" : "reads", static_cast<long long>(at),
                         static_cast<long long>(at + size), found->name.c_str(),
                         static_cast<unsigned long long>(found->bytes)),
                 "check the tail: the last tile of the last core is shorter; DataCopyPad copies a "
                 "length that is no multiple of 32 bytes");
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

    Pipe pipe_;
    const char* name_;
    Where where_;
    Core& core_;
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
