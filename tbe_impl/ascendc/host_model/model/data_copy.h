// Copies between global and on-chip memory, and within on-chip memory.
#pragma once

#include "copy_params.h"

namespace host_model {

enum class Atomic : int { NONE, ADD, MAX, MIN };
template <class T> constexpr int atomic_code() {
    return std::is_same<T, float>::value     ? 1
           : is_half<T>                      ? 2
           : std::is_same<T, int16_t>::value ? 3
           : std::is_same<T, int32_t>::value ? 4
           : std::is_same<T, int8_t>::value  ? 5
           : is_bfloat<T>                    ? 6
                                             : 0;
}
inline const char* name_of_atomic(int code) {
    static const char* const names[] = {"no type", "float",  "half",      "int16_t",
                                        "int32_t", "int8_t", "bfloat16_t"};
    return names[code];
}

// Combines elements with those of global memory: the copy of an atomic mode.
template <class T>
void combine(Instruction& op, const Span<T>& to, const Span<T>& from, Atomic mode) {
    Core& own = op.owner();
    if (own.atomic_dtype != atomic_code<T>() || atomic_code<T>() == 0)
        op.fail("argument",
                text_of("%s of %s, while the atomic mode is one of %s", op.name(),
                        name_of_dtype<T>(), name_of_atomic(own.atomic_dtype)),
                "call SetAtomicNone() after the last atomic copy, or SetAtomicAdd with this type");
    uint64_t overflows = 0;
    for (int64_t begin = 0; begin < to.count;) {
        // One lock covers the elements of a page.
        auto page = reinterpret_cast<uintptr_t>(to.data + begin) / 4096;
        int64_t end = begin + 1;
        while (end < to.count && reinterpret_cast<uintptr_t>(to.data + end) / 4096 == page) ++end;
        std::lock_guard<std::mutex> lock(atomic_lock(to.data + begin));
        for (int64_t i = begin; i < end; ++i) {
            Compute<T> before = to.data[i], value = from.data[i];
            if (mode == Atomic::ADD) {
                to.data[i] = static_cast<T>(AddFunction{}(before, value));
                if constexpr (std::is_integral<T>::value)
                    overflows += AddFunction::wraps(before, value, static_cast<T>(to.data[i]));
            } else {
                to.data[i] = static_cast<T>(mode == Atomic::MAX ? MaxFunction{}(before, value)
                                                                : MinFunction{}(before, value));
            }
            if (to.shadow) {
                uint8_t state = from.state(i);
                op.set(to, i, state != 1 ? state : to.state(i));
            }
        }
        begin = end;
    }
    op.count_overflow(overflows, name_of_dtype<T>());
}

// Copies elements from global to on-chip memory.
template <class T>
void copy_in(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t dst_first,
             const AscendC::GlobalTensor<T>& src, int64_t src_first, int64_t count) {
    auto from = op.in(src, src_first, count);
    auto to = op.out(dst, dst_first, count, BLOCK_BYTES);
    std::memcpy(static_cast<void*>(to.data), from.data, count * sizeof(T));
    op.derive(to, from);
}

// Copies elements from on-chip to global memory; in an atomic mode it combines them.
template <class T>
void copy_out(Instruction& op, const AscendC::GlobalTensor<T>& dst, int64_t dst_first,
              const AscendC::LocalTensor<T>& src, int64_t src_first, int64_t count) {
    auto from = op.in(src, src_first, count, BLOCK_BYTES, "the source");
    auto mode = static_cast<Atomic>(op.owner().atomic_mode);
    auto to = op.out(dst, dst_first, count, mode != Atomic::NONE);
    if (mode != Atomic::NONE) return combine(op, to, from, mode);
    std::memcpy(static_cast<void*>(to.data), from.data, count * sizeof(T));
    op.derive(to, from);
}

// Copies elements within on-chip memory.
template <class T>
void copy_within(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t dst_first,
                 const AscendC::LocalTensor<T>& src, int64_t src_first, int64_t count) {
    auto from = op.in(src, src_first, count, 1, "the source");
    auto to = op.out(dst, dst_first, count);
    std::memmove(static_cast<void*>(to.data), from.data, count * sizeof(T));
    op.derive(to, from);
}

template <class T>
void copy(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t dst_first,
          const AscendC::GlobalTensor<T>& src, int64_t src_first, int64_t count) {
    copy_in(op, dst, dst_first, src, src_first, count);
}
template <class T>
void copy(Instruction& op, const AscendC::GlobalTensor<T>& dst, int64_t dst_first,
          const AscendC::LocalTensor<T>& src, int64_t src_first, int64_t count) {
    copy_out(op, dst, dst_first, src, src_first, count);
}
template <class T>
void copy(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t dst_first,
          const AscendC::LocalTensor<T>& src, int64_t src_first, int64_t count) {
    copy_within(op, dst, dst_first, src, src_first, count);
}

// Returns the number of elements that are copied: those of whole blocks.
template <class T> int64_t whole_blocks(Instruction& op, int64_t count) {
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T);
    if (count % per_block == 0) return count;
    op.note(true, "alignment",
            text_of("%s of %lld elements is %lld bytes, no multiple of 32: the rest is not copied",
                    op.name(), static_cast<long long>(count),
                    static_cast<long long>(count * static_cast<int64_t>(sizeof(T)))),
            "use DataCopyPad for the tail, or pad the count to whole blocks");
    return count / per_block * per_block;
}
inline void
check_range(Instruction& op, const char* field, int64_t value, int64_t low, int64_t high,
            const char* remedy = "split the copy: on the chip the field is cut to its low bits") {
    if (value >= low && value <= high) return;
    op.fail("argument",
            text_of("%s: %s is %lld; it may be %lld to %lld", op.name(), field,
                    static_cast<long long>(value), static_cast<long long>(low),
                    static_cast<long long>(high)),
            remedy);
}

