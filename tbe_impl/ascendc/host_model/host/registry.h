// Definitions of operators: inputs, outputs, attributes, the tiling function and the shape function.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>

#include "platform.h"
#include "tiling_data.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
using Tiling = ge::graphStatus (*)(gert::TilingContext*);
using Shapes = ge::graphStatus (*)(gert::InferShapeContext*);
using Types = ge::graphStatus (*)(gert::InferDataTypeContext*);

class OpParamDef {
public:
    explicit OpParamDef(const char* name = "") : name(name) {}
    OpParamDef& ParamType(Option value) { return kind = value, *this; }
    OpParamDef& DataType(std::vector<ge::DataType> values) { return types = std::move(values), *this; }
    OpParamDef& DataTypeList(std::vector<ge::DataType> values) { return DataType(std::move(values)); }
    OpParamDef& Format(std::vector<ge::Format>) { return *this; }
    OpParamDef& FormatList(std::vector<ge::Format>) { return *this; }
    OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
    OpParamDef& FormatForBinQuery(std::vector<ge::Format>) { return *this; }
    template <class T> OpParamDef& ValueDepend(T) { return *this; }
    template <class T, class U> OpParamDef& ValueDepend(T, U) { return *this; }
    OpParamDef& AutoContiguous() { return *this; }
    OpParamDef& IgnoreContiguous() { return *this; }
    OpParamDef& Scalar() { return *this; }
    OpParamDef& ScalarList() { return *this; }
    template <class T> OpParamDef& InitValue(const T&) { return initialised = true, *this; }
    template <class T> OpParamDef& To(const T&) { return *this; }
    template <class... T> OpParamDef& Follow(const T&...) { return *this; }
    OpParamDef& OutputShapeDependOnCompute() { return *this; }
    template <class T> OpParamDef& Version(T) { return *this; }
    template <class... T> OpParamDef& Comment(const T&...) { return *this; }
    std::string name;
    Option kind = REQUIRED;
    std::vector<ge::DataType> types;
    bool initialised = false;
};

class OpAttrDef {
public:
    using Kind = gert::RuntimeAttrs::Kind;
    explicit OpAttrDef(const char* name = "") { value.name = name; }
    OpAttrDef& AttrType(Option option) { return kind = option, *this; }
    OpAttrDef& Bool() { return value.kind = Kind::BOOL, *this; }
    OpAttrDef& Int() { return value.kind = Kind::INT, *this; }
    OpAttrDef& Float() { return value.kind = Kind::FLOAT, *this; }
    OpAttrDef& String() { return value.kind = Kind::STRING, *this; }
    OpAttrDef& ListInt() { return value.kind = Kind::LIST_INT, *this; }
    OpAttrDef& ListFloat() { return value.kind = Kind::LIST_FLOAT, *this; }
    // With a default value.
    OpAttrDef& Bool(bool one) { return has_default = true, value.truth = one, Bool(); }
    OpAttrDef& Int(int64_t one) { return has_default = true, value.integer = one, Int(); }
    OpAttrDef& Float(float one) { return has_default = true, value.real = one, Float(); }
    OpAttrDef& String(const char* one) { return has_default = true, value.text = one, String(); }
    OpAttrDef& ListInt(std::vector<int64_t> all) {
        return has_default = true, value.integers.values = std::move(all), ListInt();
    }
    OpAttrDef& ListFloat(std::vector<float> all) {
        return has_default = true, value.reals.values = std::move(all), ListFloat();
    }
    OpAttrDef& ListBool(std::vector<bool> = {}) { return has_default = true, *this; }
    template <class T> OpAttrDef& Version(T) { return *this; }
    template <class... T> OpAttrDef& Comment(const T&...) { return *this; }
    Option kind = REQUIRED;
    bool has_default = false;
    gert::RuntimeAttrs::Attribute value;
};

class OpAICoreConfig {
public:
    explicit OpAICoreConfig(const char* = "") {}
    OpParamDef& Input(const char* name) { return inputs.emplace_back(name); }
    OpParamDef& Output(const char* name) { return outputs.emplace_back(name); }
    OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig& ExtendCfgInfo(const char*, const char*) { return *this; }
    std::deque<OpParamDef> inputs, outputs;
};

class OpAICoreDef {
public:
    OpAICoreDef& SetTiling(Tiling function) { return tiling = function, *this; }
    template <class T> OpAICoreDef& SetTilingParse(T) { return *this; }
    template <class T> OpAICoreDef& SetCheckSupport(T) { return *this; }
    template <class T> OpAICoreDef& SetOpSelectFormat(T) { return *this; }
    template <class T> OpAICoreDef& SetOpSupportInfo(T) { return *this; }
    template <class T> OpAICoreDef& SetOpSpecInfo(T) { return *this; }
    template <class T> OpAICoreDef& SetParamGeneralize(T) { return *this; }
    OpAICoreDef& AddConfig(const char* chip) { return chips.push_back(chip), *this; }
    OpAICoreDef& AddConfig(const char* chip, const OpAICoreConfig&) { return AddConfig(chip); }
    Tiling tiling = nullptr;
    std::vector<std::string> chips;
};
class OpMC2Def {
public:
    OpMC2Def& HcclGroup(const char*) { return *this; }
    OpMC2Def& HcclGroup(std::vector<const char*>) { return *this; }
};

