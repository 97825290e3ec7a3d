// TPipe, queues, buffers and pools: who owns which part of on-chip memory, and in which state.
#pragma once

#include "synchronization.h"

namespace host_model {

// Takes `bytes` of a memory, or fails with a table of who takes what.
inline Buffer* allocate(AscendC::TPosition position, uint64_t bytes, uint32_t index,
                        uint32_t buffers, const char* kind, const Where& where) {
    Core& own = core();
    Memory memory = memory_of(position);
    int m = static_cast<int>(memory);
    uint64_t rounded = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    uint64_t size = own.pad(memory).bytes();
    if (own.taken[m] + rounded * (buffers - index) > size) {
        std::string table;
        uint64_t needed = 0;
        for (const Buffer& one : own.buffers) {
            if (one.memory != memory || one.index) continue;
            uint64_t all = static_cast<uint64_t>(one.bytes) * one.buffers;
            needed += all;
            table += text_of("\n  %10llu bytes  %s", static_cast<unsigned long long>(all),
                             Core::name_of_buffer(one).c_str());
            if (one.buffers > 1) table += text_of(" (%u x %u)", one.buffers, one.bytes);
        }
        uint64_t all = rounded * buffers;
        needed += all;
        Buffer wanted;
        wanted.kind = kind;
        wanted.where = where;
        table += text_of("\n  %10llu bytes  %s", static_cast<unsigned long long>(all),
                         Core::name_of_buffer(wanted).c_str());
        if (buffers > 1)
            table += text_of(" (%u x %llu)", buffers, static_cast<unsigned long long>(rounded));
        uint64_t left = size > own.taken[m] ? size - own.taken[m] : 0;
        own.fail("on_chip_overflow",
                 text_of("%s has %llu bytes, the kernel needs %llu:%s", name_of(memory),
                         static_cast<unsigned long long>(size),
                         static_cast<unsigned long long>(needed), table.c_str()),
                 text_of("shrink the tile to %llu %% of its size, or this buffer to %llu bytes",
                         static_cast<unsigned long long>(size * 100 / std::max<uint64_t>(needed, 1)),
                         static_cast<unsigned long long>(left / buffers / BLOCK_BYTES * BLOCK_BYTES)),
                 where);
    }
    own.buffers.push_back({memory, static_cast<uint32_t>(own.taken[m]),
                           static_cast<uint32_t>(rounded), index, buffers, kind, where});
    own.taken[m] += rounded;
    return &own.buffers.back();
}

// What a TQue, TQueBind or TSCM does, without its template parameters.
class Queue {
public:
    void init(AscendC::TPosition position, Pipe fill, Pipe empty, int depth) {
        position_ = position;
        fill_ = fill;
        empty_ = empty;
        depth_ = std::max(depth, 1);
    }
    void take(uint32_t number, uint64_t bytes, const Where& where) {
        clear();
        Core& own = core();
        if (!number || !bytes)
            own.fail("argument", text_of("InitBuffer with %u buffers of %llu bytes", number,
                                         static_cast<unsigned long long>(bytes)),
                     "both must be at least 1", where);
        for (uint32_t i = 0; i < number; ++i)
            add(allocate(position_, bytes, i, number, "queue", where));
    }
    void clear() {
        slots_.clear();
        strange_.clear();
        order_.clear();
    }
    void add(Buffer* buffer) {
        buffer->state = Buffer::FREE;
        slots_.push_back({buffer, {}, {}});
    }
    Buffer* alloc(const Where& where) {
        Core& own = core();
        if (slots_.empty())
            own.fail("queue", "AllocTensor of a queue without buffers",
                     "call TPipe::InitBuffer for it first", where);
        for (size_t i = 0; i < slots_.size(); ++i) {
            Slot& slot = slots_[(next_ + i) % slots_.size()];
            if (slot.buffer->state != Buffer::FREE) continue;
            next_ = (next_ + i + 1) % slots_.size();
            slot.buffer->state = Buffer::ALLOCATED;
            slot.buffer->changed = where;
            own.join(fill_, slot.freed);
            own.join(Pipe::S, slot.freed);
            auto& shadow = own.pad(slot.buffer->memory).defined;
            std::fill_n(shadow.begin() + slot.buffer->offset, slot.buffer->bytes, uint8_t(0));
            return slot.buffer;
        }
        const Buffer& first = *slots_[next_ % slots_.size()].buffer;
        own.fail("queue",
                 text_of("AllocTensor: all %zu buffers of %s are in use", slots_.size(),
                         Core::name_of_buffer(first).c_str()),
                 "call FreeTensor after the last use of each tensor", where, first.changed,
                 first.state == Buffer::ENQUEUED ? "enqueued here, and not dequeued"
                                                 : "last taken here, and not freed");
    }
    void enqueue(Buffer* buffer, const Where& where) {
        Core& own = core();
        Slot& slot = find(buffer, "EnQue", where);
        if (buffer->state == Buffer::FREE || buffer->state == Buffer::ENQUEUED)
            own.fail("queue",
                     text_of("EnQue of a tensor of %s that is %s", Core::name_of_buffer(*buffer).c_str(),
                             buffer->state == Buffer::FREE ? "free" : "in the queue already"),
                     "enqueue each tensor of AllocTensor once", where, buffer->changed,
                     buffer->state == Buffer::FREE ? "freed here" : "enqueued here");
        if (static_cast<int>(order_.size()) >= depth_)
            own.fail("queue",
                     text_of("EnQue exceeds the depth %d of %s", depth_,
                             Core::name_of_buffer(*buffer).c_str()),
                     "dequeue first, or give the queue the depth of the EnQue calls in a row", where);
        buffer->state = Buffer::ENQUEUED;
        buffer->changed = where;
        slot.enqueued = own.known(fill_);
        order_.push_back(buffer);
    }
    Buffer* dequeue(const Where& where) {
        Core& own = core();
        if (order_.empty())
            own.fail("queue",
                     slots_.empty() ? std::string("DeQue of a queue without buffers")
                                    : text_of("DeQue of %s, which is empty",
                                              Core::name_of_buffer(*slots_[0].buffer).c_str()),
                     "call EnQue first", where);
        Buffer* buffer = order_.front();
        order_.pop_front();
        buffer->state = Buffer::DEQUEUED;
        buffer->changed = where;
        own.join(empty_, find(buffer, "DeQue", where).enqueued);
        return buffer;
    }
    void free(Buffer* buffer, const Where& where) {
        Core& own = core();
        Slot& slot = find(buffer, "FreeTensor", where);
        if (buffer->state == Buffer::FREE)
            return own.note("queue",
                            text_of("FreeTensor of a tensor of %s that is free already",
                                    Core::name_of_buffer(*buffer).c_str()),
                            "free each tensor once", where, buffer->changed, "freed here");
        if (buffer->state == Buffer::ENQUEUED)
            own.fail("queue",
                     text_of("FreeTensor of a tensor of %s that is in the queue",
                             Core::name_of_buffer(*buffer).c_str()),
                     "dequeue it first", where, buffer->changed, "enqueued here");
        buffer->state = Buffer::FREE;
        buffer->changed = where;
        slot.freed = own.known(empty_);
        if (fill_ == empty_) return;
        for (int p = 0; p < PIPES; ++p)
            slot.freed[p] = std::max(slot.freed[p], own.known(Pipe::S)[p]);
    }
    size_t enqueued() const { return order_.size(); }
    size_t idle() const {
        size_t count = 0;
        for (auto& slot : slots_) count += slot.buffer->state == Buffer::FREE;
        return count;
    }
    int depth() const { return depth_; }
    AscendC::TPosition position() const { return position_; }

private:
    struct Slot {
        Buffer* buffer;
        std::array<uint32_t, PIPES> enqueued, freed;
    };
    Slot& find(Buffer* buffer, const char* what, const Where& where) {
        for (auto& slot : strange_)
            if (slot.buffer == buffer) return slot;
        for (auto& slot : slots_)
            if (slot.buffer == buffer) return slot;
        if (!buffer)
            core().fail("queue", text_of("%s of a tensor without memory", what),
                        "use a tensor of AllocTensor or DeQue", where);
        core().note("queue",
                    text_of("%s of a tensor of %s, which belongs to another queue", what,
                            Core::name_of_buffer(*buffer).c_str()),
                    "use the queue that allocated it, or a TQueBind for both positions", where,
                    buffer->where, "allocated here");
        strange_.push_back({buffer, {}, {}});
        return strange_.back();
    }