// Blocks of elements with gaps, on both sides in units of 32 bytes.
template <class To, class From>
void copy_blocks(Instruction& op, const To& dst, const From& src,
                 const AscendC::DataCopyParams& params) {
    using T = typename To::PrimType;
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T);
    check_range(op, "blockCount", params.blockCount, 0, 4095);
    check_range(op, "blockLen", params.blockLen, 0, 65535);
    check_range(op, "srcStride", params.srcStride, 0, 65535);
    check_range(op, "dstStride", params.dstStride, 0, 65535);
    int64_t length = params.blockLen * per_block;
    if (!length) return;
    if (params.srcStride == 0 && params.dstStride == 0)
        return copy(op, dst, 0, src, 0, params.blockCount * length);
    for (int64_t i = 0; i < params.blockCount; ++i)
        copy(op, dst, i * (params.blockLen + params.dstStride) * per_block, src,
             i * (params.blockLen + params.srcStride) * per_block, length);
}

inline void check_pad_ranges(Instruction& op, const AscendC::DataCopyExtParams& params,
                             size_t size) {
    check_range(op, "blockCount", params.blockCount, 0, 4095);
    check_range(op, "blockLen", params.blockLen, 0, 2097151);
    check_range(op, "srcStride", params.srcStride, 0, (1ll << 40) - 1);
    check_range(op, "dstStride", params.dstStride, 0, (1ll << 40) - 1);
    if (params.blockLen % static_cast<int64_t>(size))
        op.fail("argument",
                text_of("%s: blockLen is %lld bytes, no multiple of the %zu bytes of an element",
                        op.name(), static_cast<long long>(params.blockLen), size),
                "blockLen counts bytes: multiply the number of elements by their size");
}
inline void check_gap(Instruction& op, const char* field, int64_t bytes, size_t size) {
    if (bytes % static_cast<int64_t>(size))
        op.fail("argument",
                text_of("%s: %s is %lld bytes, no multiple of the %zu bytes of an element",
                        op.name(), field, static_cast<long long>(bytes), size),
                "the gap in global memory counts bytes: multiply the elements by their size");
}

