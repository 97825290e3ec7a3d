// Conversions with a scale: from int32_t to half, and from int16_t to bytes.
#pragma once

#include "cast.h"

namespace host_model {

// dst = relu(half((a + b) * scale)), with a hidden work space.
inline void add_deq_relu(const AscendC::LocalTensor<half>& dst,
                         const AscendC::LocalTensor<int32_t>& a,
                         const AscendC::LocalTensor<int32_t>& b, const Extent& extent,
                         const AscendC::BinaryRepeatParams& params, const Where& where) {
    core().registers.deq_set
        ? void()
        : core().fail("argument",
                      "AddDeqRelu multiplies by the scale of SetDeqScale, which was not called",
                      "call SetDeqScale(static_cast<half>(1.0f)) first", where);
    take_workspace("AddDeqRelu", extent.by_count && extent.count <= 2048 ? extent.count * 4 : 8192,
                   where);
    float scale = core().registers.deq_scale;
    binary_cast("AddDeqRelu", dst, a, b, extent, params, where, [scale](int64_t x, int64_t y) {
        return std::max(0.0f, static_cast<float>(x + y) * scale);
    });
}

// int16_t to bytes by scale and offset (one, or one for each of the 16 elements of a block), or
// int32_t to half by a scale.
template <bool is_vector, bool half_block, class D, class S>
void cast_dequant(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src,
                  const Extent& extent, const AscendC::UnaryRepeatParams& params,
                  const Where& where) {
    Instruction op(Pipe::V, "CastDequant", where);
    check_alignment(op, dst, src);
    const Registers& registers = op.owner().registers;
    if (!registers.deq_set)
        op.fail("argument", "CastDequant uses the scale of SetDeqScale, which was not called",
                "call SetDeqScale first");
    if constexpr (sizeof(D) == 1) {
        // A block of 16 elements fills one half of a block of 32 bytes.
        std::array<Operand, 2> operands{{{1, params.dstBlkStride, params.dstRepStride},
                                         {2, params.srcBlkStride, params.srcRepStride}}};
        int64_t blocks = extent.by_count ? (extent.count + 15) / 16 : extent.repeats * 8;
        for (int64_t block = 0; block < blocks; ++block) {
            int64_t repeat = extent.by_count ? 0 : block / 8,
                    in_repeat = extent.by_count ? block : block % 8;
            for (int64_t i = 0; i < 16; ++i) {
                if (extent.by_count ? block * 16 + i >= extent.count
                                    : !extent.lanes.active(in_repeat * 16 + i))
                    continue;
                auto from = op.in(src, operands[1].element(repeat, in_repeat * 16 + i), 1);
                auto to =
                    op.out(dst,
                           operands[0].element(repeat, in_repeat * 32 + i + (half_block ? 16 : 0)),
                           1);
                float value = from.data[0] * registers.deq_scales[i] + registers.deq_offsets[i];
                to.data[0] = static_cast<D>(
                    registers.deq_signs[i]
                        ? saturate<int8_t>(std::nearbyint(value))
                        : static_cast<int>(saturate<uint8_t>(std::nearbyint(value))));
                op.derive(to, from);
            }
        }
    } else {
        for_each_run(op, extent, lanes_of<D, S>(), operands_of<D, S>(params),
                     [&](const auto& first, int64_t count) {
                         apply_unary(op, dst, src, first[0], first[1], count, [&](auto x) {
                             return static_cast<float>(x) * registers.deq_scale;
                         });
                     });
    }
}

} // namespace host_model

namespace AscendC {

template <class T = half, class U = int32_t>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                int64_t count, HOST_MODEL_WHERE) {
    ::host_model::add_deq_relu(dst, src0, src1, ::host_model::counted(count),
                               ::host_model::dense_binary<T, U>(), where);
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, uint64_t mask, int64_t repeatTime,
                const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::add_deq_relu(dst, src0, src1, ::host_model::masked(mask, repeatTime, isSetMask),
                               repeatParams, where);
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, const uint64_t mask[], int64_t repeatTime,
                const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::add_deq_relu(dst, src0, src1,
                               ::host_model::masked(mask, 4, repeatTime, isSetMask), repeatParams,
                               where);
}

#define HOST_MODEL_DEQUANT(NAME)                                                                   \
    template <class T, class U, bool isVecDeq = true, bool halfBlock = true>                       \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t count,                 \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::cast_dequant<isVecDeq, halfBlock>(dst, src, ::host_model::counted(count),    \
                                                        ::host_model::dense_unary<T, U>(), where); \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true, bool isVecDeq = true,                       \
              bool halfBlock = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t mask,                  \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::cast_dequant<isVecDeq, halfBlock>(                                           \
            dst, src, ::host_model::masked(static_cast<uint64_t>(mask), repeatTime, isSetMask),    \
            repeatParams, where);                                                                  \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true, bool isVecDeq = true,                       \
              bool halfBlock = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],         \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {       \
        ::host_model::cast_dequant<isVecDeq, halfBlock>(dst, src,                                  \
                                                        ::host_model::masked(mask, sizeof(U),      \
                                                                             repeatTime,           \
                                                                             isSetMask),           \
                                                        repeatParams, where);                      \
    }
HOST_MODEL_DEQUANT(CastDequant)
HOST_MODEL_DEQUANT(CastDeq)

} // namespace AscendC
