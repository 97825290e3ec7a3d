// Sorting: pairs of score and index, merges of sorted lists, region proposals, the largest of rows.
#pragma once

#include "../host/library_space.h"
#include "gathers.h"

namespace AscendC {

template <class T> struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& one, const LocalTensor<T>& two,
                   const LocalTensor<T>& three, const LocalTensor<T>& four)
        : src1(one), src2(two), src3(three), src4(four) {}
};
struct MrgSort4Info {
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0, repeatTimes = 1;
    MrgSort4Info() = default;
    template <class L, class A, class B>
    MrgSort4Info(const L lengths[4], bool suspend, A valid, B repeats)
        : ifExhaustedSuspension(suspend), validBit(static_cast<uint16_t>(valid)),
          repeatTimes(static_cast<uint16_t>(repeats)) {
        for (int i = 0; i < 4; ++i) elementLengths[i] = static_cast<uint16_t>(lengths[i]);
    }
};
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
    SortType type = SortType::RADIX_SORT;
    bool isDescend = false, hasSrcIndex = false, hasDstIndex = false;
};
inline constexpr SortConfig DEFAULT_SORT_CONFIG = {SortType::RADIX_SORT, false};
struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
};

} // namespace AscendC

namespace host_model {

// A pair of score and index as Sort32 writes it: 8 bytes, the score first.
struct Scored {
    float score;
    uint32_t index;
    uint64_t bits;
    uint8_t state;
};
// NaN sorts before all numbers.
inline bool sorts_before(float a, float b) { return a > b || (a != a && b == b); }

constexpr int64_t PAIR_BYTES = 8;
template <class T> constexpr int64_t pair_elements() { return PAIR_BYTES / sizeof(T); }

template <class T>
void write_pairs(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t first_pair,
                 const std::vector<Scored>& pairs) {
    auto to = op.out(dst, first_pair * pair_elements<T>(),
                     static_cast<int64_t>(pairs.size()) * pair_elements<T>());
    for (size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(reinterpret_cast<uint8_t*>(to.data) + i * 8, &pairs[i].bits, 8);
        uint8_t state = pairs[i].state == 0 ? op.undefined_code() : pairs[i].state;
        std::memset(to.shadow + i * 8, state, 8);
    }
}
template <class T> Scored scored(T score, uint32_t index, uint8_t state) {
    Scored one{static_cast<float>(score), index, 0, state};
    std::memcpy(&one.bits, &score, sizeof(T));
    one.bits |= static_cast<uint64_t>(index) << 32;
    return one;
}
template <class T>
std::vector<Scored> read_pairs(Instruction& op, const AscendC::LocalTensor<T>& src,
                               int64_t first_pair, int64_t count) {
    auto from =
        op.in(src, first_pair * pair_elements<T>(), count * pair_elements<T>(), 1, "the source");
    std::vector<Scored> pairs;
    for (int64_t i = 0; i < count; ++i) {
        Scored one{};
        T score;
        std::memcpy(&one.bits, reinterpret_cast<const uint8_t*>(from.data) + i * 8, 8);
        std::memcpy(static_cast<void*>(&score), &one.bits, sizeof(T));
        one.score = score;
        one.index = static_cast<uint32_t>(one.bits >> 32);
        one.state = from.whole ? 1 : from.state(i * pair_elements<T>());
        pairs.push_back(one);
    }
    return pairs;
}
template <class T>
std::vector<Scored> read_scores(Instruction& op, const AscendC::LocalTensor<T>& scores,
                                const AscendC::LocalTensor<uint32_t>& indices, int64_t first,
                                int64_t count) {
    auto values = op.in(scores, first, count, 1, "the scores");
    auto places = op.in(indices, first, count, 1, "the indices");
    std::vector<Scored> pairs;
    for (int64_t i = 0; i < count; ++i) {
        uint8_t state = values.whole ? 1 : values.state(i);
        if (state == 1 && !places.whole) state = places.state(i);
        pairs.push_back(scored(values.data[i], places.data[i], state));
    }
    return pairs;
}
inline void sort_descending(std::vector<Scored>& pairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const Scored& a, const Scored& b) {
        return sorts_before(a.score, b.score);
    });
}