// Rows of global memory into rows that start at multiples of 32 bytes.
template <class T>
void copy_pad_in(Instruction& op, const AscendC::LocalTensor<T>& dst,
                 const AscendC::GlobalTensor<T>& src, const AscendC::DataCopyExtParams& params,
                 bool is_pad, int64_t left, int64_t right, T value, bool compact) {
    check_pad_ranges(op, params, sizeof(T));
    check_gap(op, "srcStride", params.srcStride, sizeof(T));
    constexpr int64_t size = sizeof(T), per_block = BLOCK_BYTES / sizeof(T);
    check_range(op, "leftPadding", left * size, 0, 32,
                "the padding of a row is at most 32 bytes a side");
    check_range(op, "rightPadding", right * size, 0, 32,
                "the padding of a row is at most 32 bytes a side");
    if (is_pad && size == 8 && std::memcmp(&value, "\0\0\0\0\0\0\0\0", sizeof(T)) != 0)
        op.fail("argument",
                text_of("%s: a paddingValue other than 0 for elements of 8 bytes", op.name()),
                "pad with 0, and set other values with Duplicate on a 32-bit view");
    if (!params.blockCount || !params.blockLen) return;
    int64_t count = params.blockLen / size, src_step = count + params.srcStride / size;
    if (compact) {
        left = right = 0;
        for (int64_t i = 0; i < params.blockCount; ++i) {
            auto from = op.in(src, i * src_step, count);
            auto to = op.out(dst, i * count, count);
            std::memcpy(static_cast<void*>(to.data), from.data, count * sizeof(T));
            op.derive(to, from);
        }
        int64_t total = params.blockCount * count,
                padded = (total + per_block - 1) / per_block * per_block;
        if (padded > total) {
            auto first = op.in(src, 0, 1);
            auto rest = op.out(dst, total, padded - total);
            for (int64_t i = 0; i < rest.count; ++i) rest.data[i] = is_pad ? value : *first.data;
            op.derive(rest);
        }
        return;
    }
    const Registers& registers = op.owner().registers;
    int64_t row = left + count + right, padded = (row + per_block - 1) / per_block * per_block;
    int64_t dst_step = padded + params.dstStride * per_block;
    // What fills the padding: the value, that of SetPadValue, or without padding the first element;
    // else it is random.
    bool set = is_pad ? left + right > 0 : registers.pad_set;
    if (!is_pad && registers.pad_set) std::memcpy(&value, &registers.pad_value, sizeof(T));
    bool dummies = !set && left + right == 0;
    for (int64_t i = 0; i < params.blockCount; ++i) {
        auto from = op.in(src, i * src_step, count);
        auto to = op.out(dst, i * dst_step, padded, BLOCK_BYTES);
        Span<T> body{to.data + left, to.shadow + left * size, count, true};
        std::memcpy(static_cast<void*>(body.data), from.data, count * sizeof(T));
        op.derive(body, from);
        for (int64_t j = 0; j < padded; ++j) {
            if (j == left) j += count;
            if (j >= padded) break;
            if (set)
                to.data[j] = value;
            else if (dummies)
                to.data[j] = from.data[0];
            else
                std::memset(static_cast<void*>(to.data + j), 0xa5, sizeof(T));
            if (set)
                std::memset(to.shadow + j * size, 1, sizeof(T));
            else if (dummies)
                op.set(to, j, from.state(0));
            else
                op.set(to, j, 0);
        }
    }
}