    AscendC::TPosition position_ = AscendC::TPosition::VECIN;
    Pipe fill_ = Pipe::MTE2, empty_ = Pipe::V;
    int depth_ = 1;
    size_t next_ = 0;
    std::vector<Slot> slots_;
    std::deque<Slot> strange_; // of buffers of other queues
    std::deque<Buffer*> order_;
};

template <class T>
AscendC::LocalTensor<T> tensor_of(Buffer* buffer, AscendC::TPosition position) {
    return {buffer, position, buffer->offset, buffer->bytes / sizeof(T)};
}

} // namespace host_model

namespace AscendC {

struct TQueConfig {
    bool nd2nz = false, nz2nd = false, scmBlockGroup = false;
    uint32_t bufferLen = 0, bufferNumber = 0, consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false, enableLoopQueue = false;
};

// A queue of tensors that one pipe fills at `source` and another one empties at `destination`.
template <TPosition source, TPosition destination, int32_t depth, auto mask = 0> class TQueBind {
    using Where = ::host_model::Where;

public:
    TQueBind() {
        queue.init(source == TPosition::GM ? destination : source,
                   ::host_model::filling_pipe(source), ::host_model::emptying_pipe(destination), depth);
    }
    template <class T> LocalTensor<T> AllocTensor(Where where = Where::here()) {
        return ::host_model::tensor_of<T>(queue.alloc(where), queue.position());
    }
    template <class T> void AllocTensor(LocalTensor<T>& tensor, Where where = Where::here()) {
        tensor = ::host_model::tensor_of<T>(queue.alloc(where), queue.position());
    }
    template <class T> bool EnQue(const LocalTensor<T>& tensor, Where where = Where::here()) {
        queue.enqueue(tensor.buffer, where);
        return true;
    }
    template <TPosition from, TPosition to, class T>
    bool EnQue(const LocalTensor<T>& tensor, Where where = Where::here()) {
        queue.enqueue(tensor.buffer, where);
        return true;
    }
    template <class T> LocalTensor<T> DeQue(Where where = Where::here()) {
        return ::host_model::tensor_of<T>(queue.dequeue(where), queue.position());
    }
    template <TPosition from, TPosition to, class T>
    LocalTensor<T> DeQue(Where where = Where::here()) {
        return ::host_model::tensor_of<T>(queue.dequeue(where), queue.position());
    }
    template <class T> void DeQue(LocalTensor<T>& tensor, Where where = Where::here()) {
        tensor = ::host_model::tensor_of<T>(queue.dequeue(where), queue.position());
    }
    template <class T> void FreeTensor(const LocalTensor<T>& tensor, Where where = Where::here()) {
        queue.free(tensor.buffer, where);
    }
    bool VacantInQue() const { return static_cast<int>(queue.enqueued()) < queue.depth(); }
    bool HasTensorInQue() const { return queue.enqueued() != 0; }
    int32_t GetTensorCountInQue() const { return static_cast<int32_t>(queue.enqueued()); }
    bool HasIdleBuffer() const { return queue.idle() != 0; }
    void FreeAllEvent() {}

    ::host_model::Queue queue;
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {
public:
    TQue() {
        this->queue.init(position, ::host_model::filling_pipe(position),
                         ::host_model::emptying_pipe(position), depth);
    }
};
template <TPosition position = TPosition::TSCM, int32_t depth = 1, auto mask = 0>
class TSCM : public TQueBind<position, TPosition::TSCM, depth, mask> {};

// A buffer that the kernel keeps for itself.
template <TPosition position = TPosition::LCM> class TBuf {
    using Where = ::host_model::Where;

public:
    template <class T> LocalTensor<T> Get(Where where = Where::here()) {
        return view<T>(0, buffer ? buffer->bytes / sizeof(T) : 0, where);
    }
    template <class T> LocalTensor<T> Get(uint32_t count, Where where = Where::here()) {
        return view<T>(0, count, where);
    }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset, Where where = Where::here()) {
        return view<T>(offset, count, where);
    }
    template <class T> bool EnQue(const LocalTensor<T>&) { return true; }
    template <class T> LocalTensor<T> DeQue(Where where = Where::here()) { return Get<T>(where); }
    template <class T> LocalTensor<T> AllocTensor(Where where = Where::here()) { return Get<T>(where); }
    template <class T> void FreeTensor(const LocalTensor<T>&) {}
    uint32_t GetBufLen() const { return buffer ? buffer->bytes : 0; }
    static constexpr TPosition bufferPosition = position;

    ::host_model::Buffer* buffer = nullptr;

private:
    template <class T> LocalTensor<T> view(uint32_t offset, uint64_t count, const Where& where) {
        auto& core = ::host_model::core();
        if (!buffer)
            core.fail("argument", "Get of a TBuf without memory",
                      "call TPipe::InitBuffer for it first", where);
        if (offset + count * sizeof(T) > buffer->bytes)
            core.note("out_of_range",
                      ::host_model::text_of(
                          "a tensor of bytes %u to %llu of %s, which has %u bytes", offset,
                          static_cast<unsigned long long>(offset + count * sizeof(T)),
                          ::host_model::Core::name_of_buffer(*buffer).c_str(), buffer->bytes),
                      "give InitBuffer more bytes", where, buffer->where, "allocated here");
        return {buffer, position, buffer->offset + offset, count};
    }
};

class TPipe;
inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(::host_model::core().pipe_object); }

} // namespace AscendC

