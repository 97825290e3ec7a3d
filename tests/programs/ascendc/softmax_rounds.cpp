// SoftmaxFlashV3 over the columns of x in two rounds.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t ROWS = 8, WIDTH = 512;

extern "C" __global__ __aicore__ void softmax_rounds(GM_ADDR gx, GM_ADDR gy, GM_ADDR grows, GM_ADDR gfactor, float alpha) {
    TPipe pipe;
    TBuf<> bx, by, brows, bfactor;
    GlobalTensor<half> gm_x, gm_y, gm_factor;
    GlobalTensor<float> gm_rows;
    gm_x.SetGlobalBuffer((__gm__ half*)gx, 2 * ROWS * WIDTH);
    gm_y.SetGlobalBuffer((__gm__ half*)gy, 2 * ROWS * WIDTH);
    gm_rows.SetGlobalBuffer((__gm__ float*)grows, 3 * ROWS * 8);
    gm_factor.SetGlobalBuffer((__gm__ half*)gfactor, ROWS * 16);
    pipe.InitBuffer(bx, 2 * ROWS * WIDTH * sizeof(half));
    pipe.InitBuffer(by, 2 * ROWS * WIDTH * sizeof(half));
    pipe.InitBuffer(brows, 3 * ROWS * 32);
    pipe.InitBuffer(bfactor, ROWS * 32);
    LocalTensor<half> x = bx.Get<half>(), y = by.Get<half>(), factor = bfactor.Get<half>();
    LocalTensor<float> mean = brows.Get<float>(), sum = mean[ROWS * 8], max = sum[ROWS * 8];
    DataCopy(x, gm_x, 2 * ROWS * WIDTH);
    PipeBarrier<PIPE_ALL>();
    SoftMaxTiling tiling;
    SoftMaxParams first(ROWS, WIDTH, ROWS, WIDTH, 1, 8, alpha);
    SoftMaxParams second(ROWS, WIDTH, ROWS, WIDTH, 2, 8, alpha);
    SoftmaxFlashV3<half, float>(y, mean, sum, max, x, factor, mean, sum, max, tiling, first);
    SoftmaxFlashV3<half, float, true>(y[ROWS * WIDTH], mean, sum, max, x[ROWS * WIDTH], factor, mean, sum, max, tiling, second);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_y, y, 2 * ROWS * WIDTH);
    DataCopy(gm_rows, mean, 3 * ROWS * 8);
    DataCopy(gm_factor, factor, ROWS * 16);
}
