// Calls of elementwise functions. Each CASE computes z from x and y; z is full of sevens before.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t SIZE = 512, COUNT = 200;
#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> struct Tensors {
    __aicore__ inline Tensors(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz) {
        pipe.InitBuffer(bx, SIZE * sizeof(T));
        pipe.InitBuffer(by, SIZE * sizeof(T));
        pipe.InitBuffer(bz, SIZE * sizeof(T));
        global[0].SetGlobalBuffer((__gm__ T*)gx, SIZE);
        global[1].SetGlobalBuffer((__gm__ T*)gy, SIZE);
        global[2].SetGlobalBuffer((__gm__ T*)gz, SIZE);
        x = bx.template Get<T>();
        y = by.template Get<T>();
        z = bz.template Get<T>();
        DataCopy(x, global[0], SIZE);
        DataCopy(y, global[1], SIZE);
        Duplicate(z, static_cast<T>(7), SIZE);
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline ~Tensors() {
        PipeBarrier<PIPE_ALL>();
        DataCopy(global[2], z, SIZE);
    }
    TPipe pipe;
    TBuf<> bx, by, bz;
    GlobalTensor<T> global[3];
    LocalTensor<T> x, y, z;
};

template <class T> __aicore__ inline void Floats(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    Tensors<T> all(gx, gy, gz);
    LocalTensor<T>&x = all.x, &y = all.y, &z = all.z;
    constexpr int32_t lanes = 256 / sizeof(T), blocks = 32 / sizeof(T);
    uint64_t bits[2] = {0x5a5a5a5a0000ffffull, 0x1ull};
    const T two = static_cast<T>(2);
    static constexpr BinaryConfig left{0};
    switch (which) {
        CASE(0, "add", Add(z, x, y, COUNT))
        CASE(1, "sub", Sub(z, x, y, COUNT))
        CASE(2, "mul", Mul(z, x, y, COUNT))
        CASE(3, "div", Div<T>(z, x, y, COUNT))
        CASE(4, "max", Max(z, x, y, COUNT))
        CASE(5, "min", Min(z, x, y, COUNT))
        CASE(6, "exp", Exp(z, x, COUNT))
        CASE(7, "ln", Abs(y, x, COUNT); Ln(z, y, COUNT))
        CASE(8, "abs", Abs<T>(z, x, COUNT))
        CASE(9, "reciprocal", Reciprocal(z, x, COUNT))
        CASE(10, "sqrt", Abs(y, x, COUNT); Sqrt(z, y, COUNT))
        CASE(11, "rsqrt", Abs(y, x, COUNT); Rsqrt(z, y, COUNT))
        CASE(12, "relu", Relu(z, x, COUNT))
        CASE(13, "leaky_relu", LeakyRelu(z, x, static_cast<T>(0.25), COUNT))
        CASE(14, "adds", Adds(z, x, two, COUNT))
        CASE(15, "subs_left", Subs(z, two, x, COUNT))
        CASE(16, "muls", Muls<T>(z, x, 2, COUNT))
        CASE(17, "divs_left", Divs(z, two, x, COUNT))
        CASE(18, "maxs", Maxs(z, x, two, COUNT))
        CASE(19, "mins", Mins(z, x, two, COUNT))
        CASE(20, "axpy", Axpy(z, x, two, COUNT))
        CASE(21, "mul_add_dst", MulAddDst(z, x, y, COUNT))
        CASE(22, "fused_mul_add", FusedMulAdd(z, x, y, COUNT))
        CASE(23, "fused_mul_add_relu", FusedMulAddRelu(z, x, y, COUNT))
        CASE(24, "add_relu", AddRelu(z, x, y, COUNT))
        CASE(25, "sub_relu", SubRelu(z, x, y, COUNT))
        CASE(26, "add_operator", z = x + y)
        CASE(27, "subs_element", (Subs<BinaryDefaultType, true, left>(z, x[blocks], y, COUNT)))
        CASE(28, "in_place", Adds(x, x, two, COUNT); Add(z, x, x, COUNT))
        // Masks: a number of lanes, bits; strides of blocks and repeats.
        CASE(30, "mask_tail", Add(z, x, y, lanes - 3, 2, {1, 1, 1, 8, 8, 8}))
        CASE(31, "mask_bits", Exp(z, x, bits, 2, {1, 1, 8, 8}))
        CASE(32, "block_stride", Abs(z, x, lanes, 2, {2, 1, 16, 8}))
        CASE(33, "broadcast_row", Add(z, x, y, lanes, 3, {1, 1, 1, 8, 8, 0}))
        CASE(34, "broadcast_block", Mul(z, x, y, lanes, 2, {1, 1, 0, 8, 8, 1}))
        CASE(35, "short_rows", Muls(z, x, two, blocks, 5, {1, 1, 3, 1}))
        CASE(36, "no_repeats", Add(z, x, y, lanes, 0, {1, 1, 1, 8, 8, 8}))
        // The mask register.
        CASE(40, "counter", SetMaskCount(); SetVectorMask<T, MaskMode::COUNTER>(COUNT);
             Add<T, false>(z, x, y, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); SetMaskNorm(); ResetMask())
        CASE(41, "counter_strides", SetMaskCount(); SetVectorMask<T, MaskMode::COUNTER>(lanes + 5);
             Abs<T, false>(z, x, MASK_PLACEHOLDER, 1, {1, 1, 12, 8}); SetMaskNorm(); ResetMask())
        CASE(42, "register_bits", SetMaskNorm(); SetVectorMask<T, MaskMode::NORMAL>(bits[1], bits[0]);
             Adds<T, false>(z, x, two, MASK_PLACEHOLDER, 2, {1, 1, 8, 8}); ResetMask())
        CASE(43, "register_count", SetVectorMask<T, MaskMode::NORMAL>(lanes / 2);
             Adds<T, false>(z, x, two, 1); ResetMask())
        CASE(44, "counter_ends", SetMaskCount(); Add(z, x, y, 8); Abs(z, x, 8, 1, {1, 1, 8, 8}))
        // Filling.
        CASE(50, "duplicate", Duplicate(z, two, COUNT))
        CASE(51, "duplicate_mask", Duplicate(z, two, lanes - 3, 2, 1, 10))
        CASE(52, "duplicate_bits", Duplicate(z, two, bits, 1, 1, 8))
        CASE(53, "index", CreateVecIndex(z, two, COUNT))
        CASE(54, "index_mask", CreateVecIndex(z, two, lanes, 2, 1, 8))
        CASE(55, "progression", ArithProgression(z, two, static_cast<T>(0.5), COUNT))
        CASE(56, "axpy_mask", Axpy(z, x, two, lanes - 3, 2, {1, 1, 8, 8}))
        CASE(57, "mul_add_dst_mask", MulAddDst(z, x, y, lanes - 3, 2, {1, 1, 1, 8, 8, 8}))
    }
}