// Merges lists; stops with the first exhausted list if `suspend`. `taken` counts the pairs of each
// list.
inline std::vector<Scored> merge_lists(const std::vector<std::vector<Scored>>& lists, bool suspend,
                                       std::array<size_t, 4>& taken) {
    std::vector<Scored> merged;
    taken = {};
    for (;;) {
        int best = -1;
        for (size_t i = 0; i < lists.size(); ++i) {
            if (taken[i] >= lists[i].size()) continue;
            if (best < 0 || sorts_before(lists[i][taken[i]].score, lists[best][taken[best]].score))
                best = static_cast<int>(i);
        }
        if (best < 0) return merged;
        merged.push_back(lists[best][taken[best]++]);
        if (suspend && taken[best] == lists[best].size()) return merged;
    }
}
template <class T>
void merge_sort(const char* name, const AscendC::LocalTensor<T>& dst,
                const AscendC::MrgSortSrcList<T>& src, const uint16_t lengths[4], bool suspend,
                uint32_t valid, int64_t repeats, std::array<size_t, 4>& taken, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_start(op, dst);
    if (valid != 3 && valid != 7 && valid != 15)
        op.fail("argument", text_of("%s: validBit is %u", op.name(), valid),
                "3, 7 and 15 are the first two, three and four lists");
    int count = valid == 3 ? 2 : valid == 7 ? 3 : 4;
    const AscendC::LocalTensor<T>* tensors[] = {&src.src1, &src.src2, &src.src3, &src.src4};
    int64_t step = 0;
    for (int i = 0; i < count; ++i) {
        check_start(op, *tensors[i], 8);
        if (lengths[i] > 4095)
            op.fail("argument", text_of("%s: a list of %u pairs", op.name(), lengths[i]),
                    "a list has at most 4095 pairs: merge in more steps");
        step += lengths[i];
    }
    if (repeats > 1) {
        bool equal = valid == 15 && !suspend;
        for (int i = 1; i < 4; ++i)
            equal = equal && lengths[i] == lengths[0] &&
                    tensors[i]->offset == tensors[0]->offset + i * lengths[0] * PAIR_BYTES;
        if (!equal)
            op.fail(
                "argument",
                text_of("%s: %lld repeats of lists that are not adjacent and of equal length",
                        op.name(), static_cast<long long>(repeats)),
                "repeats need four adjacent lists of one length, validBit 15 and no suspension");
    }
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        std::vector<std::vector<Scored>> lists;
        for (int i = 0; i < count; ++i)
            lists.push_back(read_pairs(op, *tensors[i], repeat * step, lengths[i]));
        write_pairs(op, dst, repeat * step, merge_lists(lists, suspend, taken));
    }
    for (int i = 0; i < 4; ++i) op.owner().registers.merged[i] = static_cast<uint16_t>(taken[i]);
}

// Region proposals: 8 elements each, of which element 4 is the score.
template <class T> std::vector<int64_t> order_by_score(const Span<T>& proposals) {
    std::vector<int64_t> order(proposals.count / 8);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return sorts_before(proposals.data[a * 8 + 4], proposals.data[b * 8 + 4]);
    });
    return order;
}

} // namespace host_model

namespace AscendC {

// Sorts 32 scores a repeat into descending pairs (score, index).
template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
            const LocalTensor<uint32_t>& src1, int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Sort32", where);
    ::host_model::check_dtype<::host_model::Floating, T>(op);
    ::host_model::check_alignment(op, dst, src0, src1);
    ::host_model::check_range_of_repeats(op, repeatTime);
    for (int64_t repeat = 0; repeat < repeatTime; ++repeat) {
        auto pairs = ::host_model::read_scores(op, src0, src1, repeat * 32, 32);
        ::host_model::sort_descending(pairs);
        ::host_model::write_pairs(op, dst, repeat * 32, pairs);
    }
}
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
             HOST_MODEL_WHERE) {
    std::array<size_t, 4> taken;
    ::host_model::merge_sort("MrgSort", dst, src, params.elementLengths,
                             params.ifExhaustedSuspension, params.validBit, params.repeatTimes,
                             taken, where);
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList,
             const uint16_t elementCountList[4], uint32_t sortedNum[4], uint16_t validBit,
             int64_t repeatTime, HOST_MODEL_WHERE) {
    std::array<size_t, 4> taken;
    ::host_model::merge_sort("MrgSort", dst, sortList, elementCountList, isExhaustedSuspension,
                             validBit, repeatTime, taken, where);
    for (int i = 0; i < 4; ++i) sortedNum[i] = static_cast<uint32_t>(taken[i]);
}
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
    auto& merged = ::host_model::core().registers.merged;
    list1 = merged[0], list2 = merged[1], list3 = merged[2], list4 = merged[3];
}
// Elements that `count` pairs of score and index take.
template <class T> constexpr uint32_t GetSortOffset(uint32_t elemOffset) {
    return elemOffset * static_cast<uint32_t>(::host_model::pair_elements<T>());
}
template <class T> constexpr uint32_t GetSortLen(uint32_t elemCount) {
    return GetSortOffset<T>(elemCount);
}

