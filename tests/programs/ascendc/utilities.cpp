// Scalars, printing, lists, atomics on scalars. x: 512 uint32_t; z: 512 int64_t.
#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"
using namespace AscendC;

static_assert(IsSameType<tik2::TPipe, TPipe>::value, "the earlier name of the namespace");
#if DT_FLOAT16 == 1 && DT_FLOAT == 0
constexpr int HALF = DT_FLOAT16;
#endif

extern "C" __global__ __aicore__ void utilities(GM_ADDR gx, GM_ADDR gz, int32_t dtype, int32_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4096);
    GlobalTensor<int64_t> z;
    z.SetGlobalBuffer((__gm__ int64_t*)gz, 512);
    LocalTensor<float> values = buffer.Get<float>();
    if (which == 1) { // the cores add to one element
        AtomicAdd((__gm__ int64_t*)gz, GetBlockIdx() + 1);
        AtomicMax((__gm__ int64_t*)gz + 1, GetBlockIdx());
        return;
    }
    if (which == 2) {
        Duplicate(values, 1.5f, 8);
        PipeBarrier<PIPE_ALL>();
        printf("value %d of %s: %.1f\n", 3, "x", (half)2.5);
        AscendC::printf("plain\n");
        PRINTF("%u\n", 7u);
        DumpTensor(values, 5, 10);
        uint32_t sizes[2] = {2, 3};
        DumpTensor(values, 6, 8, ShapeInfo(2, sizes));
    }
    if (which == 4) { // the compiler's own names of events, earlier names, elements
        GlobalTensor<float> from, to;
        from.SetGlobalBuffer((__gm__ float*)gx, 512);
        to.SetGlobalBuffer((__gm__ float*)gz, 1024);
        DataCopy(values, from, 8);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        Adds(values, values, 1.0f, 8);
        PipeBarrier<PIPE_ALL>();
        values(1) += 1.5f;
        values(2) *= 3.0f;
        values(3) -= 1.0f;
        values(4) /= values(2);
        uint32_t wide[2] = {4, 8}, narrow[2] = {1, 8};
        BroadCast<float, 2, 0>(values[8], values, wide, narrow);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, values[8], 32);
        GlobalTensor<float> rest = to[32];
        InitGlobalMemory(rest, 8, 5.0f);
        InitOutput<float>(to[40], 8);
        GlobalTensor<half> small; // its elements convert as numbers do
        small.SetGlobalBuffer((__gm__ half*)gz + 96, 4);
        small(0) = 1.5f;
        float sum = small(0);
        sum += static_cast<float>(small(0));
        small(1) = small(0);
        half copied(small(1));
        to(50) = small(0) > 1.0f ? sum + copied : 0.0f;
        small(2) = static_cast<half>(to(50));
        half read = to(50);
        small(3) = read;
        return;
    }
    int64_t found[] = {
        ScalarGetCountOfValue<1>(0xf0ull), ScalarGetCountOfValue<0>(0xf0ull), ScalarCountLeadingZero(0x0100000000000020ull),
        ScalarCountLeadingZero(0), ScalarGetSFFValue<1>(0x100ull), ScalarGetSFFValue<0>(~0ull), CountBitsCntSameAsSignBit(0x0100000000000020),
        CountBitsCntSameAsSignBit(-1), CeilDivision(7, 2), CeilDivision(7, 0),
        ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(1.2f), ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(2.5f),
        static_cast<int64_t>(static_cast<float>(NumericLimits<half>::Max())), Std::min(3, 4), Std::get<1>(Std::make_tuple(1, 9)),
        static_cast<int64_t>(GetSystemCycle() > 0), static_cast<int64_t>(ONE_BLK_SIZE), static_cast<int64_t>(ToFloat(ToBfloat16(2.0f))),
        AlignUp(13, 8), DivCeil(13u, 8), Ceil(16ull, 8), IsSameType<AscendC::half, ::half>::value, HALF, TOTAL_VEC_LOCAL_SIZE,
    };
    SetCtrlSpr<48, 48>(1);
    z.SetValue(100, GetCtrlSpr<48, 48>());
    ResetCtrlSpr<48, 48>();
    z.SetValue(101, GetCtrlSpr<48, 48>());
    for (int i = 0; i < static_cast<int>(sizeof(found) / 8); ++i) z.SetValue(i, found[i]);
    // A list of two tensors: 2 x 3 at offset 0, 4 at offset 64 of z.
    uint64_t list[8] = {6 * 8, 2, 2, 3, 1ull << 32 | 1, 4, 0, 0};
    list[6] = reinterpret_cast<uint64_t>(gz);
    list[7] = reinterpret_cast<uint64_t>(gz) + 64;
    ListTensorDesc tensors(list);
    uint64_t shape[8] = {};
    TensorDesc<int64_t> desc;
    desc.SetShapeAddr(shape);
    tensors.GetDesc(desc, 1);
    z.SetValue(102, tensors.GetSize());
    z.SetValue(103, desc.GetDim());
    z.SetValue(104, desc.GetIndex());
    z.SetValue(105, desc.GetShape(0));
    z.SetValue(106, desc.GetDataObj().GetValue(0));
    z.SetValue(107, *tensors.GetDataPtr<int64_t>(0));
    if (which == 3) tensors.GetDesc(desc, 2);
}
