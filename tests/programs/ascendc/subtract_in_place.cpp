// var -= step for any length: copies whole blocks, so that the last one reaches into the padding.
#include "kernel_operator.h"
#include "absent_helpers.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void subtract_in_place(GM_ADDR var, GM_ADDR step, GM_ADDR var_ref, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    uint32_t bytes = data.rounded * sizeof(float);
    pipe.InitBuffer(inQueue, 2, bytes);
    pipe.InitBuffer(outQueue, 1, bytes);
    GlobalTensor<float> varGm, stepGm, refGm;
    varGm.SetGlobalBuffer((__gm__ float*)var, data.rounded);
    stepGm.SetGlobalBuffer((__gm__ float*)step, data.rounded);
    refGm.SetGlobalBuffer((__gm__ float*)var_ref, data.rounded);
    LocalTensor<float> x = inQueue.AllocTensor<float>();
    DataCopy(x, varGm, data.rounded);
    inQueue.EnQue(x);
    LocalTensor<float> s = inQueue.AllocTensor<float>();
    DataCopy(s, stepGm, data.rounded);
    inQueue.EnQue(s);
    x = inQueue.DeQue<float>();
    s = inQueue.DeQue<float>();
    LocalTensor<float> y = outQueue.AllocTensor<float>();
    Sub(y, x, s, data.rounded);
    inQueue.FreeTensor(x);
    inQueue.FreeTensor(s);
    outQueue.EnQue(y);
    y = outQueue.DeQue<float>();
    DataCopy(refGm, y, data.rounded);
    outQueue.FreeTensor(y);
}
