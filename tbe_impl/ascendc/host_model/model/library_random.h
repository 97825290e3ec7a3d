// Random numbers and dropout.
#pragma once

#include "library_rows.h"

namespace AscendC {

struct DropOutShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
using PhiloxKey = uint32_t[2];
using PhiloxCounter = uint32_t[4];
struct PhiloxRandomParams {
    uint32_t stride, row, column;
};

} // namespace AscendC

namespace host_model {

// Philox 4x32 (Salmon, Moraes, Dror, Shaw 2011): four random words of a counter and a key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint32_t key0,
                                      uint32_t key1, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        uint64_t left = uint64_t(0xD2511F53u) * counter[0];
        uint64_t right = uint64_t(0xCD9E8D57u) * counter[2];
        counter = {static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key0,
                   static_cast<uint32_t>(right),
                   static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key1,
                   static_cast<uint32_t>(left)};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}
// Words `first` to `first + count` of the stream that starts at a counter.
template <class T>
void fill_random(T* to, uint64_t first, int64_t count, const uint32_t* start, const uint32_t* key,
                 int rounds) {
    for (int64_t i = 0; i < count; ++i) {
        uint64_t block = (first + i) / 4;
        std::array<uint32_t, 4> counter{start[0], start[1], start[2], start[3]};
        for (int word = 0; word < 4; ++word) {
            block += counter[word];
            counter[word] = static_cast<uint32_t>(block);
            block >>= 32;
        }
        uint32_t bits = philox(counter, key[0], key[1], rounds)[(first + i) % 4];
        if constexpr (std::is_same<T, float>::value) {
            bits = (bits & 0x7fffff) | 0x3f800000; // in [1, 2)
            std::memcpy(to + i, &bits, sizeof bits);
            to[i] -= 1;
        } else {
            to[i] = static_cast<T>(bits);
        }
    }
}

} // namespace host_model

namespace AscendC {

// Random words of a key and a counter, or floats in [0, 1). The floats take the low 23 bits; the
// documentation does not say which.
template <uint16_t Rounds = 7, class T>
void PhiloxRandom(const LocalTensor<T>& dst, const PhiloxKey& philoxKey,
                  const PhiloxCounter& philoxCounter, uint16_t count, HOST_MODEL_WHERE) {
    static_assert(Rounds == 7 || Rounds == 10, "PhiloxRandom has 7 or 10 rounds");
    ::host_model::Instruction op(::host_model::Pipe::V, "PhiloxRandom", where);
    ::host_model::check_alignment(op, dst);
    auto to = op.out(dst, 0, count);
    ::host_model::fill_random(to.data, 0, count, philoxCounter, philoxKey, Rounds);
    op.derive(to);
}
// Rows of a stream whose rows are `stride` apart.
template <uint16_t Rounds = 7, class T>
void PhiloxRandom(const LocalTensor<T>& dst, const PhiloxKey& philoxKey,
                  const PhiloxCounter& philoxCounter, const PhiloxRandomParams& params,
                  HOST_MODEL_WHERE) {
    static_assert(Rounds == 7 || Rounds == 10, "PhiloxRandom has 7 or 10 rounds");
    ::host_model::Instruction op(::host_model::Pipe::V, "PhiloxRandom", where);
    ::host_model::check_alignment(op, dst);
    op.check(params.column % 4 == 0 && params.stride % 4 == 0 && params.stride >= params.column,
             "argument",
             ::host_model::text_of("PhiloxRandom: column %u, stride %u", params.column,
                                   params.stride),
             "both are multiples of 4, and the stride is at least the column");
    auto to = op.out(dst, 0, int64_t(params.row) * params.column);
    for (uint64_t row = 0; row < params.row; ++row)
        ::host_model::fill_random(to.data + row * params.column, row * params.stride,
                                  params.column, philoxCounter, philoxKey, Rounds);
    op.derive(to);
}

// dst = mask ? src / keepProb : 0. The mask has a byte per element, or a bit: bit i of a byte
// belongs to element i, as for Select. `dropOutMode` 0 chooses by the lengths of the rows.
template <class T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
             HOST_MODEL_SHARED, float keepProb, const DropOutShapeInfo& info, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "DropOut", where);
    ::host_model::check_alignment(op, dst, src, mask);
    op.check(keepProb > 0 && keepProb < 1, "argument",
             ::host_model::text_of("DropOut: keepProb is %g", static_cast<double>(keepProb)),
             "it lies between 0 and 1");
    bool bytes = dropOutMode ? dropOutMode <= 2 : info.maskLastAxis >= info.srcLastAxis;
    int64_t width = info.srcLastAxis;
    for (int64_t row = 0; row < info.firstAxis; ++row) {
        auto from = op.in(src, row * width, width, 1, "the source");
        auto kept = op.in(mask, row * info.maskLastAxis, bytes ? width : (width + 7) / 8, 1,
                          "the mask");
        auto to = op.out(dst, row * width, width);
        for (int64_t i = 0; i < width; ++i) {
            int64_t at = bytes ? i : i / 8;
            bool keep = bytes ? kept.data[at] != 0 : kept.data[at] >> i % 8 & 1;
            to.data[i] = static_cast<T>(keep ? float(from.data[i]) / keepProb : 0.0f);
            op.set(to, i, kept.state(at) == 1 ? from.state(i) : kept.state(at));
        }
    }
}
template <class T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
             float keepProb, const DropOutShapeInfo& info, HOST_MODEL_WHERE) {
    ::host_model::take_workspace(
        "DropOut", ::host_model::least_workspace(::host_model::temporaries::DropOut), where);
    DropOut<T, isInitBitMode, dropOutMode>(dst, src, mask, LocalTensor<uint8_t>(), keepProb, info,
                                           where);
}

} // namespace AscendC
