// Comparisons, selections and gathering by masks. x, y: 512 elements; z: 2048 bytes, zero before.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t SIZE = 512;
#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> __aicore__ inline void Compares_(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    constexpr int32_t lanes = 256 / sizeof(T), block = 32 / sizeof(T);
    TPipe pipe;
    TBuf<> bx, by, bz, bm;
    pipe.InitBuffer(bx, SIZE * sizeof(T));
    pipe.InitBuffer(by, SIZE * sizeof(T));
    pipe.InitBuffer(bz, 2048);
    pipe.InitBuffer(bm, 256);
    GlobalTensor<T> gm_x, gm_y;
    GlobalTensor<uint16_t> gm_z;
    gm_x.SetGlobalBuffer((__gm__ T*)gx, SIZE);
    gm_y.SetGlobalBuffer((__gm__ T*)gy, SIZE);
    gm_z.SetGlobalBuffer((__gm__ uint16_t*)gz, 1024);
    LocalTensor<T> x = bx.Get<T>(), y = by.Get<T>(), z = bz.Get<T>();
    LocalTensor<uint8_t> bits = bz.Get<uint8_t>(), mask = bm.Get<uint8_t>();
    DataCopy(x, gm_x, SIZE);
    DataCopy(y, gm_y, SIZE);
    Duplicate(bz.Get<uint16_t>(), static_cast<uint16_t>(0), 1024);
    PipeBarrier<PIPE_ALL>();
    Compare(mask, x, y, CMPMODE::LT, SIZE); // the mask of the selections
    const T one = static_cast<T>(1), zero = static_cast<T>(0);
    uint64_t words[2] = {0x5a5a5a5a0000ffffull, 0x1ull}, kept = 0;
    static constexpr BinaryConfig left{0};
    switch (which) {
        CASE(0, "lt", Compare(bits, x, y, CMPMODE::LT, 2 * lanes))
        CASE(1, "gt", Compare(bits, x, y, CMPMODE::GT, 2 * lanes))
        CASE(2, "eq", (Compare<T, uint8_t>(bits, x, y, CMPMODE::EQ, 2 * lanes)))
        CASE(3, "le", Compare(bits, x, y, CMPMODE::LE, 2 * lanes))
        CASE(4, "ge", Compare(bits, x, y, CMPMODE::GE, 2 * lanes))
        CASE(5, "ne", Compare(bits, x, y, CMPMODE::NE, 2 * lanes))
        CASE(6, "repeats", Compare(bits, x, y, CMPMODE::LT, lanes, 2, {1, 1, 1, 8, 8, 0}))
        CASE(7, "blocks", Compare(bits, x, y, CMPMODE::LT, words, 1, {1, 2, 1, 8, 8, 8}))
        CASE(8, "scalar", CompareScalar(bits, x, one, CMPMODE::GT, 2 * lanes))
        CASE(9, "scalar_left", Compares(bits, one, x, CMPMODE::GT, 2 * lanes))
        CASE(10, "scalar_repeats", Compares(bits, x, one, CMPMODE::GT, lanes, 2, {1, 1, 8, 8}))
        CASE(11, "element", (Compares<BinaryDefaultType, BinaryDefaultType, true, left>(bits, x[block], y, CMPMODE::GT, lanes)))
        CASE(12, "operator", bits = x < y)
        CASE(20, "select", Select(z, mask, x, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes + 7))
        CASE(21, "select_scalar", Select(z, mask, x, zero, SELMODE::VSEL_TENSOR_SCALAR_MODE, lanes + 7))
        CASE(22, "select_same_bits", Select(z, mask, x, y, SELMODE::VSEL_CMPMASK_SPR, lanes, 2, {1, 1, 1, 8, 8, 8}))
        CASE(23, "select_mask", Select(z, mask, x, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes - 3, 2, {1, 1, 1, 8, 8, 8}))
        CASE(24, "select_bits", Select(z, mask, x, zero, SELMODE::VSEL_TENSOR_SCALAR_MODE, words, 2, {1, 1, 1, 8, 8, 8}))
        CASE(25, "select_register", Compare(x, y, CMPMODE::LT, static_cast<uint64_t>(lanes), {1, 1, 1, 8, 8, 8});
             (Select<T, SELMODE::VSEL_CMPMASK_SPR>(z, x, y, 2, {1, 1, 1, 8, 8, 8})))
        CASE(26, "compare_register", Compare(x, y, CMPMODE::LT, static_cast<uint64_t>(lanes), {1, 1, 1, 8, 8, 8});
             GetCmpMask(bits))
        CASE(27, "select_scalar_left", Select(z, mask, zero, x, SELMODE::VSEL_TENSOR_SCALAR_MODE, lanes + 7))
        CASE(30, "gather_even", GatherMask(z, x, 1, false, 0, {1, 2, 8, 0}, kept); bits.SetValue(2040, kept))
        CASE(31, "gather_third", GatherMask(z, x, 5, true, 70, {1, 2, 8, 0}, kept); bits.SetValue(2040, kept))
        CASE(32, "gather_all", GatherMask(z, x, 7, true, 2 * lanes + 5, {1, 1, 0, 0}, kept); bits.SetValue(2040, kept))
    }
    if (which == 40) { // a pattern of the user's own
        using Word = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
        GatherMask(z, x, bm.Get<Word>(), true, 70, {1, 2, 8, 0}, kept);
        bits.SetValue(2040, kept);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, bz.Get<uint16_t>(), 1024);
}

extern "C" __global__ __aicore__ void comparisons(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Compares_<float>(x, y, z, which);
    if (dtype == 1) Compares_<half>(x, y, z, which);
}
