// On-chip memory of a core, and what each byte and each 32-byte block of it went through.
//
// Two shadows accompany the data:
// - `defined`, a byte per byte: 0 nobody wrote it since it was allocated, 1 written, k >= 2 computed
//   from undefined bytes; the site of the first such computation is `undefined_sites[k]`.
// - clocks per 32-byte block and pipe, for the happens-before relation between pipes. Each
//   instruction advances its pipe's clock; events and barriers make one pipe know another's clock.
//   An access to a block whose last conflicting access is not known is a hazard.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <memory>

#include "dtypes.h"
#include "report.h"

namespace host_model {

constexpr uint32_t BLOCK_BYTES = 32;
constexpr uint32_t REPEAT_BYTES = 256;

// Execution units of a core; each runs its instructions in order, beside the others.
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, COUNT };
constexpr int PIPES = static_cast<int>(Pipe::COUNT);
inline const char* name_of(Pipe pipe) {
    static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return names[static_cast<int>(pipe)];
}

enum class Memory : uint8_t { UB, L1, L0A, L0B, L0C, BIAS, FIXPIPE, COUNT };
constexpr int MEMORIES = static_cast<int>(Memory::COUNT);
inline const char* name_of(Memory memory) {
    static const char* const names[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return names[static_cast<int>(memory)];
}

// What the chip and the request set, the same for each core of a run.
struct Chip {
    uint64_t bytes[MEMORIES] = {196608, 524288, 65536, 65536, 131072, 1024, 2048};
    uint32_t vector_cores = 40, cube_cores = 20;
    uint32_t select_bytes = 8192; // hidden work space of Select
};

// A part of an on-chip memory: what InitBuffer, or a library function's hidden workspace, took.
struct Buffer {
    Memory memory = Memory::UB;
    uint32_t offset = 0, bytes = 0;
    uint32_t index = 0, buffers = 1; // of a queue's buffers
    const char* kind = "buffer";     // "queue", "buffer", "pool", "workspace"
    Where where;
    enum State : uint8_t { FREE, ALLOCATED, ENQUEUED, DEQUEUED, PERMANENT } state = PERMANENT;
    Where changed; // where it got its state
};

class Scratchpad {
public:
    explicit Scratchpad(uint64_t bytes)
        : bytes_(bytes), blocks_((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES),
          data_(static_cast<uint8_t*>(std::aligned_alloc(512, (bytes + 1023) / 512 * 512)),
                std::free),
          defined(bytes + BLOCK_BYTES, 0) {
        std::fill_n(data_.get(), bytes, uint8_t(0xa5)); // stale contents are not zero
        for (int pipe = 0; pipe < PIPES; ++pipe) {
            written[pipe].assign(blocks_, 0);
            read[pipe].assign(blocks_, 0);
            written_at[pipe].assign(blocks_, 0);
            read_at[pipe].assign(blocks_, 0);
        }
    }
    uint64_t bytes() const { return bytes_; }
    uint8_t* data() { return data_.get(); }

private:
    uint64_t bytes_, blocks_;
    std::unique_ptr<uint8_t, void (*)(void*)> data_;

public:
    std::vector<uint8_t> defined;
    // Per pipe and block: clock and site of the last write and of the last read.
    std::array<std::vector<uint32_t>, PIPES> written, read, written_at, read_at;
};

struct Event {
    bool set = false;
    std::array<uint32_t, PIPES> known{};
    Where where;
};

// Special registers of a core, which some instructions set and others read.
struct Registers {
    float deq_scale = 0;
    int32_t deq_offset = 0;
    bool deq_signed = true, deq_set = false;
    std::array<float, 16> deq_scales{}; // of a vector of scales
    std::array<int32_t, 16> deq_offsets{};
    std::array<bool, 16> deq_signs{};
    uint64_t pad_value = 0; // bits, of DataCopyPad
    bool pad_set = false;
    uint64_t compare_mask[2] = {};
    uint32_t reduced_value = 0, reduced_index = 0, reduced_sum = 0; // bits
    uint16_t merged[4] = {}; // elements that MrgSort took of each list
    uint64_t control = 0;
    // Loops around copies, by direction: out of and into UB; sizes of 0 are none.
    struct Loops {
        uint64_t inner = 0, outer = 0, inner_src = 0, inner_dst = 0, outer_src = 0, outer_dst = 0;
    } loops[2];
};

// State of one core during a run; `core()` is the one of this thread.
class Core {
public:
    Core(int index, const Chip& chip) : index(index), chip(chip) {
        sites_.push_back(Where{});
    }

    Scratchpad& pad(Memory memory) {
        auto& found = pads_[static_cast<int>(memory)];
        if (!found) found = std::make_unique<Scratchpad>(chip.bytes[static_cast<int>(memory)]);
        return *found;
    }

    // Begins an instruction on a pipe.
    void issue(Pipe pipe, const Where& where) {
        int p = static_cast<int>(pipe);
        known_[p][p] = ++now_[p];
        site_ = index_of(where);
        ++issued[p];
    }

    // Makes `later` know all instructions issued on `earlier` so far, and what those knew.
    void order(Pipe earlier, Pipe later) { join(later, known_[static_cast<int>(earlier)]); }
    void join(Pipe pipe, const std::array<uint32_t, PIPES>& known) {
        auto& own = known_[static_cast<int>(pipe)];
        for (int p = 0; p < PIPES; ++p) own[p] = std::max(own[p], known[p]);
    }
    const std::array<uint32_t, PIPES>& known(Pipe pipe) { return known_[static_cast<int>(pipe)]; }
    void barrier() {
        for (int p = 0; p < PIPES; ++p)
            for (int q = 0; q < PIPES; ++q) known_[p][q] = now_[q];
    }

    // Checks the order of an access against the other pipes' and notes it.
    void access(Pipe pipe, Memory memory, uint64_t begin, uint64_t bytes, bool write,
                const char* name, const Where& where) {
        if (!bytes) return;
        Scratchpad& pad = this->pad(memory);
        uint64_t first = begin / BLOCK_BYTES, last = (begin + bytes - 1) / BLOCK_BYTES + 1;
        int p = static_cast<int>(pipe);
        for (int q = 0; q < PIPES; ++q) {
            if (q == p || now_[q] <= known_[p][q]) continue;
            check_order(pad.written[q], pad.written_at[q], first, last, p, q, memory, write,
                        true, name, where);
            if (write)
                check_order(pad.read[q], pad.read_at[q], first, last, p, q, memory, true,
                            false, name, where);
        }
        auto& clocks = write ? pad.written[p] : pad.read[p];
        auto& sites = write ? pad.written_at[p] : pad.read_at[p];
        std::fill(clocks.begin() + first, clocks.begin() + last, now_[p]);
        std::fill(sites.begin() + first, sites.begin() + last, site_);
    }

    // Returns the code (>= 2) in `defined` for values computed from undefined bytes at `where`.
    uint8_t undefined_code(const Where& where);

    [[noreturn]] void fail(std::string kind, std::string message, std::string remedy, Where where,
                           Where other = {}, std::string relation = "") {
        Finding one{std::move(kind), std::move(message), std::move(remedy), where, index, other,
                    std::move(relation)};
        throw Fault(std::move(one));
    }
    // Adds an error after which the core goes on.
    void note(std::string kind, std::string message, std::string remedy, Where where,
              Where other = {}, std::string relation = "") {
        report().add_error(Finding{std::move(kind), std::move(message), std::move(remedy), where,
                                   index, other, std::move(relation)});
    }
    void warn(std::string kind, std::string message, std::string remedy, Where where,
              Where other = {}, std::string relation = "") {
        report().add_warning(Finding{std::move(kind), std::move(message), std::move(remedy), where,
                                     index, other, std::move(relation)});
    }

    // The name of a buffer for messages; Python replaces `{NAME file:line}` by the variable's name.
    static std::string name_of_buffer(const Buffer& buffer) {
        return text_of("{%s %s:%d}", buffer.kind, buffer.where.file, buffer.where.line);
    }

    const int index; // number of the block (core) in the launch
    const Chip& chip;
    std::deque<Buffer> buffers;
    uint64_t taken[MEMORIES] = {};        // bytes allocated from the bottom of each memory
    uint64_t workspace_peak = 0;          // largest hidden workspace of a library function
    uint64_t issued[PIPES] = {};          // instructions
    uint64_t bytes_read = 0, bytes_written = 0; // of global memory
    std::map<std::pair<int, int>, Event> events; // (hard event, id)
    std::vector<uint8_t> event_ids = std::vector<uint8_t>(64, 0);
    // State that instructions read: atomic mode, mask registers, counter mode.
    int atomic_mode = 0, atomic_dtype = 0;
    bool mask_counter = false;
    uint64_t mask[2] = {~0ull, ~0ull};
    Registers registers;
    void* pipe_object = nullptr; // the TPipe of this core
    uint32_t sub_block = 0, sub_blocks = 1;
    bool is_cube = false;
    uint64_t overflows = 0;

private:
    // Index of a position in `sites_`; a direct-mapped table finds the recent ones.
    uint32_t index_of(const Where& where) {
        uint32_t& slot =
            recent_[(where.line * 31u ^ reinterpret_cast<uintptr_t>(where.file) >> 3) % 256];
        if (slot < sites_.size() && sites_[slot] == where) return slot;
        size_t index = 0;
        while (index < sites_.size() && !(sites_[index] == where)) ++index;
        if (index == sites_.size()) sites_.push_back(where);
        return slot = static_cast<uint32_t>(index);
    }
    void check_order(const std::vector<uint32_t>& clocks, const std::vector<uint32_t>& sites,
                     uint64_t first, uint64_t last, int p, int q,
                     Memory memory, bool write, bool after_write, const char* name,
                     const Where& where) {
        uint32_t limit = known_[p][q], worst = 0;
        for (uint64_t block = first; block < last; ++block) worst = std::max(worst, clocks[block]);
        if (worst <= limit) return;
        uint64_t at = first;
        while (clocks[at] <= limit) ++at;
        report_hazard(p, q, memory, at * BLOCK_BYTES, write, after_write, name, where,
                      sites_[sites[at]]);
    }
    void report_hazard(int p, int q, Memory memory, uint64_t offset, bool write, bool after_write,
                       const char* name, const Where& where, const Where& other) {
        const char* later = name_of(static_cast<Pipe>(p));
        const char* earlier = name_of(static_cast<Pipe>(q));
        std::string buffer = text_of("%s offset %llu", name_of(memory),
                                     static_cast<unsigned long long>(offset));
        for (const Buffer& one : buffers)
            if (one.memory == memory && offset >= one.offset && offset < one.offset + one.bytes)
                buffer = name_of_buffer(one);
        std::string message =
            text_of("%s (pipe %s) %s %s before pipe %s has %s it", name, later,
                    write ? "overwrites" : "reads", buffer.c_str(), earlier,
                    after_write ? "written" : "read");
        std::string remedy =
            text_of("order them: EnQue and DeQue of a queue, or SetFlag<HardEvent::%s_%s> and "
                    "WaitFlag after it, or PipeBarrier<PIPE_ALL>()", earlier, later);
        std::string relation = after_write ? "written here" : "read here";
        // The compiler of CANN inserts the waits of the scalar unit in many cases.
        bool scalar = p == static_cast<int>(Pipe::S) || q == static_cast<int>(Pipe::S);
        if (scalar) {
            warn("hazard", message, remedy, where, other, relation);
        } else {
            note("hazard", message, remedy, where, other, relation);
            // One missing event is one error.
            order(static_cast<Pipe>(q), static_cast<Pipe>(p));
        }
    }

    std::array<std::unique_ptr<Scratchpad>, MEMORIES> pads_;
    std::array<uint32_t, PIPES> now_{};
    std::array<std::array<uint32_t, PIPES>, PIPES> known_{};
    std::vector<Where> sites_;
    std::array<uint32_t, 256> recent_{};
    uint32_t site_ = 0;
};

// Sites at which values were first computed from undefined bytes; codes 2 to 255, the last shared.
class UndefinedSites {
public:
    uint8_t code(const Where& where) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (size_t i = 0; i < sites_.size(); ++i)
            if (sites_[i] == where) return static_cast<uint8_t>(i + 2);
        if (sites_.size() < 254) sites_.push_back(where);
        return static_cast<uint8_t>(sites_.size() + 1);
    }
    Where site(uint8_t code) {
        std::lock_guard<std::mutex> lock(mutex_);
        return code >= 2 && code - 2u < sites_.size() ? sites_[code - 2] : Where{};
    }
    void clear() {
        std::lock_guard<std::mutex> lock(mutex_);
        sites_.clear();
    }

private:
    std::mutex mutex_;
    std::vector<Where> sites_;
};

inline UndefinedSites& undefined_sites() {
    static UndefinedSites one;
    return one;
}
inline uint8_t Core::undefined_code(const Where& where) { return undefined_sites().code(where); }

inline thread_local Core* current_core = nullptr;
inline Core& core() { return *current_core; }

// Whether all `bytes` shadow bytes are 1: the first is, and each equals the one after it.
inline bool all_defined(const uint8_t* shadow, uint64_t bytes) {
    return !bytes || (shadow[0] == 1 && std::memcmp(shadow, shadow + 1, bytes - 1) == 0);
}

} // namespace host_model