// Kernels call it without its namespace, too.
using AscendC::GetTPipePtr;

namespace AscendC {

// Gives parts of on-chip memory to queues and buffers, and event ids.
class TPipe {
    using Where = ::host_model::Where;

public:
    TPipe() { Init(); }
    ~TPipe() {
        if (::host_model::current_core && GetTPipePtr() == this) ::host_model::core().barrier();
    }
    void Init() {
        auto& core = ::host_model::core();
        core.pipe_object = this;
        std::fill(std::begin(core.taken), std::end(core.taken), 0);
        std::fill(core.event_ids.begin(), core.event_ids.end(), uint8_t(0));
    }
    template <TPosition source, TPosition destination, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<source, destination, depth, mask>& que, uint32_t number, uint64_t bytes,
                    Where where = Where::here()) {
        que.queue.take(number, bytes, where);
        return true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint64_t bytes, Where where = Where::here()) {
        if (!bytes)
            ::host_model::core().fail("argument", "InitBuffer of a TBuf with 0 bytes",
                                      "give it at least 32 bytes", where);
        buffer.buffer = ::host_model::allocate(position, bytes, 0, 1, "buffer", where);
        std::fill_n(::host_model::core().pad(buffer.buffer->memory).defined.begin() +
                        buffer.buffer->offset, buffer.buffer->bytes, uint8_t(0));
        return true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t number, uint64_t bytes, Where where = Where::here()) {
        return InitBuffer(buffer, number * bytes, where);
    }
    template <class Pool>
    bool InitBufPool(Pool& pool, uint32_t bytes, Where where = Where::here()) {
        pool.take(::host_model::allocate(Pool::poolPosition, bytes, 0, 1, "pool", where));
        return true;
    }
    template <class Pool, class Other>
    bool InitBufPool(Pool& pool, uint32_t bytes, Other& shared, Where where = Where::here()) {
        if (!shared.buffer || bytes > shared.buffer->bytes)
            ::host_model::core().fail("argument", "InitBufPool shares a smaller pool",
                                      "the shared pool must be as large", where);
        pool.take(shared.buffer);
        return true;
    }
    template <HardEvent event> TEventID AllocEventID(Where where = Where::here()) {
        auto& core = ::host_model::core();
        uint8_t& used = core.event_ids[static_cast<int>(event)];
        for (int id = 0; id < 8; ++id)
            if (!(used >> id & 1)) {
                used = static_cast<uint8_t>(used | 1 << id);
                return static_cast<TEventID>(id);
            }
        core.fail("event", "AllocEventID: all 8 ids of this event are in use",
                  "call ReleaseEventID when an id is no longer needed", where);
    }
    template <HardEvent event> void ReleaseEventID(TEventID id) {
        uint8_t& used = ::host_model::core().event_ids[static_cast<int>(event)];
        used = static_cast<uint8_t>(used & ~(1 << id));
    }
    TEventID FetchEventID(HardEvent event) {
        auto& core = ::host_model::core();
        for (int id = 0; id < 8; ++id) {
            auto found = core.events.find({static_cast<int>(event), id});
            bool set = found != core.events.end() && found->second.set;
            if (!set && !(core.event_ids[static_cast<int>(event)] >> id & 1))
                return static_cast<TEventID>(id);
        }
        return 0;
    }
    template <HardEvent event> TEventID FetchEventID() { return FetchEventID(event); }
    void Reset() { Init(); }
    void Destroy() {
        ::host_model::core().barrier();
        Init();
    }
    void DestroyWithoutPipeAll() { Init(); }
    uint64_t GetBaseAddr(int8_t) { return 0; }
};

