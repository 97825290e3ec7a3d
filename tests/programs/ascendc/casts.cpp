// Conversions. Each CASE converts x (1024 bytes) into z (4096 bytes).
#include "kernel_operator.h"
using namespace AscendC;

#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class To, class From> __aicore__ inline void Convert(GM_ADDR gx, GM_ADDR gz, int32_t which) {
    constexpr uint32_t size = 1024 / sizeof(From);
    constexpr int32_t lanes = 256 / (sizeof(To) > sizeof(From) ? sizeof(To) : sizeof(From));
    constexpr uint8_t to_step = lanes * sizeof(To) / 32, from_step = lanes * sizeof(From) / 32;
    TPipe pipe;
    TBuf<> source, target;
    pipe.InitBuffer(source, 1024);
    pipe.InitBuffer(target, 4096);
    GlobalTensor<From> gm_x;
    gm_x.SetGlobalBuffer((__gm__ From*)gx, size);
    GlobalTensor<uint16_t> gm_z;
    gm_z.SetGlobalBuffer((__gm__ uint16_t*)gz, 2048);
    LocalTensor<From> x = source.Get<From>();
    LocalTensor<To> z = target.Get<To>();
    DataCopy(x, gm_x, size);
    Duplicate(target.Get<uint16_t>(), static_cast<uint16_t>(0), 2048);
    PipeBarrier<PIPE_ALL>();
    if (which < 8) Cast(z, x, static_cast<RoundMode>(which), size - 3);
    uint64_t bits[2] = {0xf0f, 0};
    switch (which) {
        CASE(8, "mask", Cast<To, From>(z, x, RoundMode::CAST_NONE, lanes - 1, 2, {1, 1, to_step, from_step}))
        CASE(9, "bits", (Cast<To, From, true>(z, x, RoundMode::CAST_NONE, bits, 1, {1, 1, to_step, from_step})))
        CASE(10, "scaled", SetDeqScale(static_cast<half>(0.5f)); Cast(z, x, RoundMode::CAST_NONE, size))
        CASE(11, "infinite", SetSaturationFlag<SaturationMode::CAST>(false); Cast(z, x, RoundMode::CAST_RINT, size);
             SetSaturationFlag<SaturationMode::CAST>(true))
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, target.Get<uint16_t>(), 2048);
}

extern "C" __global__ __aicore__ void casts(GM_ADDR x, GM_ADDR z, int32_t dtype, int32_t which) {
#define PAIR(number, to, from) if (dtype == number) Convert<to, from>(x, z, which);
    PAIR(0, half, float)
    PAIR(1, int32_t, float)
    PAIR(2, int16_t, float)
    PAIR(3, int64_t, float)
    PAIR(4, bfloat16_t, float)
    PAIR(5, float, float)
    PAIR(6, float, half)
    PAIR(7, int32_t, half)
    PAIR(8, int16_t, half)
    PAIR(9, int8_t, half)
    PAIR(10, uint8_t, half)
    PAIR(11, float, bfloat16_t)
    PAIR(12, int32_t, bfloat16_t)
    PAIR(13, half, int8_t)
    PAIR(14, half, uint8_t)
    PAIR(15, half, int16_t)
    PAIR(16, float, int16_t)
    PAIR(17, float, int32_t)
    PAIR(18, int16_t, int32_t)
    PAIR(19, int64_t, int32_t)
    PAIR(20, half, int32_t)
    PAIR(21, float, int64_t)
    PAIR(22, int32_t, int64_t)
}
