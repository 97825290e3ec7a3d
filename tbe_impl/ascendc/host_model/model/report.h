// Errors and warnings of a run, each with the kernel's file and line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace host_model {

// Source position of an API call in the kernel. It is the last, defaulted parameter of each API
// function, so that the compiler fills it in at the call.
struct Where {
    const char* file = "";
    int line = 0;
    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where{file, line};
    }
    friend bool operator==(const Where& a, const Where& b) {
        return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
    }
};

// Kinds of findings. Python gives each a title and a page; tests name each of them.
//   on_chip_overflow, workspace_overflow, out_of_range, alignment, undefined, queue, hazard, race,
//   deadlock, argument, overflow, unsupported, not_written, event, assert
struct Finding {
    std::string kind;
    std::string message;
    std::string remedy;
    Where where;
    int core = -1;
    Where other;          // second position: the earlier access, the buffer's InitBuffer, ...
    std::string relation; // what `other` is, as "allocated here"
    uint64_t count = 1;
};

// Thrown by a core that cannot go on; ends the run. After other errors the core goes on as a chip
// does, so that the report has all of them and the outputs have the values of a chip.
class Fault : public std::exception {
public:
    explicit Fault(Finding finding) : finding_(std::move(finding)) {}
    const char* what() const noexcept override { return finding_.message.c_str(); }
    const Finding& finding() const { return finding_; }

private:
    Finding finding_;
};

// Thrown in the other cores after one core has failed: unwinds them without a finding.
struct Stopped {};

inline std::string text_of(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline std::string text_of(const char* format, ...) {
    char buffer[2048];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    __builtin_va_end(arguments);
    return buffer;
}

inline std::string json_string(const std::string& text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c < 0x20) {
            out += text_of("\\u%04x", c);
        } else {
            out += static_cast<char>(c);
        }
    }
    return out + "\"";
}

// Findings of one run. Those of the same kind and position are counted, not repeated.
class Report {
public:
    void add_error(Finding finding) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (Finding& one : errors_)
            if (one.kind == finding.kind && one.where == finding.where) {
                one.count += finding.count;
                return;
            }
        errors_.push_back(std::move(finding));
    }
    void add_warning(Finding finding) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto key = std::make_tuple(finding.kind, std::string(finding.where.file), finding.where.line);
        auto found = warnings_.find(key);
        if (found == warnings_.end())
            warnings_.emplace(std::move(key), std::move(finding));
        else
            found->second.count += finding.count;
    }
    // Adds the error that ended the run before its last instruction.
    void add_end(Finding finding) {
        add_error(std::move(finding));
        std::lock_guard<std::mutex> lock(mutex_);
        ended_early_ = true;
    }
    bool ended_early() {
        std::lock_guard<std::mutex> lock(mutex_);
        return ended_early_;
    }
    void clear() {
        std::lock_guard<std::mutex> lock(mutex_);
        errors_.clear();
        ended_early_ = false;
        warnings_.clear();
        printed_.clear();
    }
    // Text of the kernel's printf and DumpTensor.
    void print(const std::string& text) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (printed_.size() < (1u << 22)) printed_ += text;
    }
    std::string json(const std::string& more) {
        std::lock_guard<std::mutex> lock(mutex_);
        std::string out = "{\"errors\": [";
        const char* comma = "";
        for (const Finding& one : errors_) out += comma + json_of(one), comma = ", ";
        out += "], \"warnings\": [";
        comma = "";
        for (const auto& one : warnings_) out += comma + json_of(one.second), comma = ", ";
        out += "], \"printed\": " + json_string(printed_);
        return out + more + "}";
    }

private:
    static std::string json_of(const Finding& one) {
        std::string out = "{\"kind\": " + json_string(one.kind) + ", \"message\": " +
                          json_string(one.message) + ", \"remedy\": " + json_string(one.remedy) +
                          ", \"file\": " + json_string(one.where.file) +
                          text_of(", \"line\": %d, \"core\": %d, \"count\": %llu", one.where.line,
                                  one.core, static_cast<unsigned long long>(one.count));
        if (!one.relation.empty())
            out += ", \"other_file\": " + json_string(one.other.file) +
                   text_of(", \"other_line\": %d", one.other.line) + ", \"relation\": " +
                   json_string(one.relation);
        return out + "}";
    }

    std::mutex mutex_;
    std::vector<Finding> errors_;
    bool ended_early_ = false;
    std::map<std::tuple<std::string, std::string, int>, Finding> warnings_;
    std::string printed_;
};

inline Report& report() {
    static Report one;
    return one;
}

} // namespace host_model
