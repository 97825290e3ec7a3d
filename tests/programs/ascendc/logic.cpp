// Logical and bounding library functions. x, y: 256 elements; z: 1024 bytes, zero before.
#include "kernel_operator.h"
using namespace AscendC;

#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> __aicore__ inline void Logic(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t which) {
    TPipe pipe;
    TBuf<> bx, by, bz;
    pipe.InitBuffer(bx, 1024);
    pipe.InitBuffer(by, 1024);
    pipe.InitBuffer(bz, 1024);
    GlobalTensor<T> gm_x, gm_y;
    GlobalTensor<uint16_t> gm_z;
    gm_x.SetGlobalBuffer((__gm__ T*)gx, 256);
    gm_y.SetGlobalBuffer((__gm__ T*)gy, 256);
    gm_z.SetGlobalBuffer((__gm__ uint16_t*)gz, 512);
    LocalTensor<T> x = bx.Get<T>(), y = by.Get<T>(), z = bz.Get<T>();
    LocalTensor<bool> truth = bz.Get<bool>();
    DataCopy(x, gm_x, 256);
    DataCopy(y, gm_y, 256);
    Duplicate(bz.Get<uint16_t>(), static_cast<uint16_t>(0), 512);
    PipeBarrier<PIPE_ALL>();
    switch (which) {
        CASE(0, "and", LogicalAnd(truth, x, y, 200))
        CASE(1, "or", LogicalOr(truth, x, y, 200))
        CASE(2, "xor", LogicalXor(truth, x, y, 200))
        CASE(3, "not", LogicalNot(truth, x, 200))
        CASE(4, "ands", LogicalAnds(truth, x, static_cast<T>(0), 200))
        CASE(5, "ors", LogicalOrs(truth, static_cast<T>(0), x, 200))
        CASE(6, "fma", Fma(z, x, y, x, 200))
        CASE(7, "clamp", Clamp(z, x, static_cast<T>(-1), static_cast<T>(1), 200))
        CASE(8, "clamp_tensor", Clamp(z, x, static_cast<T>(-2), y, 200))
        CASE(9, "bitwise_not", BitwiseNot(bz.Get<int16_t>(), bx.Get<int16_t>(), 200))
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, bz.Get<uint16_t>(), 512);
}

extern "C" __global__ __aicore__ void logic(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Logic<float>(x, y, z, which);
    if (dtype == 1) Logic<half>(x, y, z, which);
}
