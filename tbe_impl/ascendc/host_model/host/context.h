// What a tiling function and a shape function of an operator see: shapes, data types, attributes,
// the platform, and the places for their results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream> // host files print without including it: CANN's own headers do
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// In a kernel that includes host headers these are macros.
#undef DT_FLOAT
#undef DT_FLOAT16
#undef DT_INT8
#undef DT_INT32
#undef DT_UINT8
#undef DT_INT16
#undef DT_UINT16
#undef DT_UINT32
#undef DT_INT64
#undef DT_UINT64
#undef DT_DOUBLE
#undef DT_BOOL
#undef DT_BF16

namespace ge {

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFF, GRAPH_PARAM_INVALID = 50331649;
constexpr graphStatus SUCCESS = 0, FAILED = 0xFFFFFFFF;

enum DataType {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6,
    DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10, DT_DOUBLE = 11, DT_BOOL = 12,
    DT_STRING = 13, DT_COMPLEX64 = 16, DT_COMPLEX128 = 17, DT_BF16 = 27, DT_UNDEFINED = 28,
    DT_INT4 = 29, DT_UINT1 = 30, DT_INT2 = 31,
};
enum Format {
    FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4,
    FORMAT_HWCN = 16, FORMAT_NDHWC = 27, FORMAT_FRACTAL_NZ = 29, FORMAT_NCDHW = 30,
    FORMAT_NDC1HWC0 = 32, FORMAT_FRACTAL_Z_3D = 33, FORMAT_RESERVED = 0xff,
};
// Bytes of an element.
inline int GetSizeByDataType(DataType type) {
    switch (type) {
    case DT_INT8: case DT_UINT8: case DT_BOOL: return 1;
    case DT_FLOAT16: case DT_BF16: case DT_INT16: case DT_UINT16: return 2;
    case DT_FLOAT: case DT_INT32: case DT_UINT32: return 4;
    case DT_INT64: case DT_UINT64: case DT_DOUBLE: case DT_COMPLEX64: return 8;
    case DT_COMPLEX128: return 16;
    default: return -1;
    }
}
class TypeUtils {
public:
    // Sets the bytes of an element; false if the type has no whole number of bytes.
    static bool GetDataTypeLength(DataType type, uint32_t& length) {
        int bytes = GetSizeByDataType(type);
        length = static_cast<uint32_t>(std::max(bytes, 0));
        return bytes > 0;
    }
};
inline Format GetPrimaryFormat(int32_t format) { return static_cast<Format>(format & 0xff); }
// Shape that the tiling functions of library functions take.
class Shape {
public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t>& sizes) : sizes_(sizes) {}
    Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
    size_t GetDimNum() const { return sizes_.size(); }
    int64_t GetDim(size_t index) const { return index < sizes_.size() ? sizes_[index] : 0; }
    graphStatus SetDim(size_t index, int64_t size) {
        if (index >= sizes_.size()) return GRAPH_FAILED;
        sizes_[index] = size;
        return GRAPH_SUCCESS;
    }
    std::vector<int64_t> GetDims() const { return sizes_; }
    // The number of elements; 0 without sizes.
    int64_t GetShapeSize() const {
        int64_t size = sizes_.empty() ? 0 : 1;
        for (int64_t one : sizes_) size *= one;
        return size;
    }

private:
    std::vector<int64_t> sizes_;
};
class AscendString {
public:
    AscendString(const char* text = "") : text_(text) {}
    const char* GetString() const { return text_.c_str(); }

private:
    std::string text_;
};

} // namespace ge

namespace gert {

class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
    explicit Shape(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
    size_t GetDimNum() const { return sizes_.size(); }
    void SetDimNum(size_t number) { sizes_.resize(number); }
    int64_t GetDim(size_t index) const { return index < sizes_.size() ? sizes_[index] : 0; }
    void SetDim(size_t index, int64_t size) {
        if (index >= sizes_.size()) sizes_.resize(index + 1);
        sizes_[index] = size;
    }
    int64_t operator[](size_t index) const { return GetDim(index); }
    int64_t& operator[](size_t index) { return sizes_[index]; }
    void AppendDim(int64_t size) { sizes_.push_back(size); }
    Shape& AddDim(int64_t size) { return sizes_.push_back(size), *this; }
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (int64_t one : sizes_) size *= one;
        return size;
    }
    bool IsScalar() const { return sizes_.empty(); }
    bool operator==(const Shape& other) const { return sizes_ == other.sizes_; }
    bool operator!=(const Shape& other) const { return sizes_ != other.sizes_; }
    const std::vector<int64_t>& sizes() const { return sizes_; }

private:
    std::vector<int64_t> sizes_;
};

class StorageShape {
public:
    StorageShape() = default;
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t> storage)
        : origin_(origin), storage_(storage) {}
    explicit StorageShape(const Shape& shape) : origin_(shape), storage_(shape) {}
    const Shape& GetStorageShape() const { return storage_; }
    const Shape& GetOriginShape() const { return origin_; }
    Shape& MutableStorageShape() { return storage_; }
    Shape& MutableOriginShape() { return origin_; }

