// Order within a core (events, barriers) and between cores (SyncAll, IBSet, cross-core flags).
#pragma once

#include "instruction.h"

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_MTE4,
              PIPE_MTE5, PIPE_V2, PIPE_FIX };
using event_t = int32_t;
constexpr event_t EVENT_ID0 = 0, EVENT_ID1 = 1, EVENT_ID2 = 2, EVENT_ID3 = 3, EVENT_ID4 = 4,
                  EVENT_ID5 = 5, EVENT_ID6 = 6, EVENT_ID7 = 7;

namespace AscendC {

using TEventID = int8_t;
enum class HardEvent : uint8_t {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1,
    MTE1_MTE3, MTE1_V, MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2,
    MTE2_S, S_MTE3, MTE3_S, MTE2_FIX, FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX,
    FIX_V, V_FIX, MAX,
};

} // namespace AscendC

namespace host_model {

struct EventPipes {
    Pipe from, to;
    const char* name;
};
inline const EventPipes& pipes_of(AscendC::HardEvent event) {
#define HOST_MODEL_EVENT(from, to) {Pipe::from, Pipe::to, #from "_" #to}
    static const EventPipes table[] = {
        HOST_MODEL_EVENT(MTE2, MTE1), HOST_MODEL_EVENT(MTE1, MTE2), HOST_MODEL_EVENT(MTE1, M),
        HOST_MODEL_EVENT(M, MTE1),    HOST_MODEL_EVENT(MTE2, V),    HOST_MODEL_EVENT(V, MTE2),
        HOST_MODEL_EVENT(MTE3, V),    HOST_MODEL_EVENT(V, MTE3),    HOST_MODEL_EVENT(M, V),
        HOST_MODEL_EVENT(V, M),       HOST_MODEL_EVENT(V, V),       HOST_MODEL_EVENT(MTE3, MTE1),
        HOST_MODEL_EVENT(MTE1, MTE3), HOST_MODEL_EVENT(MTE1, V),    HOST_MODEL_EVENT(MTE2, M),
        HOST_MODEL_EVENT(M, MTE2),    HOST_MODEL_EVENT(V, MTE1),    HOST_MODEL_EVENT(M, FIX),
        HOST_MODEL_EVENT(FIX, M),     HOST_MODEL_EVENT(MTE3, MTE2), HOST_MODEL_EVENT(MTE2, MTE3),
        HOST_MODEL_EVENT(S, V),       HOST_MODEL_EVENT(V, S),       HOST_MODEL_EVENT(S, MTE2),
        HOST_MODEL_EVENT(MTE2, S),    HOST_MODEL_EVENT(S, MTE3),    HOST_MODEL_EVENT(MTE3, S),
        HOST_MODEL_EVENT(MTE2, FIX),  HOST_MODEL_EVENT(FIX, MTE2),  HOST_MODEL_EVENT(FIX, S),
        HOST_MODEL_EVENT(M, S),       HOST_MODEL_EVENT(FIX, MTE3),  HOST_MODEL_EVENT(MTE1, FIX),
        HOST_MODEL_EVENT(FIX, MTE1),  HOST_MODEL_EVENT(FIX, FIX),   HOST_MODEL_EVENT(FIX, V),
        HOST_MODEL_EVENT(V, FIX),
    };
#undef HOST_MODEL_EVENT
    return table[static_cast<int>(event)];
}

inline void set_event(AscendC::HardEvent event, int id, const Where& where) {
    Core& own = core();
    auto& pipes = pipes_of(event);
    if (id < 0 || id > 7)
        own.fail("event", text_of("SetFlag<HardEvent::%s> with id %d", pipes.name, id),
                 "take an id from 0 to 7, from AllocEventID or FetchEventID", where);
    Event& one = own.events[{static_cast<int>(event), id}];
    if (one.set)
        own.fail("event",
                 text_of("SetFlag<HardEvent::%s>(%d) again, before WaitFlag has seen the first one",
                         pipes.name, id),
                 "wait once for each SetFlag, or take another id", where, one.where, "set here");
    one.set = true;
    one.known = own.known(pipes.from);
    one.where = where;
}
inline void wait_event(AscendC::HardEvent event, int id, const Where& where) {
    Core& own = core();
    auto& pipes = pipes_of(event);
    auto found = own.events.find({static_cast<int>(event), id});
    if (found == own.events.end() || !found->second.set)
        own.fail("deadlock",
                 text_of("core %d waits for ever: WaitFlag<HardEvent::%s>(%d) without a SetFlag "
                         "before it", own.index, pipes.name, id),
                 "call SetFlag with the same event and id before it", where);
    found->second.set = false;
    own.join(pipes.to, found->second.known);
}

inline Pipe pipe_from(pipe_t pipe) {
    switch (pipe) {
    case PIPE_V: return Pipe::V;
    case PIPE_M: return Pipe::M;
    case PIPE_MTE1: return Pipe::MTE1;
    case PIPE_MTE2: return Pipe::MTE2;
    case PIPE_MTE3: return Pipe::MTE3;
    case PIPE_FIX: return Pipe::FIX;
    default: return Pipe::S;
    }
}

// The event that one pipe sets for another one.
inline AscendC::HardEvent event_between(pipe_t from, pipe_t to, const Where& where) {
    for (int event = 0; event < static_cast<int>(AscendC::HardEvent::MAX); ++event) {
        const EventPipes& pipes = pipes_of(static_cast<AscendC::HardEvent>(event));
        if (pipes.from == pipe_from(from) && pipes.to == pipe_from(to))
            return static_cast<AscendC::HardEvent>(event);
    }
    core().fail("event",
                text_of("no event from pipe %s to pipe %s", name_of(pipe_from(from)),
                        name_of(pipe_from(to))),
                "name the pipe that comes first, then the pipe that waits", where);
}

// A flag that cores of a group count up and wait for.
inline void release_flag(uint64_t flag) {
    auto& state = launch_state();
    int own = core().index;
    scheduler().change([&] {
        auto known = global_memory().clocks.release(own);
        auto& all = state.flags[flag];
        all.resize(std::max(all.size(), known.size()), 0);
        for (size_t i = 0; i < known.size(); ++i) all[i] = std::max(all[i], known[i]);
        ++state.counters[flag];
    });
}
inline void acquire_flag(uint64_t flag, int64_t count, bool consume, const char* what,
                         const Where& where) {
    auto& state = launch_state();
    int own = core().index;
    scheduler().wait(own, [&] { return state.counters[flag] >= count; }, what, where);
    scheduler().change([&] {
        global_memory().clocks.acquire(own, state.flags[flag]);
        if (consume) state.counters[flag] -= count;
    });
}

} // namespace host_model