// Prepares scores for Sort: the scores themselves on this chip.
template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&,
            int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Concat", where);
    ::host_model::check_range_of_repeats(op, repeatTime);
    concat = src;
}
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
          const LocalTensor<uint32_t>& index, const LocalTensor<T>& tmp, int64_t repeatTime,
          HOST_MODEL_WHERE) {
    if (!isFullSort) return Sort32(dst, concat, index, repeatTime, where);
    ::host_model::Instruction op(::host_model::Pipe::V, "Sort", where);
    ::host_model::check_dtype<::host_model::Floating, T>(op);
    ::host_model::check_alignment(op, dst, concat, index, tmp);
    ::host_model::check_range_of_repeats(op, repeatTime);
    auto pairs = ::host_model::read_scores(op, concat, index, 0, repeatTime * 32);
    if (static_cast<int64_t>(tmp.elements * sizeof(T)) < repeatTime * 256)
        op.fail("workspace_overflow",
                ::host_model::text_of(
                    "Sort of %lld elements needs %lld bytes of work space, tmp has %llu",
                    static_cast<long long>(repeatTime * 32),
                    static_cast<long long>(repeatTime * 256),
                    static_cast<unsigned long long>(tmp.elements * sizeof(T))),
                "give InitBuffer 8 bytes for each element");
    ::host_model::sort_descending(pairs);
    ::host_model::write_pairs(op, dst, 0, pairs);
}
} // namespace AscendC

namespace host_model {

// Stable sort of any element type; without source indices an index is the position.
template <class T, class U>
void sort_elements(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>* dst_index,
                   const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<U>* src_index,
                   int64_t count, const AscendC::SortConfig& config, const Where& where) {
    Instruction op(Pipe::V, "Sort", where);
    check_alignment(op, dst, src);
    bool merge = config.type == AscendC::SortType::MERGE_SORT;
    if (merge && count % 32)
        op.fail("argument",
                text_of("Sort of %lld elements by MERGE_SORT", static_cast<long long>(count)),
                "pad them to a multiple of 32, or use RADIX_SORT");
    auto from = op.in(src, 0, count, 1, "the source");
    std::vector<int64_t> order(count);
    for (int64_t i = 0; i < count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        Compute<T> x = from.data[a], y = from.data[b];
        return config.isDescend ? y < x : x < y;
    });
    std::vector<T> values(from.data, from.data + count);
    std::vector<U> indices(count);
    std::vector<uint8_t> states(count);
    for (int64_t i = 0; i < count; ++i) states[i] = from.state(i), indices[i] = static_cast<U>(i);
    if (src_index) {
        auto given = op.in(*src_index, 0, count, 1, "the indices");
        std::copy(given.data, given.data + count, indices.begin());
    }
    auto to = op.out(dst, 0, count);
    for (int64_t i = 0; i < count; ++i)
        to.data[i] = values[order[i]], op.set(to, i, states[order[i]]);
    if (!dst_index) return;
    auto places = op.out(*dst_index, 0, count);
    for (int64_t i = 0; i < count; ++i)
        places.data[i] = indices[order[i]], op.set(places, i, states[order[i]]);
}

} // namespace host_model

namespace AscendC {

// Sorts with SortConfig: values only, values and positions, values and given indices.
#define HOST_MODEL_SORT(NAME, TMP)                                                                 \
    template <class T, bool isReuseSource = false, const SortConfig& config = DEFAULT_SORT_CONFIG> \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor TMP,                \
              int64_t calCount, HOST_MODEL_WHERE) {                                                \
        ::host_model::sort_elements<T, uint32_t>(dstTensor, nullptr, srcTensor, nullptr, calCount, \
                                                 config, where);                                   \
    }                                                                                              \
    template <class T, bool isReuseSource = false, const SortConfig& config = DEFAULT_SORT_CONFIG> \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<uint32_t>& dstIndexTensor,        \
              const LocalTensor<T>& srcTensor TMP, int64_t calCount, HOST_MODEL_WHERE) {           \
        ::host_model::sort_elements<T, uint32_t>(dstTensor, &dstIndexTensor, srcTensor, nullptr,   \
                                                 calCount, config, where);                         \
    }                                                                                              \
    template <class T, class U, bool isReuseSource = false,                                        \
              const SortConfig& config = DEFAULT_SORT_CONFIG>                                      \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<U>& dstIndexTensor,               \
              const LocalTensor<T>& srcTensor, const LocalTensor<U>& srcIndexTensor TMP,           \
              int64_t calCount, HOST_MODEL_WHERE) {                                                \
        ::host_model::sort_elements<T, U>(dstTensor, &dstIndexTensor, srcTensor, &srcIndexTensor,  \
                                          calCount, config, where);                                \
    }
