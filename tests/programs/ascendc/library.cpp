// Library functions. x holds three tensors of 256 elements: u in (-1, 1), p in (1, 4), w in
// (-30, 30); z has 1024 elements, full of sevens before. `dtype` is the element type plus 10 times
// the form: 0 hidden work space, 1 a tensor for it, 2 and 3 the same without a count.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t SIZE = 256, COUNT = 200;
#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }
#define FORMS(NAME, ...)                                                                           \
    if (form == 0) NAME(z, __VA_ARGS__, COUNT);                                                    \
    if (form == 1) NAME(z, __VA_ARGS__, tmp, COUNT);                                               \
    if (form == 2) NAME(z, __VA_ARGS__);                                                           \
    if (form == 3) NAME(z, __VA_ARGS__, tmp)
#define COUNTED(NAME, ...)                                                                         \
    if (form == 0) NAME(z, __VA_ARGS__, COUNT);                                                    \
    if (form == 1) NAME(z, __VA_ARGS__, tmp, COUNT)

template <class T> struct Tensors {
    __aicore__ inline Tensors(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz) {
        pipe.InitBuffer(bx, 3 * SIZE * sizeof(T));
        pipe.InitBuffer(by, 3 * SIZE * sizeof(T));
        pipe.InitBuffer(bz, 4 * SIZE * sizeof(T));
        pipe.InitBuffer(btmp, 4096);
        gm_x.SetGlobalBuffer((__gm__ T*)gx, 3 * SIZE);
        gm_y.SetGlobalBuffer((__gm__ T*)gy, 3 * SIZE);
        gm_z.SetGlobalBuffer((__gm__ T*)gz, 4 * SIZE);
        x = bx.template Get<T>();
        y = by.template Get<T>();
        z = bz.template Get<T>();
        DataCopy(x, gm_x, 3 * SIZE);
        DataCopy(y, gm_y, 3 * SIZE);
        Duplicate(z, static_cast<T>(7), 4 * SIZE);
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline ~Tensors() {
        PipeBarrier<PIPE_ALL>();
        DataCopy(gm_z, z, 4 * SIZE);
    }
    // One of the three tensors of x or y.
    __aicore__ inline LocalTensor<T> Part(LocalTensor<T> all, int32_t index) {
        LocalTensor<T> part = all[index * SIZE];
        part.SetSize(SIZE);
        return part;
    }
    TPipe pipe;
    TBuf<> bx, by, bz, btmp;
    GlobalTensor<T> gm_x, gm_y, gm_z;
    LocalTensor<T> x, y, z;
};

template <class T>
__aicore__ inline void Math(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t form, int32_t which) {
    Tensors<T> all(gx, gy, gz);
    LocalTensor<T> u = all.Part(all.x, 0), p = all.Part(all.x, 1), w = all.Part(all.x, 2), z = all.z;
    LocalTensor<uint8_t> tmp = all.btmp.template Get<uint8_t>();
    const T two = static_cast<T>(2);
    switch (which) {
        CASE(0, "tanh", FORMS(Tanh, u))
        CASE(1, "sin", FORMS(Sin, w))
        CASE(2, "cos", FORMS(Cos, w))
        CASE(3, "tan", FORMS(Tan, u))
        CASE(4, "sinh", FORMS(Sinh, p))
        CASE(5, "cosh", FORMS(Cosh, p))
        CASE(6, "asin", FORMS(Asin, u))
        CASE(7, "acos", FORMS(Acos, u))
        CASE(8, "atan", FORMS(Atan, w))
        CASE(9, "asinh", FORMS(Asinh, w))
        CASE(10, "acosh", FORMS(Acosh, p))
        CASE(11, "atanh", FORMS(Atanh, u))
        CASE(12, "erf", FORMS(Erf, u))
        CASE(13, "erfc", FORMS(Erfc, u))
        CASE(14, "lgamma", FORMS(Lgamma, p))
        CASE(15, "digamma", FORMS(Digamma, p))
        CASE(16, "log", FORMS(Log, p))
        CASE(17, "log2", FORMS(Log2, p))
        CASE(18, "log10", FORMS(Log10, p))
        CASE(19, "ceil", FORMS(Ceil, w))
        CASE(20, "floor", FORMS(Floor, w))
        CASE(21, "trunc", FORMS(Trunc, w))
        CASE(22, "round", FORMS(Round, w))
        CASE(23, "rint", FORMS(Rint, w))
        CASE(24, "frac", FORMS(Frac, w))
        CASE(25, "sign", FORMS(Sign, w))
        CASE(26, "sigmoid", FORMS(Sigmoid, w))
        CASE(27, "fmod", FORMS(Fmod, w, p))
        CASE(28, "hypot", FORMS(Hypot, u, p))
        CASE(29, "geglu", FORMS(GeGLU, w, u))
        CASE(30, "reglu", FORMS(ReGlu, w, u))
        CASE(31, "power", FORMS(Power, p, u))
        CASE(32, "power_of", FORMS(Power, p, two))
        CASE(33, "power_base", FORMS(Power, two, u))
        CASE(34, "swiglu", FORMS(SwiGLU, w, u, 1.5f))
        CASE(40, "gelu", COUNTED(Gelu, w))
        CASE(41, "faster_gelu", COUNTED(FasterGelu, w))
        CASE(42, "faster_gelu_v2", COUNTED(FasterGeluV2, w))
        CASE(43, "silu", Silu(z, w, COUNT))
        CASE(44, "swish", Swish(z, w, COUNT, two))
        CASE(45, "clamp_max", if (form) ClampMax(z, w, tmp, two, COUNT); else ClampMax(z, w, two, COUNT))
        CASE(46, "clamp_min", if (form) ClampMin(z, w, tmp, two, COUNT); else ClampMin(z, w, two, COUNT))
        CASE(47, "exp_taylor", if (form) Exp<T, 5>(z, u, tmp, COUNT); else Exp<T, 5>(z, u, COUNT))
        CASE(48, "axpy", Axpy(z, u, two, tmp, COUNT))
        CASE(49, "sin_cos", if (form) SinCos(z, z[512], w, tmp, COUNT); else SinCos(z, z[512], w, COUNT))
        CASE(50, "is_inf", Duplicate(w, static_cast<T>(1.0f / 0.0f), 8); IsInf(z, w, COUNT))
        CASE(51, "is_nan", Duplicate(w, static_cast<T>(0.0f / 0.0f), 8); IsNan(z, w, COUNT))
        CASE(52, "is_finite", Duplicate(w, static_cast<T>(1.0f / 0.0f), 8); IsFinite(z, w, COUNT))
        CASE(60, "count_beyond_source", Tanh(z, u, SIZE + 8))
        CASE(61, "count_beyond_second_source", Hypot(z, all.x, u, SIZE + 8))
        CASE(62, "work_space_does_not_fit", TBuf<> rest; all.pipe.InitBuffer(rest, 196608 - 10 * SIZE * sizeof(T) - 4096 - 1024); Erfc(z, u, COUNT))
    }
}

__aicore__ inline void Bits(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t form, int32_t which) {
    Tensors<int16_t> all(gx, gy, gz);
    LocalTensor<int16_t> u = all.Part(all.x, 0), p = all.Part(all.x, 1), z = all.z;
    LocalTensor<uint8_t> tmp = all.btmp.Get<uint8_t>();
    switch (which) {
        CASE(70, "xor", FORMS(Xor, u, p))
        CASE(71, "bitwise_and", FORMS(BitwiseAnd, u, p))
        CASE(72, "bitwise_or", FORMS(BitwiseOr, u, p))
        CASE(73, "bitwise_xor", FORMS(BitwiseXor, u, p))
        CASE(74, "reduce_xor_sum", COUNTED(ReduceXorSum, u, p))
    }
}

// Rows: x holds 4 x 64 elements, of which 60 a row are real, as many of a second tensor, 64 of gamma
// and 64 of beta; y holds positive values. z takes the results at multiples of 256 elements.
#define GIVEN(NAME, BEFORE, ...)                                                                   \
    if (form) (NAME)(UNPACK BEFORE, tmp, __VA_ARGS__);                                             \
    else (NAME)(UNPACK BEFORE, __VA_ARGS__)
#define UNPACK(...) __VA_ARGS__
static constexpr SoftmaxConfig NARROW = {true, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};
static constexpr CumSumConfig FIRST_AXIS = {false, false, true};
static constexpr WelfordUpdateConfig IN_PLACE = {true};
static constexpr LayerNormConfig VARIANCE = {false, true, false, false};

template <class Tiling> __aicore__ inline Tiling NormTiling() {
    Tiling tiling;
    tiling.bLength = 2;
    tiling.sLength = 2;
    tiling.hLength = 64;
    tiling.originalHLength = 60;
    return tiling;
}

template <class T>
__aicore__ inline void Rows(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t form, int32_t which) {
    Tensors<T> all(gx, gy, gz);
    LocalTensor<T> x = all.Part(all.x, 0), more = all.Part(all.x, 1), gamma = all.x[512], beta = all.x[576];
    LocalTensor<T> y = all.y, z = all.z, z1 = z[256], z2 = z[512], z3 = z[768];
    LocalTensor<float> floats = z.template ReinterpretCast<float>()[256];
    LocalTensor<uint8_t> tmp = all.btmp.template Get<uint8_t>();
    SoftMaxTiling tiling;
    tiling.srcM = 4;
    tiling.srcK = 64;
    LogSoftMaxTiling log_tiling;
    SoftMaxShapeInfo shape(4, 64, 4, 60), narrow(4, 60, 4, 60);
    const uint32_t matrix[] = {4, 60}, row[] = {1, 64}, column[] = {4, 1}, wide[] = {4, 64};
    LayerNormTiling norm = NormTiling<LayerNormTiling>();
    const T epsilon = static_cast<T>(0.01f), two = static_cast<T>(2);
    switch (which) {
        CASE(100, "softmax", GIVEN(SoftMax, (z, z1, z2, x), tiling, shape))
        CASE(101, "softmax_alone", GIVEN(SoftMax<T>, (z, x), tiling, shape))
        CASE(102, "softmax_narrow", GIVEN((SoftMax<T, false, false, false, NARROW>), (z, z1, z2, x), tiling, shape))
        CASE(103, "simple_softmax", SoftMax(z, z1, z2, x, tiling, shape); Duplicate(z, two, 256);
             GIVEN(SimpleSoftMax, (z, z1, z2, x), tiling, shape))
        CASE(104, "flash_v2", SoftmaxFlashV2<T>(z, z1, z2, more, z3, z1, z2, tiling, shape);
             GIVEN((SoftmaxFlashV2<T, true>), (z, z1, z2, x, z3, z1, z2), tiling, shape))
        CASE(105, "flash", SoftmaxFlash(z, z1, z2, more, z3, z1, z2, tiling, false, shape);
             GIVEN(SoftmaxFlash, (z, z1, z2, x, z3, z1, z2), tiling, true, shape))
        CASE(106, "flash_reduced_max", SoftmaxFlashV2<T, false, false, false, false, NARROW>(z, z1, z2, more, z3, z1, z2, tiling, shape);
             GIVEN((SoftmaxFlashV2<T, true, false, false, false, NARROW>), (z, z[800], z1, z2, x, z3, z1, z2), tiling, shape))
        CASE(107, "softmax_grad", GIVEN(SoftmaxGrad, (z, more, x), tiling, false, shape))
        CASE(108, "softmax_grad_front", GIVEN(SoftmaxGradFront, (z, more, x), tiling, shape))
        CASE(109, "log_softmax", LogSoftMax(z, z1, z2, x, tmp, log_tiling, shape))
        CASE(110, "adjust", Duplicate(x[64], static_cast<T>(3), 64); SoftMax(z, z1, z2, x, tiling, shape);
             AdjustSoftMaxRes<T, T>(z, z2, sizeof(T) == 4 ? 0x40400000 : 0x4200, two, shape))
        CASE(111, "sum", GIVEN(Sum, (z, x), (SumParams{4, 64, 60})))
        CASE(112, "mean", GIVEN(Mean, (z, x), (MeanParams{4, 64, 60})))
        CASE(113, "cumulative", GIVEN(CumSum, (z, z1, x), (CumSumInfo{4, 64})))
        CASE(114, "cumulative_first", GIVEN((CumSum<T, FIRST_AXIS>), (z, z1, x), (CumSumInfo{4, 64})))
        CASE(115, "broadcast_row", if (form) Broadcast<T, 2, 0>(z, gamma, wide, row, tmp); else Broadcast<T, 2, 0>(z, gamma, wide, row))
        CASE(116, "broadcast_column", if (form) Broadcast<T, 2, 1>(z, gamma, wide, column, tmp); else Broadcast<T, 2, 1>(z, gamma, wide, column))
        CASE(117, "layer_norm", GIVEN(LayerNorm, (z, z1, z2, x, gamma, beta), epsilon, norm))
        CASE(118, "layer_norm_rstd", LayerNormPara para{4, 60, 64}; LayerNormSeparateTiling separate;
             if (form) LayerNorm<T, T>(z, floats, floats[64], x, gamma, beta, 0.01f, tmp, para, separate);
             else LayerNorm<T, T>(z, floats, floats[64], x, gamma, beta, 0.01f, para, separate))
        CASE(119, "layer_norm_variance", LayerNormPara para{4, 60, 64}; LayerNormSeparateTiling separate;
             LayerNorm<T, T, false, VARIANCE>(z, floats, floats[64], x, gamma, beta, 0.01f, para, separate))
        CASE(120, "rms_norm", GIVEN(RmsNorm, (z, x, gamma), epsilon, NormTiling<RmsNormTiling>()))
        CASE(121, "deep_norm", GIVEN(DeepNorm, (z, z1, z2, x, more, beta, gamma), two, epsilon, NormTiling<DeepNormTiling>()))
        CASE(122, "layer_norm_grad", GIVEN(LayerNormGrad, (z, z1, more, x, y, y[256], gamma), epsilon, NormTiling<LayerNormGradTiling>()))
        CASE(123, "layer_norm_grad_beta", GIVEN(LayerNormGradBeta, (z, z1, x, more), NormTiling<LayerNormGradBetaTiling>()))
        CASE(124, "group_norm", GroupNormTiling groups; groups.n = 2; groups.c = 4; groups.hw = 32; groups.g = 2;
             GIVEN(GroupNorm, (z, z1, z2, x, gamma, beta), epsilon, groups))
        CASE(125, "batch_norm", BatchNormTiling batch; batch.originalBLength = 4; batch.meanVarSize = 64;
             GIVEN(BatchNorm, (z, z1, z2, x, gamma, beta), epsilon, batch))
        CASE(126, "softmax_of_odd_rows", SoftMax(z, z1, z2, x, tiling, narrow))
        CASE(127, "norm_of_odd_rows", norm.hLength = 60; LayerNorm(z, z1, z2, x, gamma, beta, epsilon, norm))
        CASE(128, "sum_of_odd_rows", Sum(z, x, SumParams{4, 60, 60}))
        CASE(129, "cumulative_of_odd_rows", CumSum(z, z1, x, CumSumInfo{4, 60}))
        CASE(130, "softmax_without_shape", SoftMax(z, z1, z2, x, SoftMaxTiling()))
        CASE(131, "softmax_work_space", TBuf<> rest; all.pipe.InitBuffer(rest, 196608 - 10 * SIZE * sizeof(T) - 4096 - 256);
             SoftMax(z, z1, z2, x, tiling, shape))
        CASE(132, "broadcast_of_other_shape", Broadcast<T, 2, 0>(z, gamma, wide, matrix))
    }
}

__aicore__ inline void FloatRows(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t form, int32_t which) {
    Tensors<float> all(gx, gy, gz);
    LocalTensor<float> x = all.Part(all.x, 0), y = all.y, z = all.z, z1 = z[256], z2 = z[512];
    LocalTensor<float> gamma = all.x[512], beta = all.x[576];
    LocalTensor<uint8_t> tmp = all.btmp.Get<uint8_t>();
    LocalTensor<int32_t> counts = all.btmp.GetWithOffset<int32_t>(64, 2048);
    const uint32_t matrix[] = {4, 60};
    using AR = Pattern::Reduce::AR;
    using RA = Pattern::Reduce::RA;
    switch (which) {
        CASE(150, "normalize", GIVEN((Normalize<float, float>), (z, z1, y[256], y, x, gamma, beta), 0.01f, (NormalizePara{4, 60, 64})))
        CASE(151, "welford", Duplicate(z1, 0.0f, 64); Duplicate(z2, 0.0f, 64);
             for (int32_t i = 0; i < 3; ++i)
                 WelfordUpdate<float, float>(z1, z2, z1, z2, all.x[256 * i], WelfordUpdateParam{1, 64, 64, 1.0f / (i + 1)});
             WelfordFinalizePara para{3, 64, 3, 64, 0, 0, 1.0f / 64, 1.0f / 192};
             GIVEN(WelfordFinalize<>, (z, z[8], z1, z2), para))
        CASE(152, "welford_tail", Duplicate(z1, 0.0f, 64); Duplicate(z2, 0.0f, 64);
             for (int32_t i = 0; i < 3; ++i)
                 WelfordUpdate<float, float, false, IN_PLACE>(z1, z2, z1, z2, all.x[256 * i], WelfordUpdateParam{1, 64, i == 2 ? 40u : 64u, 1.0f / (i + 1)});
             WelfordFinalizePara para{3, 64, 3, 40, 2, 24, 1.0f / 64, 1.0f / 168};
             Duplicate(counts, 3, 40); Duplicate(counts[40], 2, 24);
             if (form) WelfordFinalize(z, z[8], z1, z2, counts, para); else WelfordFinalize(z, z[8], z1, z2, para))
        CASE(160, "reduce_sum_last", GIVEN((ReduceSum<float, AR>), (z, x), matrix, true))
        CASE(161, "reduce_sum_first", GIVEN((ReduceSum<float, RA>), (z, x), matrix, true))
        CASE(162, "reduce_mean_last", GIVEN((ReduceMean<float, AR>), (z, x), matrix, true))
        CASE(163, "reduce_max_first", GIVEN((ReduceMax<float, RA>), (z, x), matrix, true))
        CASE(164, "reduce_min_last", GIVEN((ReduceMin<float, AR>), (z, x), matrix, true))
        CASE(165, "reduce_prod_first", GIVEN((ReduceProd<float, RA>), (z, x), matrix, true))
        CASE(166, "reduce_any_last", Duplicate(x, 0.0f, 64); GIVEN((ReduceAny<float, AR>), (z, x), matrix, true))
        CASE(167, "reduce_all_first", Duplicate(x, 0.0f, 8); GIVEN((ReduceAll<float, RA>), (z, x), matrix, true))
        CASE(168, "reduce_unpadded", ReduceSum<float, AR>(z, x, matrix, false))
    }
}

extern "C" __global__ __aicore__ void library(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t dtype, int32_t which) {
    int32_t form = dtype / 10;
    if (which < 100 && dtype % 10 == 0) Math<float>(x, y, z, form, which);
    if (which < 100 && dtype % 10 == 1) Math<half>(x, y, z, form, which);
    if (which >= 100 && which < 150 && dtype % 10 == 0) Rows<float>(x, y, z, form, which);
    if (which >= 100 && dtype % 10 == 1) Rows<half>(x, y, z, form, which);
    if (which >= 150 && dtype % 10 == 0) FloatRows(x, y, z, form, which);
    if (dtype % 10 == 2) Bits(x, y, z, form, which);
}