private:
    Shape origin_, storage_;
};

class CompileTimeTensorDesc {
public:
    ge::DataType GetDataType() const { return type; }
    ge::Format GetStorageFormat() const { return format; }
    ge::Format GetOriginFormat() const { return format; }
    struct FormatPair {
        ge::Format origin, storage;
        ge::Format GetOriginFormat() const { return origin; }
        ge::Format GetStorageFormat() const { return storage; }
    };
    FormatPair GetFormat() const { return {format, format}; }
    ge::DataType type = ge::DT_FLOAT;
    ge::Format format = ge::FORMAT_ND;
};

class Tensor {
public:
    const StorageShape& GetShape() const { return shape; }
    const Shape& GetStorageShape() const { return shape.GetStorageShape(); }
    const Shape& GetOriginShape() const { return shape.GetOriginShape(); }
    ge::DataType GetDataType() const { return desc.type; }
    ge::Format GetStorageFormat() const { return desc.format; }
    ge::Format GetOriginFormat() const { return desc.format; }
    int64_t GetShapeSize() const { return shape.GetStorageShape().GetShapeSize(); }
    size_t GetSize() const { return static_cast<size_t>(GetShapeSize()) * ge::GetSizeByDataType(desc.type); }
    template <class T> const T* GetData() const { return static_cast<const T*>(data); }
    StorageShape shape;
    CompileTimeTensorDesc desc;
    const void* data = nullptr; // values, for inputs that the tiling depends on
};

template <class T> class TypedContinuousVector {
public:
    size_t GetSize() const { return values.size(); }
    const T* GetData() const { return values.data(); }
    T operator[](size_t index) const { return values[index]; }
    std::vector<T> values;
};
using ContinuousVector = TypedContinuousVector<int64_t>;

// Attributes in the order of the operator's definition.
class RuntimeAttrs {
public:
    enum Kind { BOOL, INT, FLOAT, STRING, LIST_INT, LIST_FLOAT };
    struct Attribute {
        std::string name;
        Kind kind = INT;
        int64_t integer = 0;
        float real = 0;
        bool truth = false;
        std::string text;
        TypedContinuousVector<int64_t> integers;
        TypedContinuousVector<float> reals;
    };
    size_t GetAttrNum() const { return attributes.size(); }
    const int64_t* GetInt(size_t i) const { return has(i) ? &attributes[i].integer : nullptr; }
    const float* GetFloat(size_t i) const { return has(i) ? &attributes[i].real : nullptr; }
    const bool* GetBool(size_t i) const { return has(i) ? &attributes[i].truth : nullptr; }
    const char* GetStr(size_t i) const { return has(i) ? attributes[i].text.c_str() : nullptr; }
    const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
        return has(i) ? &attributes[i].integers : nullptr;
    }
    const TypedContinuousVector<float>* GetListFloat(size_t i) const {
        return has(i) ? &attributes[i].reals : nullptr;
    }
    template <class T> const T* GetAttrPointer(size_t i) const {
        if (!has(i)) return nullptr;
        const Attribute& one = attributes[i];
        const void* found = nullptr;
        if constexpr (std::is_same<T, bool>::value) found = &one.truth;
        else if constexpr (std::is_same<T, float>::value) found = &one.real;
        else if constexpr (std::is_same<T, char>::value) found = one.text.c_str();
        else if constexpr (std::is_integral<T>::value) found = &one.integer;
        else if constexpr (std::is_same<T, TypedContinuousVector<float>>::value) found = &one.reals;
        else found = &one.integers;
        return static_cast<const T*>(found);
    }
    std::vector<Attribute> attributes;

private:
    bool has(size_t i) const { return i < attributes.size(); }
};

class TilingData {
public:
    explicit TilingData(size_t capacity = 1 << 16) : bytes_(capacity, 0) {}
    void* GetData() { return bytes_.data(); }
    size_t GetCapacity() const { return bytes_.size(); }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(size_t size) { size_ = size; }
    template <class T> ge::graphStatus Append(const T& value) {
        if (size_ + sizeof(T) > bytes_.size()) return 1;
        std::memcpy(bytes_.data() + size_, &value, sizeof(T));
        size_ += sizeof(T);
        return 0;
    }

private:
    std::vector<uint8_t> bytes_;
    size_t size_ = 0;
};

} // namespace gert

namespace fe {
// What the request says of the chip.
struct PlatFormInfos {
    uint32_t vector_cores = 40, cube_cores = 20;
    uint64_t bytes[8] = {};
    std::string soc = "Ascend910B1";
    uint32_t GetCoreNum() const { return vector_cores; }
};
} // namespace fe

