// Global memory: the tensors of a launch, which bytes of them are defined, and which core touched
// them last.
#pragma once

#include <atomic>

#include "memory.h"

namespace host_model {

constexpr int MAX_CORES = 1024;

// What each core knows of the other cores' progress (vector clocks). A core's clock advances with
// each synchronisation that it takes part in.
class CoreClocks {
public:
    void reset(int cores) {
        clocks_.assign(cores, std::vector<uint32_t>(cores, 0));
        for (int i = 0; i < cores; ++i) clocks_[i][i] = 1;
    }
    uint32_t now(int core) const { return clocks_[core][core]; }
    bool knows(int core, int other, uint32_t clock) const { return clocks_[core][other] >= clock; }
    std::vector<uint32_t> release(int core) {
        std::vector<uint32_t> known = clocks_[core];
        ++clocks_[core][core];
        return known;
    }
    void acquire(int core, const std::vector<uint32_t>& known) {
        for (size_t i = 0; i < known.size(); ++i)
            clocks_[core][i] = std::max(clocks_[core][i], known[i]);
    }

private:
    std::vector<std::vector<uint32_t>> clocks_;
};

// One tensor (or the workspace, or the tiling data) in global memory.
class Allocation {
public:
    enum Kind { INPUT, OUTPUT, WORKSPACE, TILING };
    Allocation(std::string name, uint8_t* base, uint64_t bytes, Kind kind, bool defined)
        : name(std::move(name)), base(base), bytes(bytes), kind(kind),
          written_(kind == OUTPUT || kind == WORKSPACE),
          blocks_((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES + 2) {
        if (written_) allocate(defined);
    }

    // Shadow of definedness, or null for a tensor that nobody has written: it is all defined.
    uint8_t* defined() { return defined_.empty() ? nullptr : defined_.data(); }

    // Whether the kernel may have written into it.
    bool is_tracked() const { return written_; }

    // Checks an access of a core against the other cores' and notes it.
    void access(int core, const CoreClocks& clocks, uint64_t begin, uint64_t size, bool write,
                bool atomic, const char* name, const Where& where) {
        if (!written_ && !write) return;
        if (write) start_tracking();
        uint32_t clock = clocks.now(core);
        uint64_t end = begin + size;
        for (uint64_t block = begin / BLOCK_BYTES; block * BLOCK_BYTES < end; ++block) {
            uint64_t low = std::max(begin, block * BLOCK_BYTES) - block * BLOCK_BYTES;
            uint64_t high = std::min<uint64_t>(end - block * BLOCK_BYTES, BLOCK_BYTES);
            uint32_t bytes = static_cast<uint32_t>((~0ull >> (64 - (high - low))) << low);
            uint64_t last = writers_[block].load(std::memory_order_relaxed);
            check(last, core, clocks, bytes, write, true, atomic, block, name, where);
            if (write) {
                check(readers_[block].load(std::memory_order_relaxed), core, clocks, bytes, true,
                      false, atomic, block, name, where);
                writers_[block].store(merged(last, core, clock, bytes, atomic),
                                      std::memory_order_relaxed);
            } else {
                uint64_t before = readers_[block].load(std::memory_order_relaxed);
                readers_[block].store(merged(before, core, clock, bytes, false),
                                      std::memory_order_relaxed);
            }
        }
    }

    const std::string name;
    uint8_t* const base;
    const uint64_t bytes;
    const Kind kind;

private:
    // An entry: bytes of the block (32 bits) | atomic (1) | core (10) | clock (21).
    static uint64_t entry(int core, uint32_t clock, uint32_t bytes, bool atomic) {
        return static_cast<uint64_t>(bytes) << 32 | static_cast<uint64_t>(atomic) << 31 |
               static_cast<uint64_t>(core & 0x3ff) << 21 | (clock & 0x1fffff);
    }
    static int core_of(uint64_t entry) { return static_cast<int>(entry >> 21 & 0x3ff); }
    static uint64_t merged(uint64_t before, int core, uint32_t clock, uint32_t bytes, bool atomic) {
        bool same = core_of(before) == core && (before & 0x1fffff) == clock;
        return entry(core, clock, same ? bytes | static_cast<uint32_t>(before >> 32) : bytes, atomic);
    }
    void check(uint64_t entry, int core, const CoreClocks& clocks, uint32_t bytes, bool write,
               bool after_write, bool atomic, uint64_t block, const char* name,
               const Where& where) const {
        uint32_t both = static_cast<uint32_t>(entry >> 32) & bytes;
        int other = core_of(entry);
        if (!both || other == core || clocks.knows(core, other, entry & 0x1fffff)) return;
        if (atomic && after_write && (entry >> 31 & 1)) return;
        uint64_t at = block * BLOCK_BYTES + static_cast<uint64_t>(__builtin_ctz(both));
        ::host_model::core().note(
            "race",
            text_of("%s of core %d %s byte %llu of %s, which core %d %s without a synchronisation "
                    "between them",
                    name, core, write ? "writes" : "reads", static_cast<unsigned long long>(at),
                    this->name.c_str(), other, after_write ? "writes" : "reads"),
            "give each core its own part, or order them with SyncAll(), or add with "
            "SetAtomicAdd<T>()",
            where);
    }
    void allocate(bool defined) {
        defined_.assign(blocks_ * BLOCK_BYTES, defined ? 1 : 0);
        writers_ = std::vector<std::atomic<uint64_t>>(blocks_);
        readers_ = std::vector<std::atomic<uint64_t>>(blocks_);
    }
    void start_tracking() {
        if (written_) return;
        std::lock_guard<std::mutex> lock(mutex_);
        if (written_) return;
        allocate(true);
        written_ = true;
    }

    std::atomic<bool> written_;
    uint64_t blocks_;
    std::mutex mutex_;
    std::vector<uint8_t> defined_;
    std::vector<std::atomic<uint64_t>> writers_, readers_;
};

// The global memory of a launch.
class GlobalMemory {
public:
    Allocation& add(std::string name, void* base, uint64_t bytes, Allocation::Kind kind,
                    bool defined) {
        allocations_.push_back(std::make_unique<Allocation>(
            std::move(name), static_cast<uint8_t*>(base), bytes, kind, defined));
        return *allocations_.back();
    }
    void clear() { allocations_.clear(); }
    std::vector<std::unique_ptr<Allocation>>& all() { return allocations_; }

    // The allocation that contains the address; one past its end counts, for empty tails.
    Allocation* find(const void* address) {
        auto* byte = static_cast<const uint8_t*>(address);
        Allocation* past = nullptr;
        for (auto& one : allocations_) {
            if (byte >= one->base && byte < one->base + one->bytes) return one.get();
            if (byte == one->base + one->bytes) past = one.get();
        }
        return past;
    }
    CoreClocks clocks;

private:
    std::vector<std::unique_ptr<Allocation>> allocations_;
};

inline GlobalMemory& global_memory() {
    static GlobalMemory one;
    return one;
}

// Locks for atomic additions, by address.
inline std::mutex& atomic_lock(const void* address) {
    static std::mutex locks[256];
    return locks[reinterpret_cast<uintptr_t>(address) / 4096 % 256];
}

} // namespace host_model