// A part of on-chip memory that gives its own parts to queues and buffers.
template <TPosition position, uint32_t capacity = 4> class TBufPool {
    using Where = ::host_model::Where;

public:
    static constexpr TPosition poolPosition = position;
    void take(::host_model::Buffer* whole) {
        buffer = whole;
        used_ = 0;
    }
    template <TPosition source, TPosition destination, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<source, destination, depth, mask>& que, uint32_t number, uint64_t bytes,
                    Where where = Where::here()) {
        que.queue.clear();
        for (uint32_t i = 0; i < number; ++i) que.queue.add(part(bytes, i, number, "queue", where));
        return true;
    }
    template <TPosition other>
    bool InitBuffer(TBuf<other>& one, uint64_t bytes, Where where = Where::here()) {
        one.buffer = part(bytes, 0, 1, "buffer", where);
        return true;
    }
    template <class Pool>
    bool InitBufPool(Pool& pool, uint32_t bytes, Where where = Where::here()) {
        pool.take(part(bytes, 0, 1, "pool", where));
        return true;
    }
    template <class Pool, class Other>
    bool InitBufPool(Pool& pool, uint32_t, Other& shared) {
        pool.take(shared.buffer);
        return true;
    }
    void Reset() {
        ::host_model::core().barrier();
        used_ = 0;
    }

    ::host_model::Buffer* buffer = nullptr;

private:
    ::host_model::Buffer* part(uint64_t bytes, uint32_t index, uint32_t number, const char* kind,
                               const Where& where) {
        auto& core = ::host_model::core();
        uint64_t rounded = (bytes + 31) / 32 * 32;
        if (!buffer || used_ + rounded > buffer->bytes)
            core.fail("on_chip_overflow",
                      ::host_model::text_of("the pool has %u bytes, %llu are taken and %llu asked for",
                                            buffer ? buffer->bytes : 0,
                                            static_cast<unsigned long long>(used_),
                                            static_cast<unsigned long long>(rounded)),
                      "give InitBufPool more bytes", where);
        core.buffers.push_back({buffer->memory, static_cast<uint32_t>(buffer->offset + used_),
                                static_cast<uint32_t>(rounded), index, number, kind, where});
        used_ += rounded;
        return &core.buffers.back();
    }
    uint64_t used_ = 0;
};

} // namespace AscendC