namespace AscendC {

template <HardEvent event, class Id>
void SetFlag(Id id, ::host_model::Where where = ::host_model::Where::here()) {
    ::host_model::set_event(event, static_cast<int>(id), where);
}
template <HardEvent event, class Id>
void WaitFlag(Id id, ::host_model::Where where = ::host_model::Where::here()) {
    ::host_model::wait_event(event, static_cast<int>(id), where);
}

// Instructions of the pipe, or of all pipes, wait until the earlier ones have finished.
template <pipe_t pipe> void PipeBarrier() {
    if (pipe == PIPE_ALL) ::host_model::core().barrier();
}

template <pipe_t source, pipe_t destination> class TQueSync {
public:
    void SetFlag(TEventID id, ::host_model::Where where = ::host_model::Where::here()) {
        ids_[id & 7] = ::host_model::core().known(::host_model::pipe_from(source));
        set_[id & 7] = true;
        (void)where;
    }
    void WaitFlag(TEventID id, ::host_model::Where where = ::host_model::Where::here()) {
        auto& core = ::host_model::core();
        if (!set_[id & 7])
            core.fail("deadlock", "WaitFlag of a TQueSync without a SetFlag before it",
                      "call SetFlag with the same id before it", where);
        set_[id & 7] = false;
        core.join(::host_model::pipe_from(destination), ids_[id & 7]);
    }

private:
    std::array<std::array<uint32_t, ::host_model::PIPES>, 8> ids_{};
    bool set_[8] = {};
};

// All cores of the launch wait for each other.
template <bool isAIVOnly = true>
void SyncAll(::host_model::Where where = ::host_model::Where::here()) {
    auto& core = ::host_model::core();
    core.barrier();
    ::host_model::scheduler().barrier(core.index, ::host_model::launch_state().cores, 0, "SyncAll",
                                      where);
}
// The form with work space: `workspace` holds 32 bytes per core, zero before the first call.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>& local,
             int32_t usedCores = 0, ::host_model::Where where = ::host_model::Where::here()) {
    auto& core = ::host_model::core();
    int cores = usedCores ? usedCores : ::host_model::launch_state().cores;
    auto* memory = ::host_model::global_memory().find(workspace.address);
    if (!memory || reinterpret_cast<uint8_t*>(workspace.address) + cores * 32 > memory->base + memory->bytes)
        core.fail("out_of_range",
                  ::host_model::text_of("SyncAll needs %d bytes of global work space", cores * 32),
                  "give 32 bytes for each core", where);
    if (local.elements * 4 < static_cast<uint64_t>(cores) * 32)
        core.fail("out_of_range",
                  ::host_model::text_of("SyncAll needs %d bytes of on-chip work space, the tensor has %llu",
                                        cores * 32, static_cast<unsigned long long>(local.elements * 4)),
                  "give 32 bytes for each core", where);
    core.barrier();
    ::host_model::scheduler().barrier(core.index, cores, 1, "SyncAll", where);
}

