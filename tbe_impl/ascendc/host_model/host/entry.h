// What Python calls in a compiled host file: runs an operator's tiling function and shape function.
#pragma once

#include <set>

#include "registry.h"

#define HOST_MODEL_EXPORT extern "C" __attribute__((visibility("default")))

namespace host_model {

extern "C" {
struct HostModelTensor {
    const int64_t* sizes;
    uint32_t dimensions;
    int32_t type;
    const void* data;
};
struct HostModelAttribute {
    const char* name;
    const char* text;
};
struct HostModelTilingRequest {
    const char* name; // of the operator or its kernel function; empty for the only one
    const HostModelTensor* tensors;
    uint32_t inputs, outputs;
    const HostModelAttribute* attributes;
    uint32_t attribute_count, vector_cores, cube_cores;
    uint64_t bytes[8]; // of UB, L1, L0A, L0B, L0C, BT, FB, L2
    const char* soc;
    void* data; // receives the tiling data
    uint64_t capacity;
};
}

// "AddCustom" as its kernel function is called: "add_custom".
inline std::string snake_case(const std::string& name) {
    std::string out;
    for (size_t i = 0; i < name.size(); ++i) {
        char c = name[i];
        bool upper = c >= 'A' && c <= 'Z';
        bool before = i && !(name[i - 1] >= 'A' && name[i - 1] <= 'Z');
        bool after = i && i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
        if (upper && (before || after)) out += '_';
        out += upper ? static_cast<char>(c + 32) : c;
    }
    return out;
}

inline void set_attribute(gert::RuntimeAttrs::Attribute& one, const std::string& text) {
    one.text = text;
    one.truth = text == "true" || text == "True" || text == "1";
    one.integer = text == "true" || text == "True" ? 1 : std::strtoll(text.c_str(), nullptr, 0);
    one.real = std::strtof(text.c_str(), nullptr);
    one.integers.values.clear();
    one.reals.values.clear();
    for (size_t at = 0; at <= text.size();) {
        size_t end = std::min(text.find(',', at), text.size());
        std::string part = text.substr(at, end - at);
        if (!part.empty()) {
            one.integers.values.push_back(std::strtoll(part.c_str(), nullptr, 0));
            one.reals.values.push_back(std::strtof(part.c_str(), nullptr));
        }
        at = end + 1;
    }
}

inline std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    return out + "\"";
}
inline std::string failure(const std::string& kind, const std::string& message, const std::string& list = "") {
    return "{\"error\": " + json_text(kind) + ", \"message\": " + json_text(message) + ", \"known\": " +
           json_text(list) + "}";
}

