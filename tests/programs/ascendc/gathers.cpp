// Gathering, sorting and transposing. x: 2048 bytes of scores; y: 512 uint32_t; z: 4096 bytes, zero before.
#include "kernel_operator.h"
using namespace AscendC;

#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> __aicore__ inline void Gathers(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    constexpr int32_t lanes = 256 / sizeof(T), block = 32 / sizeof(T), size = 2048 / sizeof(T);
    TPipe pipe;
    TBuf<> bx, by, bz, bw;
    pipe.InitBuffer(bx, 2048);
    pipe.InitBuffer(by, 2048);
    pipe.InitBuffer(bz, 4096);
    pipe.InitBuffer(bw, 8192);
    GlobalTensor<T> gm_x;
    GlobalTensor<uint32_t> gm_y;
    GlobalTensor<uint16_t> gm_z;
    gm_x.SetGlobalBuffer((__gm__ T*)gx, size);
    gm_y.SetGlobalBuffer((__gm__ uint32_t*)gy, 512);
    gm_z.SetGlobalBuffer((__gm__ uint16_t*)gz, 2048);
    LocalTensor<T> x = bx.Get<T>(), z = bz.Get<T>(), work = bw.Get<T>(), concat;
    LocalTensor<uint32_t> y = by.Get<uint32_t>();
    LocalTensor<uint8_t> bytes = bz.Get<uint8_t>();
    DataCopy(x, gm_x, size);
    DataCopy(y, gm_y, 512);
    Duplicate(bz.Get<uint16_t>(), static_cast<uint16_t>(0), 2048);
    PipeBarrier<PIPE_ALL>();
    uint64_t bits[2] = {0x0f0f, 0};
    uint32_t sorted[4] = {};
    uint16_t counts[4] = {64, 32, 32, 32};
    uint64_t sources[16], targets[16];
    switch (which) {
        CASE(0, "gather", ShiftLeft(y, y, static_cast<uint32_t>(sizeof(T) == 4 ? 2 : 1), 512); Gather(z, x, y, 0, 100))
        CASE(1, "gather_mask", ShiftLeft(y, y, static_cast<uint32_t>(sizeof(T) == 4 ? 2 : 1), 512);
             Gather(z, x, y, 4 * sizeof(T), lanes - 3, 2, 10))
        CASE(2, "gather_bits", ShiftLeft(y, y, static_cast<uint32_t>(sizeof(T) == 4 ? 2 : 1), 512);
             Gather(z, x, y, 0, bits, 1, 8))
        CASE(3, "scatter", ShiftLeft(y, y, static_cast<uint32_t>(sizeof(T) == 4 ? 2 : 1), 512); Scatter(z, x, y, 0, 100))
        CASE(4, "broadcast", Brcb(z, x, 2, {1, 8}))
        CASE(5, "broadcast_gaps", Brcb(z, x, 2, {2, 20}))
        CASE(6, "interleave", Interleave(z, z[128], x, x[128], 128))
        CASE(7, "deinterleave", DeInterleave(z, z[128], x, x[128], 128))
        CASE(8, "deinterleave_one", DeInterleave(z, z[128], x, 256))
        CASE(10, "sort32", Sort32(z, x, y, 4))
        CASE(11, "sort", Concat(concat, x, work, 8); (Sort<T, true>(z, concat, y, work, 4)))
        CASE(12, "sort_extract", Concat(concat, x, work, 8); (Sort<T, true>(work, concat, y, work[2048 / sizeof(T)], 4));
             Extract(z, bz.Get<uint32_t>()[256], work, 4))
        CASE(13, "merge", Sort32(work, x, y, 4); MrgSort4Info info(counts, false, 15, 1); info.elementLengths[0] = 32;
             MrgSort(z, MrgSortSrcList<T>(work[0], work[GetSortOffset<T>(32)], work[GetSortOffset<T>(64)], work[GetSortOffset<T>(96)]), info))
        CASE(14, "merge_repeats", Sort32(work, x, y, 8); MrgSort4Info info; info.validBit = 15; info.repeatTimes = 2;
             for (int i = 0; i < 4; ++i) info.elementLengths[i] = 32;
             MrgSortSrcList<T> lists(work[0], work[GetSortOffset<T>(32)], work[GetSortOffset<T>(64)], work[GetSortOffset<T>(96)]);
             MrgSort<T>(z, lists, info))
        CASE(15, "merge_suspended", Sort32(work, x, y, 2); counts[0] = 32;
             MrgSortSrcList<T> lists(work[0], work[GetSortOffset<T>(32)], work, work);
             (MrgSort<T, true>(z, lists, counts, sorted, 3, 1)); bz.Get<uint32_t>().SetValue(1000, sorted[0]);
             bz.Get<uint32_t>().SetValue(1001, sorted[1]))
        CASE(16, "top_k", TopKInfo info{2, 64, 50}; int tiling = 0; LocalTensor<bool> none;
             TopK<T>(z, bz.Get<int32_t>()[512], x, bz.Get<int32_t>(), none, 5, tiling, info))
        CASE(17, "bottom_k", TopKInfo info{2, 64, 50}; int tiling = 0; LocalTensor<bool> none;
             TopK<T>(z, bz.Get<int32_t>()[512], x, bz.Get<int32_t>(), none, bw.Get<uint8_t>(), 5, tiling, info, false))
        CASE(18, "sort_values", Sort(z, x, 100))
        CASE(19, "sort_positions", Sort(z, bz.Get<uint32_t>()[512], x, bw.Get<uint8_t>(), 100))
        CASE(23, "sort_indices", static constexpr SortConfig falling{SortType::MERGE_SORT, true};
             (Sort<T, uint32_t, false, falling>(z, bz.Get<uint32_t>()[512], x, y, 96)))
        CASE(20, "rp_sort", RpSort16(z, x, 1))
        CASE(21, "proposal_concat", ProposalConcat(z, x, 2, 4))
        CASE(22, "proposal_extract", ProposalExtract(z, x, 2, 4))
        CASE(30, "blocks16", for (int i = 0; i < 16; ++i) {
                 sources[i] = (uint64_t)x[i * block].GetPhyAddr(); targets[i] = (uint64_t)z[i * block].GetPhyAddr(); }
             TransDataTo5HDParams params; params.repeatTimes = 1; TransDataTo5HD<T>(targets, sources, params))
        CASE(31, "blocks_repeat", LocalTensor<T> from[16]; LocalTensor<T> to[16];
             for (int i = 0; i < 16; ++i) { from[i] = x[i * 2 * block]; to[i] = z[i * block]; }
             TransDataTo5HD<T>(to, from, TransDataTo5HDParams(false, false, 2, 16, 1)))
        CASE(32, "nhwc", TransposeParamsExt params(2, 3, 4, 8, TransposeType::TRANSPOSE_NCHW2NHWC);
             Transpose(z, x, bw.Get<uint8_t>(), params))
        CASE(33, "nchw", TransposeParamsExt params(2, 3, 4, 8, TransposeType::TRANSPOSE_NHWC2NCHW);
             Transpose(z, x, bw.Get<uint8_t>(), params))
    }
    if constexpr (sizeof(T) == 2) {
        if (which == 40) Transpose(z, x);
    }
    if (which == 41)
        Gatherb(bz.Get<uint32_t>(), bx.Get<uint32_t>(), y, 1, {2, 8});
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, bz.Get<uint16_t>(), 2048);
}

extern "C" __global__ __aicore__ void gathers(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Gathers<float>(x, y, z, which);
    if (dtype == 1) Gathers<half>(x, y, z, which);
}