#define HOST_MODEL_SORT_TMP , const LocalTensor<uint8_t>&
HOST_MODEL_SORT(Sort, )
HOST_MODEL_SORT(Sort, HOST_MODEL_SORT_TMP)

// Values and indices of sorted pairs, 32 a repeat.
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
             const LocalTensor<T>& sorted, int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Extract", where);
    ::host_model::check_alignment(op, dstValue, dstIndex, sorted);
    ::host_model::check_range_of_repeats(op, repeatTime);
    auto pairs = ::host_model::read_pairs(op, sorted, 0, repeatTime * 32);
    auto values = op.out(dstValue, 0, repeatTime * 32);
    auto places = op.out(dstIndex, 0, repeatTime * 32);
    for (size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(static_cast<void*>(values.data + i), &pairs[i].bits, sizeof(T));
        places.data[i] = pairs[i].index;
        op.set(values, static_cast<int64_t>(i), pairs[i].state);
        op.set(places, static_cast<int64_t>(i), pairs[i].state);
    }
}

// Region proposals of 8 elements: [x1, y1, x2, y2, score, label, -, -].
template <class T>
void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                    int64_t modeNumber, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "ProposalConcat", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range(op, "modeNumber", modeNumber, 0, 5,
                              "0 to 5 are x1, y1, x2, y2, score, label");
    auto from = op.in(src, 0, repeatTime * 16, 1, "the source");
    for (int64_t i = 0; i < repeatTime * 16; ++i)
        ::host_model::write_element(op, dst, i * 8 + modeNumber, from.data[i], from.state(i));
}
template <class T>
void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                     int64_t modeNumber, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "ProposalExtract", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range(op, "modeNumber", modeNumber, 0, 5,
                              "0 to 5 are x1, y1, x2, y2, score, label");
    auto from = op.in(src, 0, repeatTime * 128, 1, "the source");
    auto to = op.out(dst, 0, repeatTime * 16);
    for (int64_t i = 0; i < to.count; ++i) {
        to.data[i] = from.data[i * 8 + modeNumber];
        op.set(to, i, from.state(i * 8 + modeNumber));
    }
}
template <class T>
void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
              HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "RpSort16", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range_of_repeats(op, repeatTime);
    for (int64_t repeat = 0; repeat < repeatTime; ++repeat) {
        auto from = op.in(src, repeat * 128, 128, 1, "the source");
        T values[128];
        uint8_t states[128];
        for (int i = 0; i < 128; ++i) values[i] = from.data[i], states[i] = from.state(i);
        auto order = ::host_model::order_by_score(from);
        auto to = op.out(dst, repeat * 128, 128);
        for (int64_t i = 0; i < 128; ++i) {
            to.data[i] = values[order[i / 8] * 8 + i % 8];
            op.set(to, i, states[order[i / 8] * 8 + i % 8]);
        }
    }
}
template <class T>
void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
              HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "MrgSort4", where);
    int count = params.validBit == 3 ? 2 : params.validBit == 7 ? 3 : params.validBit == 15 ? 4 : 0;
    if (!count)
        op.fail("argument", ::host_model::text_of("MrgSort4: validBit is %u", params.validBit),
                "3, 7 and 15 are the first two, three and four lists");
    const LocalTensor<T>* tensors[] = {&src.src1, &src.src2, &src.src3, &src.src4};
    int64_t step = 0;
    for (int i = 0; i < count; ++i) step += params.elementLengths[i];
    std::array<size_t, 4> taken{};
    for (int64_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        std::vector<std::vector<::host_model::Scored>> lists(count);
        std::vector<::host_model::Span<T>> spans;
        for (int i = 0; i < count; ++i) {
            spans.push_back(
                op.in(*tensors[i], repeat * step * 8, params.elementLengths[i] * 8, 1, "a source"));
            for (int64_t j = 0; j < params.elementLengths[i]; ++j)
                lists[i].push_back({static_cast<float>(spans[i].data[j * 8 + 4]),
                                    static_cast<uint32_t>(j), static_cast<uint64_t>(i), 1});
        }
        auto merged = ::host_model::merge_lists(lists, params.ifExhaustedSuspension, taken);
        auto to = op.out(dst, repeat * step * 8, static_cast<int64_t>(merged.size()) * 8);
        for (size_t i = 0; i < merged.size(); ++i)
            for (int64_t j = 0; j < 8; ++j) {
                const auto& from = spans[merged[i].bits];
                to.data[i * 8 + j] = from.data[merged[i].index * 8 + j];
                op.set(to, static_cast<int64_t>(i) * 8 + j, from.state(merged[i].index * 8 + j));
            }
    }
    for (int i = 0; i < 4; ++i) op.owner().registers.merged[i] = static_cast<uint16_t>(taken[i]);
}

} // namespace AscendC