inline std::string run_tiling(const HostModelTilingRequest& request) {
    std::string names;
    std::map<std::string, Registered>::iterator found = registered().end();
    for (auto it = registered().begin(); it != registered().end(); ++it) {
        names += (names.empty() ? "" : ", ") + it->first;
        if (it->first == request.name || snake_case(it->first) == request.name) found = it;
    }
    if (found == registered().end() && registered().size() == 1) found = registered().begin();
    if (found == registered().end()) return failure("operator", "no operator fits the kernel", names);
    Registered& one = found->second;
    if (!one.tiling) return failure("tiling", found->first + " has no tiling function", names);
    static fe::PlatFormInfos platform;
    platform.vector_cores = request.vector_cores;
    platform.cube_cores = request.cube_cores;
    std::memcpy(platform.bytes, request.bytes, sizeof(platform.bytes));
    platform.soc = request.soc;
    platform_ascendc::PlatformAscendC::default_info() = platform;
    gert::RuntimeAttrs attributes;
    if (one.definition)
        for (auto& attribute : one.definition->attributes) attributes.attributes.push_back(attribute.value);
    std::set<std::string> given;
    for (uint32_t i = 0; i < request.attribute_count; ++i) {
        gert::RuntimeAttrs::Attribute* place = nullptr;
        std::string list;
        for (auto& attribute : attributes.attributes) {
            list += (list.empty() ? "" : ", ") + attribute.name;
            if (attribute.name == request.attributes[i].name) place = &attribute;
        }
        if (!place && one.definition)
            return failure("attribute", std::string(found->first) + " has no attribute " + request.attributes[i].name, list);
        if (!place) {
            attributes.attributes.emplace_back();
            place = &attributes.attributes.back();
            place->name = request.attributes[i].name;
        }
        set_attribute(*place, request.attributes[i].text);
        given.insert(place->name);
    }
    std::string missing;
    if (one.definition)
        for (auto& attribute : one.definition->attributes)
            if (attribute.kind == ops::REQUIRED && !attribute.has_default && !given.count(attribute.value.name))
                missing += (missing.empty() ? "" : ", ") + attribute.value.name;
    if (!missing.empty())
        return failure("missing", found->first + " requires attributes that were not given", missing);
    auto fill = [&](gert::ExtendedKernelContext& context) {
        context.name = found->first;
        context.attributes = attributes;
        for (uint32_t i = 0; i < request.inputs + request.outputs; ++i) {
            const HostModelTensor& from = request.tensors[i];
            gert::Tensor tensor;
            tensor.shape = gert::StorageShape(gert::Shape(std::vector<int64_t>(from.sizes, from.sizes + from.dimensions)));
            tensor.desc.type = static_cast<ge::DataType>(from.type);
            tensor.data = from.data;
            (i < request.inputs ? context.inputs : context.outputs).push_back(tensor);
        }
    };
    std::string shapes;
    ops::Shapes infer = one.infer_shape;
    if (infer) {
        gert::InferShapeContext context;
        fill(context);
        if (infer(&context) != ge::GRAPH_SUCCESS) return failure("shape", "the shape function of " + found->first + " fails");
        for (auto& shape : context.results) {
            shapes += shapes.empty() ? "[" : ", [";
            for (size_t i = 0; i < shape.GetDimNum(); ++i) shapes += (i ? ", " : "") + std::to_string(shape.GetDim(i));
            shapes += "]";
        }
    }
    gert::TilingContext context;
    fill(context);
    context.platform = &platform;
    if (one.parse) context.compile_info = one.parse(&platform);
    log_text().clear();
    template_values().clear();
    if (one.tiling(&context) != ge::GRAPH_SUCCESS)
        return failure("tiling", "the tiling function of " + found->first + " fails" + (log_text().empty() ? "" : ": " + log_text()));
    // SaveToBuffer does not tell how much it wrote: without SetDataSize the whole buffer goes over.
    size_t size = context.data.GetDataSize() ? context.data.GetDataSize() : context.data.GetCapacity();
    std::memcpy(request.data, context.data.GetData(), std::min<size_t>(size, request.capacity));
    uint64_t workspace = 0;
    for (size_t bytes : context.workspaces) workspace += bytes;
    std::string values;
    for (int64_t value : template_values()) values += (values.empty() ? "" : ", ") + std::to_string(value);
    bool initialised = false;
    std::string chips; // those for which the definition names a configuration
    std::string aliases; // an output with an input's name is the same memory
    if (one.definition) {
        for (auto& chip : one.definition->core.chips) chips += (chips.empty() ? "" : ", ") + json_text(chip);
        auto& ins = one.definition->inputs;
        auto& outs = one.definition->outputs;
        for (size_t o = 0; o < outs.size(); ++o) {
            initialised = initialised || outs[o].initialised;
            for (size_t i = 0; i < ins.size(); ++i)
                if (ins[i].name == outs[o].name)
                    aliases += (aliases.empty() ? "[" : ", [") + std::to_string(o) + ", " + std::to_string(i) + "]";
        }
    }
    return "{\"operator\": " + json_text(found->first) + ", \"blocks\": " + std::to_string(context.blocks) +
           ", \"key\": " + std::to_string(context.key) + ", \"workspace\": " + std::to_string(workspace) +
           ", \"bytes\": " + std::to_string(size) + ", \"zero_outputs\": " + (initialised ? "true" : "false") +
           ", \"chips\": [" + chips + "], \"aliases\": [" + aliases + "], \"template\": [" + values + "], \"shapes\": [" + shapes + "]}";
}

} // namespace host_model

HOST_MODEL_EXPORT const char* host_model_tiling(const host_model::HostModelTilingRequest* request) {
    static std::string json;
    json = host_model::run_tiling(*request);
    return json.c_str();
}
