// One kernel with many faults; the tiling field `fault` chooses one. The line that the host model
// must name is marked with the fault's name.
#include "kernel_operator.h"
using namespace AscendC;

struct FaultTiling {
    int32_t fault;
    uint32_t length;
};

enum Fault : int32_t {
    none, overflow, past_input, past_buffer, copy_length, start, undefined_value, undefined_scalar,
    free_twice, dequeue_empty, too_deep, never_freed, no_buffer, copy_not_awaited, result_not_awaited,
    overwritten, wait_without_set, set_not_awaited, race, deadlock, tail_missing, half_overflow,
    use_after_free, wrong_queue, work_space, negative_count, past_output, integer_overflow,
};

class Kernel {
public:
    Kernel(GM_ADDR x, GM_ADDR y, GM_ADDR work, const FaultTiling& tiling)
        : fault(tiling.fault), length(tiling.length) {
        part = length / GetBlockNum();
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), length);
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), length);
        workGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(work));
        first = part * GetBlockIdx();
        pipe.InitBuffer(inQueue, 2, part * sizeof(float));
        pipe.InitBuffer(outQueue, 1, part * sizeof(float));
        pipe.InitBuffer(plainBuf, part * sizeof(float));
        if (fault == overflow) pipe.InitBuffer(largeBuf, 190 * 1024); // overflow
        if (fault == work_space) pipe.InitBuffer(largeBuf, 176 * 1024);
    }
    void Process() {
        if (fault == race) DataCopy(workGm, xLocal(), part); // race
        if (fault == race) return;
        LocalTensor<float> x = inQueue.AllocTensor<float>();
        if (fault == past_input) DataCopy(x, xGm[length - 8], 16); // past_input
        if (fault == copy_length) DataCopy(x, xGm[first], part - 3); // copy_length
        if (fault == no_buffer) inQueue.AllocTensor<float>();
        if (fault == no_buffer) inQueue.AllocTensor<float>(); // no_buffer
        if (fault == dequeue_empty) inQueue.DeQue<float>(); // dequeue_empty
        if (fault != undefined_value && fault != undefined_scalar) DataCopy(x, xGm[first], part);
        if (fault == undefined_scalar) x.GetValue(3); // undefined_scalar
        if (fault == copy_not_awaited) Muls(plain(), x, 2.0f, part); // copy_not_awaited
        inQueue.EnQue(x);
        if (fault == too_deep) Deeper();
        x = inQueue.DeQue<float>();
        LocalTensor<float> y = outQueue.AllocTensor<float>();
        if (fault == past_buffer) Muls(y, x, 2.0f, part + 8); // past_buffer
        if (fault == start) Muls(y[1], x, 2.0f, part - 8); // start
        if (fault == negative_count) Muls(y, x, 2.0f, int32_t(part) - 4096); // negative_count
        Muls(y, x, 2.0f, part); // undefined_value
        if (fault == result_not_awaited) DataCopy(yGm[first], y, part); // result_not_awaited
        if (fault == overwritten) DataCopy(x, xGm[first], part); // overwritten
        if (fault == wrong_queue) outQueue.FreeTensor(x); // wrong_queue
        if (fault != never_freed) inQueue.FreeTensor(x);
        if (fault == free_twice) inQueue.FreeTensor(x); // free_twice
        if (fault == use_after_free) Muls(y, x, 2.0f, part); // use_after_free
        if (fault == wait_without_set) WaitFlag<HardEvent::V_MTE2>(EVENT_ID3); // wait_without_set
        if (fault == set_not_awaited) SetFlag<HardEvent::V_MTE2>(EVENT_ID3); // set_not_awaited
        if (fault == half_overflow) Overflow();
        if (fault == integer_overflow) IntegerOverflow();
        if (fault == work_space) Sum(y, x, {1, part, part}); // work_space
        if (fault == deadlock && GetBlockIdx() == 1) return;
        if (fault == deadlock) SyncAll(); // deadlock
        outQueue.EnQue(y);
        y = outQueue.DeQue<float>();
        if (fault == past_output && first + part == length) DataCopy(yGm[first + 8], y, part); // past_output
        DataCopy(yGm[first], y, fault == tail_missing ? part - 8 : part);
        outQueue.FreeTensor(y);
    }

private:
    LocalTensor<float> plain() { return plainBuf.Get<float>(); }
    LocalTensor<float> xLocal() {
        LocalTensor<float> x = plain();
        Duplicate(x, 1.0f, part);
        PipeBarrier<PIPE_ALL>();
        return x;
    }
    void Deeper() {
        LocalTensor<float> other = inQueue.AllocTensor<float>();
        inQueue.EnQue(other); // too_deep
    }
    void Overflow() {
        LocalTensor<half> a = plain().ReinterpretCast<half>();
        Duplicate(a, half(60000.0f), 16);
        Add(a, a, a, 16); // half_overflow
    }

    void IntegerOverflow() {
        LocalTensor<int32_t> a = plain().ReinterpretCast<int32_t>();
        Duplicate(a, int32_t(0x7fffffff), 16);
        Adds(a, a, 1, 16); // integer_overflow
    }

    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> plainBuf, largeBuf;
    GlobalTensor<float> xGm, yGm, workGm;
    int32_t fault;
    uint32_t length, part, first;
};

extern "C" __global__ __aicore__ void planted_faults(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(FaultTiling, data, tiling);
    Kernel kernel(x, y, workspace, data);
    kernel.Process();
}
