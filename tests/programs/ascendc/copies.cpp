// Copies between global and on-chip memory. Each CASE fills z from x; z is 2048 bytes.
#include "kernel_operator.h"
using namespace AscendC;

#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }

template <class T> __aicore__ inline void Copies(GM_ADDR gx, GM_ADDR gz, int32_t which) {
    constexpr int32_t size = 2048 / sizeof(T), block = 32 / sizeof(T);
    TPipe pipe;
    TBuf<> buffer, second;
    pipe.InitBuffer(buffer, 2048);
    pipe.InitBuffer(second, 2048);
    GlobalTensor<T> x, z;
    x.SetGlobalBuffer((__gm__ T*)gx, size);
    z.SetGlobalBuffer((__gm__ T*)gz, size);
    LocalTensor<T> a = buffer.Get<T>(), b = second.Get<T>();
    Duplicate(a, static_cast<T>(7), size);
    Duplicate(b, static_cast<T>(7), size);
    PipeBarrier<PIPE_ALL>();
    int32_t rows = 5, width = 3 * block - 3; // elements of a row that is no whole number of blocks
    uint32_t bytes = static_cast<uint32_t>(width * sizeof(T));
    bool store = true;
    switch (which) {
        CASE(0, "count", DataCopy(a, x, 4 * block))
        CASE(1, "blocks", DataCopy(a, x, {3, 2, 1, 2}))
        CASE(2, "blocks_out", DataCopy(a, x, size); PipeBarrier<PIPE_ALL>(); DataCopyParams p;
             p.blockCount = 3; p.blockLen = 2; p.srcStride = 1; p.dstStride = 2; DataCopy(z, b, size);
             PipeBarrier<PIPE_ALL>(); DataCopy(z, a, p); store = false)
        CASE(3, "within", DataCopy(b, x, size); PipeBarrier<PIPE_ALL>(); DataCopy(a, b, {2, 3, 0, 1}))
        CASE(4, "within_count", DataCopy(b, x, size); PipeBarrier<PIPE_ALL>(); DataCopy(a[block], b, 2 * block))
        CASE(5, "slice", SliceInfo from[] = {{block, 8 * block - 1, block, 1, 16 * block}, {0, 2, 1, 1, 4}};
             SliceInfo to[] = {{0, 4 * block - 1, 0, 1, 4 * block}, {0, 1, 0, 1, 2}}; DataCopy(a, x, to, from, 2))
        CASE(10, "pad", DataCopyPad(a, x, {static_cast<uint16_t>(rows), bytes, 0, 0, 0}, {false, 0, 0, 0}))
        CASE(11, "pad_right", DataCopyPadExtParams<T> pad{true, 0, 3, static_cast<T>(9)};
             DataCopyPad(a, x, DataCopyExtParams{1, bytes, 0, 0, 0}, pad))
        CASE(12, "pad_left", DataCopyPadExtParams<T> pad{true, 2, 1, static_cast<T>(9)};
             DataCopyPad(a, x, DataCopyExtParams{2, bytes, 2 * sizeof(T), 1, 0}, pad))
        CASE(13, "pad_value", SetPadValue(static_cast<T>(11));
             DataCopyPad(a, x, {2, bytes, 0, 0, 0}, {false, 0, 0, 0}))
        CASE(14, "pad_old", DataCopyPad(a, x, DataCopyParams(2, bytes, 0, 0), DataCopyPadParams(true, 0, 3, 0)))
        CASE(15, "pad_out", DataCopy(a, x, size); DataCopy(z, b, size); PipeBarrier<PIPE_ALL>();
             DataCopyPad(z, a, {static_cast<uint16_t>(rows), bytes, 0, 0, 0}); store = false)
        CASE(16, "pad_out_gaps", DataCopy(a, x, size); DataCopy(z, b, size); PipeBarrier<PIPE_ALL>();
             DataCopyPad(z[1], a, DataCopyExtParams{3, bytes, 1, 2 * sizeof(T), 0}); store = false)
        CASE(17, "pad_empty", DataCopyPad(a, x, {0, bytes, 0, 0, 0}, {false, 0, 0, 0}))
        CASE(18, "pad_loops", SetLoopModePara({2, 2, static_cast<uint64_t>(2 * bytes), 6 * 32, static_cast<uint64_t>(5 * bytes), 14 * 32}, DataCopyMVType::OUT_TO_UB);
             DataCopyPad(a, x, {2, bytes, 0, 0, 0}, {false, 0, 0, 0}); ResetLoopModePara(DataCopyMVType::OUT_TO_UB))
        CASE(19, "dimensions", NdDmaParams<T, 2> params{{{1, 10}, {1, 8}, {3, 4}, {2, 1}, {1, 0}}, static_cast<T>(9)};
             DataCopy(a, x, params))
        CASE(22, "transposed", NdDmaParams<T, 2> params{{{8, 1}, {1, 4}, {4, 8}, {}, {}}, static_cast<T>(9)};
             DataCopy(a, x, params))
        CASE(23, "nearest", static constexpr NdDmaConfig nearest{true}; NdDmaParams<T, 1> params{{{1}, {1}, {5}, {2}, {3}}, static_cast<T>(9)};
             (DataCopy<T, 1, nearest>(a, x, params)))
        CASE(20, "copy_mask", DataCopy(b, x, size); PipeBarrier<PIPE_ALL>(); Copy(a, b, 2 * block, 3, {2, 1, 8, 4}))
        CASE(21, "copy_bits", DataCopy(b, x, size); PipeBarrier<PIPE_ALL>(); uint64_t bits[2] = {5, 0};
             Copy(a, b, bits, 1, {1, 1, 8, 8}))
        CASE(30, "atomic_add", DataCopy(a, x, size); PipeBarrier<PIPE_ALL>(); SetAtomicAdd<T>();
             DataCopy(z, a, size); SetAtomicNone(); store = false)
        CASE(31, "atomic_max", DataCopy(a, x, size); PipeBarrier<PIPE_ALL>(); SetAtomicMax<T>();
             DataCopy(z, a, size); DisableDmaAtomic(); store = false)
        CASE(32, "atomic_min_pad", DataCopy(a, x, size); PipeBarrier<PIPE_ALL>(); SetAtomicMin<T>();
             DataCopyPad(z, a, {1, bytes, 0, 0, 0}); SetAtomicNone(); store = false)
    }
    PipeBarrier<PIPE_ALL>();
    if (store) DataCopy(z, a, size);
}

// Element types: 0 float, 1 half, 2 int32_t.
extern "C" __global__ __aicore__ void copies(GM_ADDR x, GM_ADDR z, int32_t dtype, int32_t which) {
    if (dtype == 0) Copies<float>(x, z, which);
    if (dtype == 1) Copies<half>(x, z, which);
    if (dtype == 2) Copies<int32_t>(x, z, which);
}
