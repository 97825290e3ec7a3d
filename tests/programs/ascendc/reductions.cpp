// Reductions. x: 1024 elements; z: 2048 bytes, zero before.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t SIZE = 1024, COUNT = 1000;
#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> __aicore__ inline void Reductions(GM_ADDR gx, GM_ADDR gz, int32_t which) {
    constexpr int32_t lanes = 256 / sizeof(T), repeats = SIZE / lanes;
    TPipe pipe;
    TBuf<> bx, bz, bw;
    pipe.InitBuffer(bx, SIZE * sizeof(T));
    pipe.InitBuffer(bz, 2048);
    pipe.InitBuffer(bw, 1024);
    GlobalTensor<T> gm_x, gm_z;
    gm_x.SetGlobalBuffer((__gm__ T*)gx, SIZE);
    gm_z.SetGlobalBuffer((__gm__ T*)gz, 2048 / sizeof(T));
    LocalTensor<T> x = bx.Get<T>(), z = bz.Get<T>(), work = bw.Get<T>();
    DataCopy(x, gm_x, SIZE);
    Duplicate(z, static_cast<T>(0), 2048 / sizeof(T));
    PipeBarrier<PIPE_ALL>();
    uint64_t bits[2] = {0x5a5a5a5a0000ff00ull, 0x1ull};
    T value, index;
    switch (which) {
        CASE(0, "sum", ReduceSum(z, x, work, COUNT))
        CASE(1, "max", ReduceMax(z, x, work, COUNT))
        CASE(2, "min", ReduceMin<T>(z, x, work, COUNT))
        CASE(3, "max_index", ReduceMax(z, x, work, COUNT, true))
        CASE(4, "min_index", ReduceMin(z, x, work, COUNT, true))
        CASE(5, "sum_mask", ReduceSum(z, x, work, lanes - 3, repeats, 8))
        CASE(6, "sum_bits", ReduceSum(z, x, work, bits, 2, 16))
        CASE(7, "max_mask", ReduceMax(z, x, work, lanes - 3, repeats, 8, true))
        CASE(8, "min_bits", ReduceMin(z, x, work, bits, 2, 8, false))
        CASE(10, "whole_sum", WholeReduceSum(z, x, lanes, repeats, 1, 1, 8))
        CASE(11, "whole_sum_bits", WholeReduceSum<T>(z, x, bits, 2, 1, 1, 8))
        CASE(12, "whole_sum_stride", WholeReduceSum<T>(z, x, lanes - 5, 2, 3, 2, 16))
        CASE(13, "whole_max", WholeReduceMax(z, x, lanes, repeats, 1, 1, 8))
        CASE(14, "whole_min_only", WholeReduceMin(z, x, lanes, repeats, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE))
        CASE(15, "whole_max_index_first", WholeReduceMax(z, x, lanes, 2, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE))
        CASE(16, "whole_max_only_index", WholeReduceMax(z, x, lanes, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX))
        CASE(17, "reduce_repeat", (ReduceRepeat<ReduceType::SUM, T, T>(z, x, lanes, repeats, 1, 1, 8)))
        CASE(20, "block_sum", BlockReduceSum(z, x, repeats, lanes, 1, 1, 8))
        CASE(21, "block_max", BlockReduceMax<T>(z, x, repeats, lanes, 1, 1, 8))
        CASE(22, "block_min_bits", BlockReduceMin(z, x, 1, bits, 1, 1, 8))
        CASE(23, "reduce_block", (ReduceDataBlock<ReduceType::MIN, T, T>(z, x, lanes, repeats, 1, 1, 8)))
        CASE(24, "pair_sum", PairReduceSum(z, x, 2, lanes, 1, 1, 8))
        CASE(25, "pair_sum_bits", PairReduceSum<T>(z, x, 1, bits, 1, 1, 8))
        CASE(26, "repeat_sum", RepeatReduceSum(z, x, repeats, lanes, 1, 1, 1, 8))
        CASE(27, "counter", SetMaskCount(); SetVectorMask<T, MaskMode::COUNTER>(2 * lanes + 3);
             WholeReduceSum<T, false>(z, x, MASK_PLACEHOLDER, 1, 1, 1, 8); SetMaskNorm(); ResetMask())
        CASE(30, "register_extremum", WholeReduceMax(z, x, lanes, repeats, 1, 1, 8); Duplicate(z, static_cast<T>(0), lanes);
             GetReduceMaxMinCount<T>(value, index); z.SetValue(0, value); z.SetValue(1, index))
        CASE(31, "register_sum", ReduceSum(z[8], x, work, COUNT); z.SetValue(8, static_cast<T>(0)); z.SetValue(0, GetAccVal<T>()))
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, z, 2048 / sizeof(T));
}

extern "C" __global__ __aicore__ void reductions(GM_ADDR x, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Reductions<float>(x, z, which);
    if (dtype == 1) Reductions<half>(x, z, which);
}
