// One planted fault or warning per CASE, on the line of the CASE. x, z: 2048 bytes.
#include "kernel_operator.h"
#include <cassert>
using namespace AscendC;

#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

extern "C" __global__ __aicore__ void faults(GM_ADDR gx, GM_ADDR gz, int32_t dtype, int32_t which) {
    TPipe pipe;
    TBuf<> ba, bb, bw;
    pipe.InitBuffer(ba, 2048);
    pipe.InitBuffer(bb, 2048);
    pipe.InitBuffer(bw, 2048);
    GlobalTensor<float> x, z;
    x.SetGlobalBuffer((__gm__ float*)gx, 512);
    z.SetGlobalBuffer((__gm__ float*)gz, 512);
    LocalTensor<float> a = ba.Get<float>(), b = bb.Get<float>(), w = bw.Get<float>();
    LocalTensor<half> ha = ba.Get<half>(), hb = bb.Get<half>();
    LocalTensor<int32_t> ia = ba.Get<int32_t>();
    LocalTensor<uint32_t> ua = ba.Get<uint32_t>(), uw = bw.Get<uint32_t>();
    LocalTensor<uint8_t> bits = bb.Get<uint8_t>();
    Duplicate(a, 1.0f, 512);
    Duplicate(b, 2.0f, 512);
    Duplicate(w, 3.0f, 512);
    PipeBarrier<PIPE_ALL>();
    DataCopy(z, a, 512);
    PipeBarrier<PIPE_ALL>();
    int32_t few = -4, many = 300;
    uint64_t kept = 0, addresses[16] = {};
    switch (which) {
        CASE(0, "copy_tail", DataCopy(a, x, 5))
        CASE(1, "copy_out_tail", DataCopy(z, a, 9))
        CASE(2, "copy_unaligned", DataCopy(a[1], x, 8))
        CASE(3, "copy_out_unaligned", DataCopyPad(z, a[3], {1, 4, 0, 0, 0}))
        CASE(4, "copy_past_buffer", DataCopy(a[256], x, 512))
        CASE(5, "copy_past_tensor", DataCopy(a, x[504], 16))
        CASE(6, "copy_block_count", DataCopy(a, x, {5000, 1, 0, 0}))
        CASE(7, "copy_block_length", DataCopy(a, x, {1, 70000, 0, 0}))
        CASE(8, "pad_length", DataCopyPad(a, x, {1, 10, 0, 0, 0}, {false, 0, 0, 0}))
        CASE(9, "pad_too_wide", DataCopyPadExtParams<float> pad{true, 0, 9, 0}; DataCopyPad(a, x, DataCopyExtParams{1, 4, 0, 0, 0}, pad))
        CASE(10, "pad_gap", DataCopyPad(a, x, {2, 4, 3, 0, 0}, {false, 0, 0, 0}))
        CASE(11, "atomic_type", SetAtomicAdd<half>(); DataCopy(z, a, 8))
        CASE(12, "negative_count", Add(a, a, b, few))
        CASE(13, "repeats", Add(a, a, b, 1, many, {1, 1, 1, 1, 1, 1}))
        CASE(14, "repeat_stride", Adds(a, b, 1.0f, 1, 2, {1, 1, many, 1}))
        CASE(15, "vector_unaligned", Add(a[4], a, b, 8))
        CASE(16, "vector_past_buffer", Add(a, a, b, 600))
        CASE(17, "shift_distance", ShiftRight(ia, ia, 33, 8))
        CASE(18, "reduce_work_space", ReduceMax(a, b, w[511], 512))
        CASE(19, "reduce_index_work_space", ReduceMax(a, b, w[496], 512, true))
        CASE(20, "reduce_count", ReduceSum(a, b, w, few))
        CASE(21, "gather_offset", Duplicate(uw, 6u, 8); Gather(a, b, uw, 0, 8))
        CASE(22, "gather_range", Duplicate(uw, 4096u, 8); Gather(a, b, uw, 0, 8))
        CASE(23, "gather_pattern", GatherMask(a, b, 9, false, 0, {1, 1, 8, 0}, kept))
        CASE(24, "merge_lists", MrgSort4Info info; info.validBit = 5; MrgSort(a, MrgSortSrcList<float>(b, b, b, b), info))
        CASE(25, "sort_work_space", LocalTensor<float> work = w[504]; (Sort<float, true>(a, b, uw, work, 4)))
        CASE(26, "block_offset", Duplicate(uw, 4u, 8); Gatherb(ua, bb.Get<uint32_t>(), uw, 1, {1, 8}))
        CASE(27, "address", TransDataTo5HD<half>(addresses, addresses, TransDataTo5HDParams()))
        CASE(28, "transpose_work_space", Transpose(ha, hb, bits, TransposeParamsExt(1, 64, 4, 8, TransposeType::TRANSPOSE_NCHW2NHWC)))
        CASE(29, "no_scale", Cast(ha, bb.Get<int32_t>(), RoundMode::CAST_NONE, 8))
        CASE(30, "assertion", assert(kept == 1))
        CASE(31, "assertion_text", ascendc_assert(kept == 1, "kept is %d\n", 0))
        CASE(32, "trap", Trap())
        CASE(33, "select_work_space", TBuf<> big; pipe.InitBuffer(big, 184 * 1024); Select(a, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64))
        CASE(34, "slice_parts", SliceInfo from[] = {{0, 20, 1, 1, 64}}; SliceInfo to[] = {{0, 7, 0, 1, 8}}; DataCopy(a, x, to, from))
        CASE(35, "old_pad_length", DataCopyPad(a, x, DataCopyParams(1, 70000, 0, 0), DataCopyPadParams()))
        CASE(36, "macro_assertion", ASSERT(kept && "kept"))
        CASE(37, "operator_past_buffer", a.SetSize(600); a = a + b)
        CASE(40, "mask", Add(a, a, b, 65, 1, {1, 1, 1, 8, 8, 8}))
        CASE(41, "compare_count", Compare(bits, a, a, CMPMODE::LT, 60))
        CASE(42, "compare_integers", Compare(bits, ia, ia, CMPMODE::LT, 64))
        CASE(43, "bfloat_add", Add(ba.Get<bfloat16_t>(), ba.Get<bfloat16_t>(), bb.Get<bfloat16_t>(), 8))
        CASE(44, "exact_cast", Cast(a, hb, RoundMode::CAST_RINT, 8))
        CASE(45, "unknown_cast", Cast(ba.Get<uint32_t>(), b, RoundMode::CAST_RINT, 8))
    }
    PipeBarrier<PIPE_ALL>();
    SetAtomicNone();
}