// Core `blockIdx` tells the others that it has reached this point.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx,
           int32_t eventID, ::host_model::Where where = ::host_model::Where::here()) {
    (void)where;
    ::host_model::core().barrier();
    ::host_model::release_flag(1ull << 40 | uint64_t(reinterpret_cast<uintptr_t>(workspace.address) & 0xffff) << 24 |
                               uint64_t(eventID) << 12 | uint32_t(blockIdx));
}
// Waits for the IBSet of core `blockIdx`.
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx,
            int32_t eventID, ::host_model::Where where = ::host_model::Where::here()) {
    ::host_model::core().barrier();
    auto what = ::host_model::text_of("IBSet of core %d with event %d", blockIdx, eventID);
    ::host_model::acquire_flag(1ull << 40 | uint64_t(reinterpret_cast<uintptr_t>(workspace.address) & 0xffff) << 24 |
                                   uint64_t(eventID) << 12 | uint32_t(blockIdx),
                               1, true, what.c_str(), where);
}

// Mode 0: all vector cores of the launch count the flag up and wait until each has set it.
// Mode 2 is between a cube core and its vector cores; the model runs those as one core.
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, ::host_model::Where where = ::host_model::Where::here()) {
    (void)where;
    if (modeId == 0) ::host_model::release_flag(2ull << 40 | flagId);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, ::host_model::Where where = ::host_model::Where::here()) {
    if (modeId != 0) return;
    auto& core = ::host_model::core();
    core.barrier();
    auto& state = ::host_model::launch_state();
    auto& rounds = state.counters; // each core waits for its own round of the flag
    uint64_t own = 3ull << 40 | uint64_t(flagId) << 16 | uint32_t(core.index);
    int64_t round = 0;
    ::host_model::scheduler().change([&] { round = ++rounds[own]; });
    auto what = ::host_model::text_of("CrossCoreSetFlag(%u)", unsigned(flagId));
    ::host_model::acquire_flag(2ull << 40 | flagId, round * state.cores, false, what.c_str(), where);
}

// Cores take turns, by their number, to add deterministically.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>&, LocalTensor<int32_t>&) {}
inline void WaitPreBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&,
                         ::host_model::Where where = ::host_model::Where::here()) {
    auto& core = ::host_model::core();
    core.barrier();
    if (core.index == 0) return;
    ::host_model::acquire_flag(4ull << 40 | uint32_t(core.index - 1), 1, true,
                               "NotifyNextBlock of the core before", where);
}
inline void NotifyNextBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&,
                            ::host_model::Where where = ::host_model::Where::here()) {
    (void)where;
    auto& core = ::host_model::core();
    core.barrier();
    ::host_model::release_flag(4ull << 40 | uint32_t(core.index));
}
inline void WaitPreTaskEnd() {}
inline void SetNextTaskStart() {}

enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
template <MemDsbT kind> void DataSyncBarrier() { ::host_model::core().barrier(); }

} // namespace AscendC

inline void pipe_barrier(pipe_t pipe) {
    if (pipe == PIPE_ALL) ::host_model::core().barrier();
}
template <class Id>
void set_flag(pipe_t pipe, pipe_t tpipe, Id id,
              ::host_model::Where where = ::host_model::Where::here()) {
    ::host_model::set_event(::host_model::event_between(pipe, tpipe, where), static_cast<int>(id),
                            where);
}
template <class Id>
void wait_flag(pipe_t pipe, pipe_t tpipe, Id id,
               ::host_model::Where where = ::host_model::Where::here()) {
    ::host_model::wait_event(::host_model::event_between(pipe, tpipe, where), static_cast<int>(id),
                             where);
}
