// Gathering of the elements that a mask selects.
#pragma once

#include "elementwise.h"

namespace AscendC {

enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V1;
struct GatherMaskParams {
    uint32_t src0BlockStride = 1, repeatTimes = 0, src0RepeatStride = 0, src1RepeatStride = 0;
    GatherMaskParams() = default;
    template <class A, class B, class C, class D>
    GatherMaskParams(A block_stride, B repeats, C repeat_stride, D pattern_stride)
        : src0BlockStride(static_cast<uint32_t>(block_stride)),
          repeatTimes(static_cast<uint32_t>(repeats)),
          src0RepeatStride(static_cast<uint32_t>(repeat_stride)),
          src1RepeatStride(static_cast<uint32_t>(pattern_stride)) {}
};

} // namespace AscendC

namespace host_model {

// Gathers the elements whose bits are 1; `bit(repeat, lane)` sets the state of its bit.
template <class T, class Bit>
uint64_t gather_mask(Instruction& op, const AscendC::LocalTensor<T>& dst,
                     const AscendC::LocalTensor<T>& src, bool counter, int64_t mask,
                     const AscendC::GatherMaskParams& params, Bit&& bit) {
    check_alignment(op, dst, src);
    Operand from{sizeof(T), params.src0BlockStride, params.src0RepeatStride};
    int64_t lanes = counter ? mask : lanes_of<T, T>(), per_block = BLOCK_BYTES / sizeof(T),
            found = 0;
    check_range_of_repeats(op, params.repeatTimes, 65535);
    for (int64_t repeat = 0; repeat < params.repeatTimes; ++repeat)
        for (int64_t start = 0; start < lanes; start += per_block) {
            int64_t count = std::min(per_block, lanes - start), taken = 0;
            for (int64_t i = 0; i < count; ++i) taken += bit(repeat, start + i);
            auto block = op.in(src, from.element(repeat, start), count, 1, "the source");
            if (!taken) continue;
            auto to = op.out(dst, found, taken);
            int64_t at = 0;
            for (int64_t i = 0; i < count; ++i) {
                if (!bit(repeat, start + i)) continue;
                to.data[at] = block.data[i];
                op.set(to, at++, block.whole ? 1 : block.state(i));
            }
            found += taken;
        }
    op.owner().mask_counter = false;
    return static_cast<uint64_t>(found);
}

} // namespace host_model

namespace AscendC {

// Packs the elements that the pattern selects; `rsvdCnt` is their number.
template <class T, class U, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                const LocalTensor<U>& src1Pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "GatherMask", where);
    if (sizeof(U) != sizeof(T))
        op.fail("argument",
                ::host_model::text_of(
                    "GatherMask: a pattern of %zu-byte words for elements of %zu bytes", sizeof(U),
                    sizeof(T)),
                "use uint16_t patterns for 16-bit elements, uint32_t for 32-bit ones");
    ::host_model::check_start(op, src1Pattern);
    int64_t lanes = reduceMode ? mask : 256 / static_cast<int64_t>(sizeof(T));
    auto bytes = src1Pattern.template ReinterpretCast<uint8_t>();
    std::vector<::host_model::Span<uint8_t>> patterns;
    for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        patterns.push_back(op.in(bytes, int64_t(repeat) * params.src1RepeatStride * 32,
                                 (lanes + 7) / 8, 1, "the pattern"));
        op.require(patterns.back(), "the pattern");
    }
    rsvdCnt = ::host_model::gather_mask(op, dst, src0, reduceMode, mask, params,
                                        [&](int64_t repeat, int64_t lane) {
                                            return patterns[repeat].data[lane / 8] >> lane % 8 & 1;
                                        });
}
template <class T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, uint8_t src1Pattern,
                bool reduceMode, uint32_t mask, const GatherMaskParams& params, uint64_t& rsvdCnt,
                HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "GatherMask", where);
    if (src1Pattern < 1 || src1Pattern > 7)
        op.fail("argument", ::host_model::text_of("GatherMask: pattern %d", src1Pattern),
                "patterns are 1 to 7");
    static const uint8_t bits[] = {0, 0x5, 0xa, 0x1, 0x2, 0x4, 0x8, 0xf};
    rsvdCnt = ::host_model::gather_mask(op, dst, src0, reduceMode, mask, params,
                                        [&](int64_t, int64_t lane) {
                                            return bits[src1Pattern] >> lane % 4 & 1;
                                        });
}

} // namespace AscendC
