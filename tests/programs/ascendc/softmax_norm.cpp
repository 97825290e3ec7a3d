// y = LayerNorm(SoftMax(x)) over rows; all sizes come from the tiling of the host file.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void softmax_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    uint32_t count = data.rows * data.width;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<> space, moments;
    pipe.InitBuffer(in, 1, (count + 2 * data.width) * sizeof(float));
    pipe.InitBuffer(out, 1, count * sizeof(float));
    pipe.InitBuffer(space, data.spaceBytes);
    pipe.InitBuffer(moments, 2 * 1024);
    GlobalTensor<float> gm_x, gm_gamma, gm_beta, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * count, count);
    gm_gamma.SetGlobalBuffer((__gm__ float*)gamma, data.width);
    gm_beta.SetGlobalBuffer((__gm__ float*)beta, data.width);
    gm_y.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * count, count);
    LocalTensor<float> all = in.AllocTensor<float>();
    DataCopy(all, gm_x, count);
    DataCopy(all[count], gm_gamma, data.width);
    DataCopy(all[count + data.width], gm_beta, data.width);
    in.EnQue(all);
    all = in.DeQue<float>();
    LocalTensor<float> result = out.AllocTensor<float>();
    SoftMax(all, all, space.Get<uint8_t>(), data.softmax);
    LocalTensor<float> mean = moments.Get<float>();
    LayerNorm(result, mean, mean[256], all, all[count], all[count + data.width], 1e-6f, data.norm);
    in.FreeTensor(all);
    out.EnQue(result);
    result = out.DeQue<float>();
    DataCopy(gm_y, result, count);
    out.FreeTensor(result);
}
