// y = x * 2 for each tile; element type and number of tiles are template arguments.
#include "tile_template_key.h"
#include "kernel_operator.h"
using namespace AscendC;

template <typename T, int TILES, bool TWICE>
__global__ __aicore__ void tile_template(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    uint32_t count = data.length / GetBlockNum() / TILES;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, count * sizeof(T));
    GlobalTensor<T> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ T*)x, data.length);
    yGm.SetGlobalBuffer((__gm__ T*)y, data.length);
    for (int i = 0; i < TILES; ++i) {
        uint32_t first = (GetBlockIdx() * TILES + i) * count;
        LocalTensor<T> tile = queue.AllocTensor<T>();
        DataCopy(tile, xGm[first], count);
        if constexpr (TWICE) {
            SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
            Add(tile, tile, tile, count);
            SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
            WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
        }
        queue.EnQue(tile);
        tile = queue.template DeQue<T>();
        DataCopy(yGm[first], tile, count);
        queue.FreeTensor(tile);
    }
}