template <class T> __aicore__ inline void Integers(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    Tensors<T> all(gx, gy, gz);
    LocalTensor<T>&x = all.x, &y = all.y, &z = all.z;
    constexpr int32_t lanes = 256 / sizeof(T);
    switch (which) {
        CASE(100, "int_add", Add(z, x, y, COUNT))
        CASE(101, "int_sub", Sub(z, x, y, COUNT))
        CASE(102, "int_mul", Mul(z, x, y, COUNT))
        CASE(103, "int_max", Max(z, x, y, COUNT))
        CASE(104, "int_adds", Adds(z, x, 3, COUNT))
        CASE(105, "int_muls", Muls(z, x, static_cast<T>(3), COUNT))
        CASE(106, "int_shift_left", ShiftLeft(z, x, static_cast<T>(2), COUNT))
        CASE(107, "int_shift_right", ShiftRight(z, x, static_cast<T>(2), COUNT))
        CASE(108, "int_shift_round", ShiftRight(z, x, static_cast<T>(2), lanes, 1, {1, 1, 8, 8}, true))
        CASE(109, "int_duplicate", Duplicate<T>(z, -3, COUNT))
        CASE(110, "int_index", CreateVecIndex<T>(z, -3, COUNT))
        CASE(112, "int_shift_left_by", Duplicate(y, static_cast<T>(3), SIZE); ShiftLeft(z, x, y, COUNT))
        CASE(113, "int_shift_right_by", Duplicate(y, static_cast<T>(3), SIZE); ShiftRight(z, x, y, COUNT))
        CASE(111, "int_mins", Mins(z, x, static_cast<T>(2), COUNT))
    }
}

__aicore__ inline void Words(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    Tensors<uint16_t> all(gx, gy, gz);
    LocalTensor<uint16_t>&x = all.x, &y = all.y, &z = all.z;
    uint64_t bits[2] = {0x5a5a5a5a0000ffffull, 0x1ull};
    switch (which) {
        CASE(120, "and", And(z, x, y, COUNT))
        CASE(121, "or", Or(z, x, y, COUNT))
        CASE(122, "not", Not(z, x, COUNT))
        CASE(123, "and_bits", And(z, x, y, bits, 2, {1, 1, 1, 8, 8, 8}))
        CASE(124, "shift_left_word", ShiftLeft(z, x, static_cast<uint16_t>(4), COUNT))
        CASE(125, "and_wide", And(z.ReinterpretCast<int32_t>(), x.ReinterpretCast<int32_t>(),
                                  y.ReinterpretCast<int32_t>(), 64))
    }
}

// half into float.
__aicore__ inline void Mixed(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    Tensors<float> all(gx, gy, gz);
    LocalTensor<half> x = all.x.ReinterpretCast<half>(), y = all.y.ReinterpretCast<half>();
    LocalTensor<float>& z = all.z;
    switch (which) {
        CASE(140, "mixed_axpy", Axpy(z, x, static_cast<half>(2), COUNT))
        CASE(141, "mixed_mul_add_dst", MulAddDst(z, x, y, COUNT))
        CASE(142, "mixed_axpy_mask", Axpy(z, x, static_cast<half>(2), 60, 3, {1, 1, 8, 4}))
    }
}

// Element types: 0 float, 1 half, 2 int32_t, 3 int16_t, 4 uint16_t, 5 half into float.
extern "C" __global__ __aicore__ void elementwise(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Floats<float>(x, y, z, which);
    if (dtype == 1) Floats<half>(x, y, z, which);
    if (dtype == 2) Integers<int32_t>(x, y, z, which);
    if (dtype == 3) Integers<int16_t>(x, y, z, which);
    if (dtype == 4) Words(x, y, z, which);
    if (dtype == 5) Mixed(x, y, z, which);
}