namespace host_model {

// The largest (or smallest) k of each row, with their indices; ties keep the order of the input.
template <class T>
void top_k(const AscendC::LocalTensor<T>& values, const AscendC::LocalTensor<int32_t>& indices,
           const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<int32_t>& src_indices,
           const AscendC::LocalTensor<bool>& finished, bool has_indices, bool has_finished,
           bool small, int64_t k, const AscendC::TopKInfo& info, bool largest, const Where& where) {
    Instruction op(Pipe::V, "TopK", where);
    check_dtype<Floating, T>(op);
    check_alignment(op, values, indices, src);
    if (info.inner % 32 || info.n < 1 || info.n > info.inner || k < 1 || k > info.n ||
        (small && info.inner != 32))
        op.fail("argument",
                text_of("TopK: k %lld, n %d, inner %d", static_cast<long long>(k), info.n,
                        info.inner),
                small ? "in small mode inner is 32, and 1 <= k <= n <= inner"
                      : "inner is a multiple of 32, and 1 <= k <= n <= inner");
    int64_t value_pitch = small ? k : (k * sizeof(T) + 31) / 32 * 32 / sizeof(T);
    int64_t index_pitch = small ? k : (k + 7) / 8 * 8;
    for (int64_t row = 0; row < info.outter; ++row) {
        auto from = op.in(src, row * info.inner, info.n, 1, "the source");
        std::vector<Scored> pairs;
        for (int64_t i = 0; i < info.n; ++i) {
            int64_t index = i;
            if (has_indices)
                index = op.in(src_indices, (small ? row * info.inner : 0) + i, 1).data[0];
            Scored one =
                scored(from.data[i], static_cast<uint32_t>(index), from.whole ? 1 : from.state(i));
            if (!largest && one.score == one.score) one.score = -one.score;
            pairs.push_back(one);
        }
        sort_descending(pairs);
        bool invalid = has_finished && op.in(finished, row, 1).data[0];
        auto to = op.out(values, row * value_pitch, k);
        auto places = op.out(indices, row * index_pitch, k);
        for (int64_t i = 0; i < k; ++i) {
            std::memcpy(static_cast<void*>(to.data + i), &pairs[i].bits, sizeof(T));
            places.data[i] = invalid ? info.n : static_cast<int32_t>(pairs[i].index);
            op.set(to, i, pairs[i].state);
            op.set(places, i, pairs[i].state);
        }
    }
}

} // namespace host_model

namespace AscendC {

template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, class Tiling>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, int32_t k, const Tiling& tiling, const TopKInfo& info,
          bool isLargest = true, HOST_MODEL_WHERE) {
    (void)tiling;
    ::host_model::top_k(dstValue, dstIndex, src, srcIndex, finish, isInitIndex, isHasfinish,
                        topkMode == TopKMode::TOPK_NSMALL, k, info, isLargest, where);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, class Tiling>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, const LocalTensor<uint8_t>& tmp, int32_t k,
          const Tiling& tiling, const TopKInfo& info, bool isLargest = true, HOST_MODEL_WHERE) {
    (void)tiling, (void)tmp;
    ::host_model::top_k(dstValue, dstIndex, src, srcIndex, finish, isInitIndex, isHasfinish,
                        topkMode == TopKMode::TOPK_NSMALL, k, info, isLargest, where);
}

} // namespace AscendC