class OpDef {
public:
    explicit OpDef(const char* type) : type(type) {}
    OpParamDef& Input(const char* name) { return inputs.emplace_back(name); }
    OpParamDef& Output(const char* name) { return outputs.emplace_back(name); }
    OpAttrDef& Attr(const char* name) { return attributes.emplace_back(name); }
    OpDef& SetInferShape(Shapes function) { return infer_shape = function, *this; }
    OpDef& SetInferDataType(Types function) { return infer_type = function, *this; }
    template <class T> OpDef& SetInferShapeRange(T) { return *this; }
    template <class... T> OpDef& Comment(const T&...) { return *this; }
    OpDef& EnableFallBack() { return *this; }
    template <class T> OpDef& FormatMatchMode(T) { return *this; }
    OpAICoreDef& AICore() { return core; }
    OpMC2Def& MC2() { return mc2; }
    std::string type;
    std::deque<OpParamDef> inputs, outputs;
    std::deque<OpAttrDef> attributes;
    OpAICoreDef core;
    OpMC2Def mc2;
    Shapes infer_shape = nullptr;
    Types infer_type = nullptr;
};

} // namespace ops

namespace host_model {

// What a file registered for an operator.
struct Registered {
    std::shared_ptr<ops::OpDef> definition;
    std::function<ge::graphStatus(gert::TilingContext*)> tiling;
    ops::Shapes infer_shape = nullptr;
    ops::Types infer_type = nullptr;
    std::function<const void*(fe::PlatFormInfos*)> parse;
};
inline std::map<std::string, Registered>& registered() {
    static std::map<std::string, Registered> all;
    return all;
}
template <class T> struct OperatorRegistration {
    explicit OperatorRegistration(const char* name) {
        auto definition = std::make_shared<T>(name);
        Registered& one = registered()[name];
        if (definition->core.tiling) one.tiling = definition->core.tiling;
        if (definition->infer_shape) one.infer_shape = definition->infer_shape;
        if (definition->infer_type) one.infer_type = definition->infer_type;
        one.definition = definition;
    }
};
// Values of the kernel's template arguments, in the order of their declaration.
inline std::vector<int64_t>& template_values() {
    static std::vector<int64_t> values;
    return values;
}
struct TemplateValue {
    template <class T> TemplateValue(T value) : value(static_cast<int64_t>(value)) {}
    int64_t value;
};
inline uint64_t note_template(std::initializer_list<TemplateValue> values) {
    uint64_t key = 1469598103934665603ull;
    template_values().clear();
    for (const TemplateValue& one : values) {
        template_values().push_back(one.value);
        key = (key ^ static_cast<uint64_t>(one.value)) * 1099511628211ull;
    }
    return key;
}

// The older way to register: IMPL_OP_OPTILING(Name).Tiling(function).TilingParse<Info>(function).
class Implementation {
public:
    explicit Implementation(const char* name) : name_(name) {}
    Implementation& Tiling(ops::Tiling function) { return registered()[name_].tiling = function, *this; }
    Implementation& Tiling(ops::Tiling function, size_t) { return Tiling(function); }
    template <class Info> Implementation& TilingParse(ge::graphStatus (*function)(gert::TilingParseContext*)) {
        registered()[name_].parse = [function](fe::PlatFormInfos* platform) -> const void* {
            static gert::TilingParseContext context;
            context.platform = platform;
            context.GetCompiledInfo<Info>();
            function(&context);
            return context.GetCompiledInfo<Info>();
        };
        return *this;
    }
    Implementation& InferShape(ops::Shapes function) { return registered()[name_].infer_shape = function, *this; }
    Implementation& InferDataType(ops::Types function) { return registered()[name_].infer_type = function, *this; }
    Implementation& InputsDataDependency(std::initializer_list<int32_t>) { return *this; }

private:
    std::string name_;
};

} // namespace host_model

#define GET_TPL_TILING_KEY(...) ::host_model::note_template({__VA_ARGS__})
#define ASCENDC_TPL_SEL_PARAM(context, ...) (context)->SetTilingKey(GET_TPL_TILING_KEY(__VA_ARGS__))
#define OP_ADD(NAME, ...)                                                                            \
    static ::host_model::OperatorRegistration<NAME> HOST_MODEL_JOIN(host_model_operator, __LINE__)(#NAME)
#define IMPL_OP_OPTILING(NAME)                                                                       \
    static ::host_model::Implementation HOST_MODEL_JOIN(host_model_implementation, __LINE__) =       \
        ::host_model::Implementation(#NAME)
#define IMPL_OP_INFERSHAPE(NAME) IMPL_OP_OPTILING(NAME)
#define IMPL_OP(NAME) IMPL_OP_OPTILING(NAME)
#define DEVICE_IMPL_OP_OPTILING(NAME) IMPL_OP_OPTILING(NAME)
#define REGISTER_OP_AICORE_CONFIG(...) static_assert(true, "")
#define OP_LOGD(...) ((void)0)
#define OP_LOGI(...) ((void)0)
#define OP_LOGW(...) ((void)0)
#define OP_LOGE(name, format, ...) ::host_model::note_log(format)
#define D_OP_LOGE OP_LOGE
#define OP_CHECK_IF(condition, log, action)                                                          \
    do {                                                                                             \
        if (condition) {                                                                             \
            log;                                                                                     \
            action;                                                                                  \
        }                                                                                            \
    } while (0)
#define OP_CHECK OP_CHECK_IF
#define OPS_CHECK_NULL_WITH_CONTEXT(context, pointer)                                                \
    if ((pointer) == nullptr) return ge::GRAPH_FAILED
#define OPS_LOG_D OP_LOGD
#define OPS_LOG_I OP_LOGI
#define OPS_LOG_E OP_LOGE

namespace host_model {
inline std::string& log_text() {
    static std::string text;
    return text;
}
inline void note_log(const char* text) { log_text() = text; }
} // namespace host_model
