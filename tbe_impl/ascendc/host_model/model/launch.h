// Runs a kernel: one thread per core, waits between cores, deadlocks, the report.
#pragma once

#include <condition_variable>
#include <functional>
#include <set>
#include <thread>

#include "global_memory.h"

namespace host_model {

// Waits between cores. A core that waits for something that no running core can still provide is
// in a deadlock.
class Scheduler {
public:
    void reset(int cores) {
        running_ = cores;
        cores_ = cores;
        stopped_ = false;
        waiting_.clear();
        arrived_.clear();
    }
    // Blocks until `ready` holds; `what` is for the message of a deadlock.
    void wait(int core, const std::function<bool()>& ready, std::string what, const Where& where) {
        std::unique_lock<std::mutex> lock(mutex_);
        wait_locked(lock, core, ready, std::move(what), where);
    }
    // Changes the state that others wait for.
    void change(const std::function<void()>& action) {
        std::lock_guard<std::mutex> lock(mutex_);
        action();
        changed_.notify_all();
    }
    // A barrier of `count` cores; `group` tells barriers of different sets of cores apart.
    void barrier(int core, int count, int group, const char* what, const Where& where) {
        std::unique_lock<std::mutex> lock(mutex_);
        auto& memory = global_memory();
        Arrivals& arrivals = arrived_[group];
        uint64_t round = arrivals.round;
        arrivals.known.push_back(memory.clocks.release(core));
        arrivals.cores.push_back(core);
        if (static_cast<int>(arrivals.cores.size()) >= count) {
            for (int one : arrivals.cores)
                for (auto& known : arrivals.known) memory.clocks.acquire(one, known);
            arrivals.cores.clear();
            arrivals.known.clear();
            ++arrivals.round;
            changed_.notify_all();
            return;
        }
        wait_locked(lock, core, [&] { return arrivals.round != round; },
                    text_of("%s of %d cores", what, count), where);
    }
    void finish(bool failed) {
        std::lock_guard<std::mutex> lock(mutex_);
        --running_;
        if (failed) stopped_ = true;
        detect_deadlock();
        changed_.notify_all();
    }
    int cores() const { return cores_; }

private:
    struct Waiting {
        std::string what;
        Where where;
        const std::function<bool()>* ready;
    };
    struct Arrivals {
        uint64_t round = 0;
        std::vector<int> cores;
        std::vector<std::vector<uint32_t>> known;
    };
    void wait_locked(std::unique_lock<std::mutex>& lock, int core,
                     const std::function<bool()>& ready, std::string what, const Where& where) {
        if (ready()) return;
        waiting_[core] = Waiting{std::move(what), where, &ready};
        detect_deadlock();
        changed_.wait(lock, [&] { return stopped_ || ready(); });
        waiting_.erase(core);
        if (stopped_) throw Stopped{};
    }
    void detect_deadlock() {
        if (stopped_ || waiting_.empty() || static_cast<int>(waiting_.size()) < running_) return;
        for (auto& one : waiting_)
            if ((*one.second.ready)()) return;
        // Cores that wait at the same place for the same thing are named together.
        std::map<std::tuple<std::string, std::string, int>, std::vector<int>> groups;
        for (auto& one : waiting_)
            groups[{one.second.what, one.second.where.file, one.second.where.line}].push_back(
                one.first);
        std::string list;
        for (auto& group : groups) {
            list += list.empty() ? "" : "; ";
            list += group.second.size() == 1 ? "core " : "cores ";
            for (size_t i = 0; i < group.second.size() && i < 8; ++i)
                list += text_of("%s%d", i ? ", " : "", group.second[i]);
            if (group.second.size() > 8) list += text_of(" and %zu more", group.second.size() - 8);
            list += group.second.size() == 1 ? " waits for " : " wait for ";
            list += std::get<0>(group.first) +
                    text_of(" at line %d", std::get<2>(group.first));
        }
        int ended = cores_ - running_;
        if (ended) list += text_of("; %d core%s had ended", ended, ended == 1 ? "" : "s");
        Finding one{"deadlock", "the cores wait for each other: " + list,
                    "every core must reach the same synchronisations, in the same order",
                    waiting_.begin()->second.where, waiting_.begin()->first};
        report().add_end(std::move(one));
        stopped_ = true;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<int, Waiting> waiting_;
    std::map<int, Arrivals> arrived_;
    int running_ = 0, cores_ = 0;
    bool stopped_ = false;
};

inline Scheduler& scheduler() {
    static Scheduler one;
    return one;
}

// State of a launch that all cores share.
struct LaunchState {
    int blocks = 1; // as launched; each has one vector core, or several beside a cube core
    int cores = 1;  // vector cores of all blocks
    uint64_t tiling_key = 0;
    uint64_t task_type = 0;
    uint8_t* workspace = nullptr;       // start of the user's part
    uint64_t workspace_bytes = 0;
    std::map<uint64_t, std::vector<uint32_t>> flags; // cross-core flags and IBSet
    std::map<uint64_t, int64_t> counters;
};
inline LaunchState& launch_state() {
    static LaunchState one;
    return one;
}

// Adds warnings about what a finished core left behind.
inline void check_end_of_core(Core& core) {
    for (const Buffer& buffer : core.buffers) {
        if (buffer.state == Buffer::PERMANENT || buffer.state == Buffer::FREE) continue;
        static const char* const states[] = {"", "allocated", "enqueued", "dequeued"};
        core.warn("queue",
                  text_of("a tensor of %s was %s and never freed",
                          Core::name_of_buffer(buffer).c_str(), states[buffer.state]),
                  buffer.state == Buffer::ENQUEUED ? "DeQue it and call FreeTensor"
                                                   : "call FreeTensor when it is no longer needed",
                  buffer.changed, buffer.where, "allocated here");
    }
    for (const auto& one : core.events)
        if (one.second.set)
            core.warn("event",
                      text_of("the event with id %d was set and never waited for",
                              one.first.second),
                      "call WaitFlag once for each SetFlag; the next kernel finds it set",
                      one.second.where);
}

// Runs `kernel` on each core. Findings are in `report()` afterwards.
inline void run_cores(int cores, const Chip& chip, const std::function<void(Core&)>& kernel) {
    scheduler().reset(cores);
    global_memory().clocks.reset(cores);
    auto one_core = [&](int index) {
        Core state(index, chip);
        current_core = &state;
        bool failed = true;
        try {
            kernel(state);
            state.barrier();
            check_end_of_core(state);
            failed = false;
        } catch (const Fault& fault) {
            report().add_end(fault.finding());
        } catch (const Stopped&) {
        } catch (const std::exception& error) {
            report().add_end(Finding{"unsupported", error.what(), "", Where{}, index});
        }
        scheduler().finish(failed);
        current_core = nullptr;
    };
    if (cores == 1) {
        one_core(0);
        return;
    }
    std::vector<std::thread> threads;
    for (int index = 0; index < cores; ++index) threads.emplace_back(one_core, index);
    for (auto& thread : threads) thread.join();
}

// Defines the words of an output that a raw pointer has written: new outputs are full of 0xa5.
inline void define_raw_writes(Allocation& one) {
    for (uint64_t word = 0; word < one.bytes; word += 4) {
        uint64_t end = std::min(word + 4, one.bytes);
        for (uint64_t i = word; i < end; ++i)
            if (one.defined()[i] == 0 && one.base[i] != 0xa5)
                std::replace(one.defined() + word, one.defined() + end, uint8_t(0), uint8_t(1));
    }
}

// Adds errors for outputs that the kernel left undefined, after all cores have ended.
inline void check_outputs() {
    for (auto& one : global_memory().all()) {
        if (one->kind != Allocation::OUTPUT || !one->bytes || !one->defined()) continue;
        const uint8_t* shadow = one->defined();
        if (all_defined(shadow, one->bytes)) continue;
        define_raw_writes(*one);
        if (all_defined(shadow, one->bytes)) continue;
        uint64_t at = 0, wrong = 0;
        while (shadow[at] == 1) ++at;
        for (uint64_t i = 0; i < one->bytes; ++i) wrong += shadow[i] != 1;
        uint8_t code = shadow[at];
        for (uint64_t i = at; i < one->bytes && code < 2; ++i)
            if (shadow[i] > 1) code = shadow[i];
        if (shadow[at] == 0)
            report().add_error(Finding{
                "not_written",
                text_of("%llu of the %llu bytes of %s were never written, the first is byte %llu",
                        static_cast<unsigned long long>(wrong),
                        static_cast<unsigned long long>(one->bytes), one->name.c_str(),
                        static_cast<unsigned long long>(at)),
                "check the tail: the number of cores, tiles and elements of the last tile",
                Where{}});
        else
            report().add_error(Finding{
                "undefined",
                text_of("byte %llu of %s was computed from memory that nobody wrote; "
                        "the first such computation is here",
                        static_cast<unsigned long long>(at), one->name.c_str()),
                "fill the whole buffer before it is read, for example with Duplicate or DataCopyPad",
                undefined_sites().site(code)});
    }
}

} // namespace host_model
