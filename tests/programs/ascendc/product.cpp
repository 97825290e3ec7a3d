// c = a x b + bias by the Matmul object, on several cores with tails.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using namespace matmul;

extern "C" __global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                              GM_ADDR tilingGm) {
    GET_TILING_DATA(tilingData, tilingGm);
    TCubeTiling tiling = tilingData.cube;
    using AType = MatmulType<TPosition::GM, CubeFormat::ND, half>;
    using BType = MatmulType<TPosition::GM, CubeFormat::ND, half>;
    using CType = MatmulType<TPosition::GM, CubeFormat::ND, float>;
    using BiasType = MatmulType<TPosition::GM, CubeFormat::ND, float>;
    TPipe pipe;
    Matmul<AType, BType, CType, BiasType> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    if (GetBlockIdx() >= tiling.usedCoreNum) return;
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> biasGm, cGm;
    int columns = (tiling.N + tiling.singleCoreN - 1) / tiling.singleCoreN;
    int row = GetBlockIdx() / columns * tiling.singleCoreM, column = GetBlockIdx() % columns * tiling.singleCoreN;
    aGm.SetGlobalBuffer((__gm__ half*)a, tiling.M * tiling.Ka);
    bGm.SetGlobalBuffer((__gm__ half*)b, tiling.Kb * tiling.N);
    cGm.SetGlobalBuffer((__gm__ float*)c, tiling.M * tiling.N);
    biasGm.SetGlobalBuffer((__gm__ float*)bias, tiling.N);
    mm.SetTensorA(aGm[row * tiling.Ka]);
    mm.SetTensorB(bGm[column]);
    if (tiling.isBias) mm.SetBias(biasGm[column]);
    int tailM = tiling.M - row, tailN = tiling.N - column;
    mm.SetTail(tailM < tiling.singleCoreM ? tailM : tiling.singleCoreM,
               tailN < tiling.singleCoreN ? tailN : tiling.singleCoreN);
    if (tilingData.whole) {
        mm.IterateAll(cGm[row * tiling.N + column]);
    } else {
        while (mm.Iterate()) mm.GetTensorC(cGm[row * tiling.N + column]);
    }
    mm.End();
}
