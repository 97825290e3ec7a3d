// z = x + y for any length: tiles through double-buffered queues, a short tile at the end.
#include "kernel_operator.h"
using namespace AscendC;

struct SumTiling {
    uint32_t length, tile;
};

class SumTiles {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const SumTiling& data) {
        uint32_t part = (data.length / GetBlockNum() + 7) / 8 * 8;
        first = part * GetBlockIdx();
        last = first + part < data.length && GetBlockIdx() + 1 < GetBlockNum() ? first + part : data.length;
        tile = data.tile;
        xGm.SetGlobalBuffer((__gm__ float*)x, data.length);
        yGm.SetGlobalBuffer((__gm__ float*)y, data.length);
        zGm.SetGlobalBuffer((__gm__ float*)z, data.length);
        pipe.InitBuffer(xQueue, 2, tile * sizeof(float));
        pipe.InitBuffer(yQueue, 2, tile * sizeof(float));
        pipe.InitBuffer(zQueue, 2, tile * sizeof(float));
    }
    __aicore__ inline void Process() {
        for (uint32_t at = first; at < last; at += tile) Tile(at, last - at < tile ? last - at : tile);
    }

private:
    __aicore__ inline void Tile(uint32_t at, uint32_t count) {
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0};
        LocalTensor<float> x = xQueue.AllocTensor<float>(), y = yQueue.AllocTensor<float>();
        DataCopyPad(x, xGm[at], params, pad);
        DataCopyPad(y, yGm[at], params, pad);
        xQueue.EnQue(x);
        yQueue.EnQue(y);
        x = xQueue.DeQue<float>();
        y = yQueue.DeQue<float>();
        LocalTensor<float> z = zQueue.AllocTensor<float>();
        Add(z, x, y, count);
        zQueue.EnQue(z);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
        z = zQueue.DeQue<float>();
        DataCopyPad(zGm[at], z, params);
        zQueue.FreeTensor(z);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, 1> xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    GlobalTensor<float> xGm, yGm, zGm;
    uint32_t first, last, tile;
};

extern "C" __global__ __aicore__ void sum_tiles(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(SumTiling, data, tiling);
    SumTiles kernel;
    kernel.Init(x, y, z, data);
    kernel.Process();
}
