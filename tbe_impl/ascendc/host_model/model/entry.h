// What Python calls: binds arguments to a kernel's parameters by order, runs it, returns a report.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "tiling.h"

// Functions that Python finds in the library; all else is hidden, so that libraries do not share state.
#define HOST_MODEL_EXPORT extern "C" __attribute__((visibility("default")))

namespace host_model {

extern "C" {
struct HostModelArgument {
    void* data;       // of a tensor, the workspace or the tiling data
    uint64_t bytes;
    const char* name; // for messages
    int32_t kind;     // 0 input, 1 output, 2 workspace, 3 tiling data, 4 scalar
    int32_t defined;  // whether an output has values from before
    const char* text; // value of a scalar
};
struct HostModelRequest {
    uint32_t blocks, arguments;
    const HostModelArgument* argument;
    uint64_t tiling_key;
    uint64_t bytes[8]; // of UB, L1, L0A, L0B, L0C, BT, FB
    uint32_t vector_cores, cube_cores;
    uint32_t sub_blocks, cube; // vector cores per block; whether only cube cores run
    uint32_t select_bytes;     // hidden work space of Select
};
}

// Reads a number, up to a comma; returns whether the text is one that T can hold.
template <class T> bool parse_scalar(const char* text, T& value) {
    char* end = nullptr;
    if constexpr (std::is_class<T>::value && !is_small_float<T>) {
        return false;
    } else if constexpr (std::is_same<T, bool>::value) {
        std::string word(text, std::strcspn(text, ","));
        value = word == "true" || word == "True" || word == "1";
        return value || word == "false" || word == "False" || word == "0";
    } else if constexpr (is_floating<T>) {
        value = static_cast<T>(std::strtod(text, &end));
    } else {
        double wide = std::strtod(text, &end); // 1e6 is an integer, too
        if (end != text && std::memchr(text, '.', end - text) == nullptr) {
            char* last = nullptr;
            int base = std::memchr(text, 'x', end - text) ? 16 : 10;
            errno = 0;
            if (*text == '-')
                value = static_cast<T>(std::strtoll(text, &last, base));
            else
                value = static_cast<T>(std::strtoull(text, &last, base));
            if (last == end)
                return errno == 0 && (*end == 0 || *end == ',') &&
                       std::fabs(static_cast<double>(value) - wide) <= std::fabs(wide) * 1e-9;
        }
        value = static_cast<T>(wide);
        if (static_cast<double>(value) != wide) return false;
    }
    return end != text && (*end == 0 || *end == ',');
}

// Sets a field of a tiling structure, or the elements of an array field, from a text such as
// "3" or "1,2,3". Returns how many values were taken; -2 - i if value i is no number of the type.
template <class T> int assign_field(T& field, const char* text) {
    if constexpr (std::is_array<T>::value) {
        int taken = 0;
        for (auto& one : field) {
            if (!text || !*text) break;
            if (assign_field(one, text) < 0) return -2 - taken;
            ++taken;
            text = std::strchr(text, ',');
            if (text) ++text;
        }
        return taken;
    } else {
        return parse_scalar(text, field) ? 1 : -2;
    }
}

template <class T> T converted(const HostModelArgument& argument) {
    if constexpr (std::is_pointer<T>::value) {
        return reinterpret_cast<T>(argument.data);
    } else if constexpr (std::is_class<T>::value && !is_small_float<T>) {
        T value;
        std::memcpy(static_cast<void*>(&value), argument.data, std::min<uint64_t>(sizeof(T), argument.bytes));
        return value;
    } else {
        T value{};
        parse_scalar(argument.text, value); // Python has checked the text
        return value;
    }
}
template <class... A, size_t... I>
void call(void (*kernel)(A...), const HostModelArgument* arguments, std::index_sequence<I...>) {
    kernel(converted<std::decay_t<A>>(arguments[I])...);
}
template <class... A> constexpr int parameters_of(void (*)(A...)) { return sizeof...(A); }

// Describes the parameters: 'p' a pointer, 's' a scalar, 'c' a structure.
template <class... A> std::string signature_of(void (*)(A...)) {
    return {(std::is_pointer<std::decay_t<A>>::value                                          ? 'p'
             : std::is_class<std::decay_t<A>>::value && !is_small_float<std::decay_t<A>> ? 'c'
                                                                                         : 's')...};
}

template <class... A>
const char* run(void (*kernel)(A...), const HostModelRequest& request) {
    static std::string json;
    report().clear();
    undefined_sites().clear();
    auto& memory = global_memory();
    memory.clear();
    auto& state = launch_state();
    state = LaunchState{};
    state.blocks = static_cast<int>(request.blocks);
    state.cores = static_cast<int>(request.blocks * std::max(request.sub_blocks, 1u));
    state.tiling_key = request.tiling_key;
    for (uint32_t i = 0; i < request.arguments; ++i) {
        const HostModelArgument& one = request.argument[i];
        if (one.kind == 4 || !one.data) continue;
        auto kind = static_cast<Allocation::Kind>(one.kind);
        memory.add(one.name, one.data, one.bytes, kind, one.defined != 0);
        if (kind == Allocation::WORKSPACE) {
            state.workspace = static_cast<uint8_t*>(one.data);
            state.workspace_bytes = one.bytes;
        }
    }
    Chip chip;
    for (int i = 0; i < MEMORIES; ++i)
        if (request.bytes[i]) chip.bytes[i] = request.bytes[i];
    chip.vector_cores = request.vector_cores;
    chip.cube_cores = request.cube_cores;
    chip.select_bytes = request.select_bytes;
    std::mutex mutex;
    std::string usage, totals;
    uint64_t read = 0, written = 0, issued[PIPES] = {};
    run_cores(state.cores, chip, [&](Core& core) {
        core.sub_blocks = std::max(request.sub_blocks, 1u);
        core.sub_block = core.index % core.sub_blocks;
        core.is_cube = request.cube != 0;
        call(kernel, request.argument, std::index_sequence_for<A...>{});
        std::lock_guard<std::mutex> lock(mutex);
        read += core.bytes_read;
        written += core.bytes_written;
        for (int pipe = 0; pipe < PIPES; ++pipe) issued[pipe] += core.issued[pipe];
        if (core.index != 0) return;
        for (const Buffer& one : core.buffers)
            usage += (usage.empty() ? "" : ", ") +
                     text_of("{\"memory\": \"%s\", \"kind\": \"%s\", \"bytes\": %u, \"index\": %u, "
                             "\"buffers\": %u, \"file\": %s, \"line\": %d}",
                             name_of(one.memory), one.kind, one.bytes, one.index, one.buffers,
                             json_string(one.where.file).c_str(), one.where.line);
        usage += (usage.empty() || !core.workspace_peak ? "" : ", ") +
                 (core.workspace_peak
                      ? text_of("{\"memory\": \"UB\", \"kind\": \"workspace\", \"bytes\": %llu, "
                                "\"index\": 0, \"buffers\": 1, \"file\": \"\", \"line\": 0}",
                                static_cast<unsigned long long>(core.workspace_peak))
                      : std::string());
    });
    if (!report().ended_early()) check_outputs();
    for (int pipe = 0; pipe < PIPES; ++pipe)
        totals += text_of("%s\"%s\": %llu", pipe ? ", " : "", name_of(static_cast<Pipe>(pipe)),
                          static_cast<unsigned long long>(issued[pipe]));
    std::string updated;
    for (auto& one : memory.all())
        if (one->kind == Allocation::INPUT && one->is_tracked())
            updated += (updated.empty() ? "" : ", ") + json_string(one->name);
    json = report().json(", \"updated\": [" + updated + "]" + text_of(", \"bytes_read\": %llu, \"bytes_written\": %llu, ",
                                 static_cast<unsigned long long>(read),
                                 static_cast<unsigned long long>(written)) +
                         "\"instructions\": {" + totals + "}, \"buffers\": [" + usage + "]");
    return json.c_str();
}

} // namespace host_model
