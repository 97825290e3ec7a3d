// LocalTensor and GlobalTensor.
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

// Conversions of an element between numbers and 16-bit floats in one step, as between built-in types.
template <class Reference, bool is_small> struct ElementConversions {
    template <class U, class = std::enable_if_t<::host_model::is_small_float<U>>>
    operator U() const {
        return static_cast<typename Reference::T>(static_cast<const Reference&>(*this));
    }
};
template <class Reference> struct ElementConversions<Reference, true> {
    operator float() const {
        return static_cast<typename Reference::T>(static_cast<const Reference&>(*this));
    }
};

// An element of a tensor as `tensor(i)`: reads and writes of it are checked.
template <class Tensor>
class ElementReference
    : public ElementConversions<ElementReference<Tensor>,
                                ::host_model::is_small_float<typename Tensor::PrimType>> {
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
    template <class U> const ElementReference& operator+=(U value) const {
        return *this = static_cast<T>(T(*this) + value);
    }
    template <class U> const ElementReference& operator-=(U value) const {
        return *this = static_cast<T>(T(*this) - value);
    }
    template <class U> const ElementReference& operator*=(U value) const {
        return *this = static_cast<T>(T(*this) * value);
    }
    template <class U> const ElementReference& operator/=(U value) const {
        return *this = static_cast<T>(T(*this) / value);
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