// Rows that start at multiples of 32 bytes into rows of global memory.
template <class T>
void copy_pad_out(Instruction& op, const AscendC::GlobalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& src, const AscendC::DataCopyExtParams& params,
                  bool compact) {
    check_pad_ranges(op, params, sizeof(T));
    check_gap(op, "dstStride", params.dstStride, sizeof(T));
    constexpr int64_t size = sizeof(T), per_block = BLOCK_BYTES / sizeof(T);
    if (!params.blockCount || !params.blockLen) return;
    int64_t count = params.blockLen / size,
            padded = (count + per_block - 1) / per_block * per_block;
    int64_t src_step = padded + params.srcStride * per_block,
            dst_step = count + params.dstStride / size;
    if (compact) src_step = count;
    auto mode = static_cast<Atomic>(op.owner().atomic_mode);
    for (int64_t i = 0; i < params.blockCount; ++i) {
        auto from = op.in(src, i * src_step, count, 1, "the source");
        auto to = op.out(dst, i * dst_step, count, mode != Atomic::NONE);
        if (mode != Atomic::NONE) {
            combine(op, to, from, mode);
            continue;
        }
        std::memcpy(static_cast<void*>(to.data), from.data, count * sizeof(T));
        op.derive(to, from);
    }
}

// Repeats a copy as SetLoopModePara says: body(source, destination), both moved by the loops'
// strides.
template <class To, class From, class Body>
void for_each_loop(Instruction& op, bool into_ub, const To& dst, const From& src, Body&& body) {
    constexpr uint64_t size = sizeof(typename To::PrimType);
    const Registers::Loops& loops = op.owner().registers.loops[into_ub];
    for (uint64_t outer = 0; outer < std::max<uint64_t>(loops.outer, 1); ++outer)
        for (uint64_t inner = 0; inner < std::max<uint64_t>(loops.inner, 1); ++inner)
            body(dst[(outer * loops.outer_dst + inner * loops.inner_dst) / size],
                 src[(outer * loops.outer_src + inner * loops.inner_src) / size]);
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_COPY_OP(pipe)                                                                   \
    ::host_model::Instruction op(::host_model::Pipe::pipe, "DataCopy", where)

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, int64_t count,
              HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE2);
    count = ::host_model::whole_blocks<T>(op, count);
    ::host_model::copy_in(op, dst, 0, src, 0, count);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, int64_t count,
              HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE3);
    count = ::host_model::whole_blocks<T>(op, count);
    ::host_model::copy_out(op, dst, 0, src, 0, count);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count,
              HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(V);
    count = ::host_model::whole_blocks<T>(op, count);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::copy_within(op, dst, 0, src, 0, count);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
              const DataCopyParams& repeatParams, HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE2);
    ::host_model::check_start(op, dst);
    ::host_model::copy_blocks(op, dst, src, repeatParams);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
              const DataCopyParams& repeatParams, HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE3);
    ::host_model::check_start(op, src);
    ::host_model::copy_blocks(op, dst, src, repeatParams);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
              const DataCopyParams& repeatParams, HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(V);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::copy_blocks(op, dst, src, repeatParams);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                 const DataCopyExtParams& dataCopyParams, const DataCopyPadExtParams<T>& padParams,
                 HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::MTE2, "DataCopyPad", where);
    ::host_model::check_start(op, dst);
    ::host_model::for_each_loop(op, true, dst, src, [&](const auto& to, const auto& from) {
        ::host_model::copy_pad_in(op, to, from, dataCopyParams, padParams.isPad,
                                  padParams.leftPadding, padParams.rightPadding,
                                  padParams.paddingValue, mode == PaddingMode::Compact);
    });
}
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                 const DataCopyParams& dataCopyParams, const DataCopyPadParams& padParams,
                 HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::MTE2, "DataCopyPad", where);
    ::host_model::check_range(op, "blockLen", dataCopyParams.blockLen, 0, 65535,
                              "use DataCopyExtParams, whose blockLen has 21 bits");
    T value;
    std::memcpy(&value, &padParams.paddingValue, sizeof(T));
    ::host_model::check_start(op, dst);
    ::host_model::copy_pad_in(op, dst, src, dataCopyParams, padParams.isPad, padParams.leftPadding,
                              padParams.rightPadding, value, false);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                 const DataCopyExtParams& dataCopyParams, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::MTE3, "DataCopyPad", where);
    ::host_model::check_start(op, src);
    ::host_model::for_each_loop(op, false, dst, src, [&](const auto& to, const auto& from) {
        ::host_model::copy_pad_out(op, to, from, dataCopyParams, mode == PaddingMode::Compact);
    });
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                 const DataCopyParams& dataCopyParams, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::MTE3, "DataCopyPad", where);
    ::host_model::check_range(op, "blockLen", dataCopyParams.blockLen, 0, 65535,
                              "use DataCopyExtParams, whose blockLen has 21 bits");
    ::host_model::check_start(op, src);
    ::host_model::copy_pad_out(op, dst, src, dataCopyParams, false);
}
// The value with which DataCopyPad pads when isPad is false.
template <class T, TPosition position = TPosition::MAX> void SetPadValue(T paddingValue) {
    auto& registers = ::host_model::core().registers;
    registers.pad_value = 0;
    std::memcpy(&registers.pad_value, &paddingValue, sizeof(T));
    registers.pad_set = true;
}