namespace gert {

class ExtendedKernelContext {
public:
    const StorageShape* GetInputShape(size_t i) const {
        return i < inputs.size() ? &inputs[i].shape : nullptr;
    }
    const StorageShape* GetOptionalInputShape(size_t i) const { return GetInputShape(i); }
    const StorageShape* GetRequiredInputShape(size_t i) const { return GetInputShape(i); }
    const StorageShape* GetDynamicInputShape(size_t i, size_t j) const { return GetInputShape(i + j); }
    const Tensor* GetInputTensor(size_t i) const { return i < inputs.size() ? &inputs[i] : nullptr; }
    const Tensor* GetOptionalInputTensor(size_t i) const { return GetInputTensor(i); }
    const Tensor* GetRequiredInputTensor(size_t i) const { return GetInputTensor(i); }
    const CompileTimeTensorDesc* GetInputDesc(size_t i) const {
        return i < inputs.size() ? &inputs[i].desc : nullptr;
    }
    const CompileTimeTensorDesc* GetOptionalInputDesc(size_t i) const { return GetInputDesc(i); }
    const CompileTimeTensorDesc* GetRequiredInputDesc(size_t i) const { return GetInputDesc(i); }
    const CompileTimeTensorDesc* GetOutputDesc(size_t i) const {
        return i < outputs.size() ? &outputs[i].desc : nullptr;
    }
    const RuntimeAttrs* GetAttrs() const { return &attributes; }
    const char* GetNodeName() const { return name.c_str(); }
    const char* GetNodeType() const { return name.c_str(); }
    size_t GetComputeNodeInputNum() const { return inputs.size(); }
    size_t GetComputeNodeOutputNum() const { return outputs.size(); }
    std::vector<Tensor> inputs, outputs;
    RuntimeAttrs attributes;
    std::string name;
};

class TilingContext : public ExtendedKernelContext {
public:
    const StorageShape* GetOutputShape(size_t i) const {
        return i < outputs.size() ? &outputs[i].shape : nullptr;
    }
    ge::graphStatus SetTilingKey(uint64_t value) { return key = value, ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const { return key; }
    ge::graphStatus SetBlockDim(uint32_t value) { return blocks = value, ge::GRAPH_SUCCESS; }
    ge::graphStatus SetSimdNumBlocks(uint32_t value) { return SetBlockDim(value); }
    uint32_t GetBlockDim() const { return blocks; }
    ge::graphStatus SetScheduleMode(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetAicpuBlockDim(uint32_t) { return ge::GRAPH_SUCCESS; }
    size_t* GetWorkspaceSizes(size_t number) {
        workspaces.resize(number, 0);
        return workspaces.data();
    }
    size_t GetWorkspaceNum() const { return workspaces.size(); }
    gert::TilingData* GetRawTilingData() { return &data; }
    template <class T> T* GetTilingData() {
        data.SetDataSize(sizeof(T));
        return static_cast<T*>(data.GetData());
    }
    fe::PlatFormInfos* GetPlatformInfo() const { return platform; }
    const void* GetCompileInfo() const { return compile_info; }
    bool GetDeterministic() const { return false; }
    uint64_t key = 0;
    uint32_t blocks = 0;
    std::vector<size_t> workspaces;
    gert::TilingData data;
    fe::PlatFormInfos* platform = nullptr;
    const void* compile_info = nullptr;
};

class TilingParseContext : public ExtendedKernelContext {
public:
    template <class T> T* GetCompiledInfo() {
        if (!memory) memory = std::make_shared<std::vector<uint8_t>>(sizeof(T) + 64, 0);
        return reinterpret_cast<T*>(memory->data());
    }
    fe::PlatFormInfos* GetPlatformInfo() const { return platform; }
    fe::PlatFormInfos* platform = nullptr;
    std::shared_ptr<std::vector<uint8_t>> memory;
};

class InferShapeContext : public ExtendedKernelContext {
public:
    const Shape* GetInputShape(size_t i) const {
        return i < inputs.size() ? &inputs[i].shape.GetOriginShape() : nullptr;
    }
    const Shape* GetOptionalInputShape(size_t i) const { return GetInputShape(i); }
    Shape* GetOutputShape(size_t i) {
        if (i >= results.size()) results.resize(i + 1);
        return &results[i];
    }
    std::vector<Shape> results;
};

class InferDataTypeContext : public ExtendedKernelContext {
public:
    ge::DataType GetInputDataType(size_t i) const {
        return i < inputs.size() ? inputs[i].desc.type : ge::DT_UNDEFINED;
    }
    ge::DataType GetOptionalInputDataType(size_t i) const { return GetInputDataType(i); }
    ge::graphStatus SetOutputDataType(size_t i, ge::DataType type) {
        if (i >= results.size()) results.resize(i + 1, ge::DT_UNDEFINED);
        results[i] = type;
        return ge::GRAPH_SUCCESS;
    }
    std::vector<ge::DataType> results;
};
class InferShapeRangeContext : public ExtendedKernelContext {};

} // namespace gert
