// y = alpha * x + bias, with a tiling structure that the host file declares by macros.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void axpb(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    uint32_t first = data.partLength * GetBlockIdx(), count = data.partLength;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, count * sizeof(DTYPE_X));
    pipe.InitBuffer(outQueue, 1, count * sizeof(DTYPE_X));
    GlobalTensor<DTYPE_X> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ DTYPE_X*)x + first, count);
    yGm.SetGlobalBuffer((__gm__ DTYPE_Y*)y + first, count);
    LocalTensor<DTYPE_X> a = inQueue.AllocTensor<DTYPE_X>();
    DataCopy(a, xGm, count);
    inQueue.EnQue(a);
    a = inQueue.DeQue<DTYPE_X>();
    LocalTensor<DTYPE_X> b = outQueue.AllocTensor<DTYPE_X>();
    Muls(b, a, static_cast<DTYPE_X>(data.alpha), count);
    if (TILING_KEY_IS(2)) {
        Adds(b, b, static_cast<DTYPE_X>(data.bias.values[1]), count);
    }
    inQueue.FreeTensor(a);
    outQueue.EnQue(b);
    b = outQueue.DeQue<DTYPE_X>();
    DataCopy(yGm, b, count);
    outQueue.FreeTensor(b);
}