// Loops around the copies of a direction, until ResetLoopModePara.
enum class DataCopyMVType : uint8_t { UB_TO_OUT = 0, OUT_TO_UB = 1 };
struct LoopModeParams {
    uint32_t loop1Size = 0, loop2Size = 0;
    uint64_t loop1SrcStride = 0, loop1DstStride = 0, loop2SrcStride = 0, loop2DstStride = 0;
};
inline void SetLoopModePara(const LoopModeParams& loopParams, DataCopyMVType type) {
    ::host_model::core().registers.loops[type == DataCopyMVType::OUT_TO_UB] =
        {loopParams.loop1Size,      loopParams.loop2Size,      loopParams.loop1SrcStride,
         loopParams.loop1DstStride, loopParams.loop2SrcStride, loopParams.loop2DstStride};
}
inline void ResetLoopModePara(DataCopyMVType type) { SetLoopModePara({}, type); }

} // namespace AscendC

namespace host_model {

template <class T>
void copy_lanes(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                Extent extent, const AscendC::CopyRepeatParams& params, const Where& where) {
    Instruction op(Pipe::V, "Copy", where);
    check_alignment(op, dst, src);
    check_range(op, "dstRepeatSize", params.dstRepeatSize, 0, 4095);
    check_range(op, "srcRepeatSize", params.srcRepeatSize, 0, 4095);
    check_range(op, "repeatTime", extent.repeats, 0, 255, "split the call");
    std::array<Operand, 2> operands{{{sizeof(T), params.dstStride, params.dstRepeatSize},
                                     {sizeof(T), params.srcStride, params.srcRepeatSize}}};
    // In counter mode the mask counts the elements of each repeat.
    bool counter = op.owner().mask_counter;
    int64_t lanes = counter ? static_cast<int64_t>(extent.lanes.count()) : lanes_of<T, T>();
    for (int64_t repeat = 0; repeat < extent.repeats; ++repeat)
        for_each_run_of(
            lanes, operands, repeat,
            [&](const auto& first, int64_t count) {
                copy_within(op, dst, first[0], src, first[1], count);
            },
            [&](int64_t lane) { return counter || extent.lanes.active(lane); });
}

} // namespace host_model

namespace AscendC {

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Copy", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::copy_within(op, dst, 0, src, 0, count);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, int64_t repeatTime,
          const CopyRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::copy_lanes(dst, src, ::host_model::masked(mask, repeatTime, isSetMask),
                             repeatParams, where);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
          int64_t repeatTime, const CopyRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::copy_lanes(dst, src, ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                             repeatParams, where);
}

} // namespace AscendC
