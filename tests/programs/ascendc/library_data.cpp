// Library functions that select, move, draw and quantise. x and y hold 768 floats, z 1024 bytes
// times 4, full of sevens before. `dtype` 1 gives the functions a tensor for their work space.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t SIZE = 768, OUT = 1024;
#define CASE(number, name, ...) case number: { __VA_ARGS__; break; }
#define UNPACK(...) __VA_ARGS__
#define GIVEN(NAME, BEFORE, ...)                                                                   \
    if (given) (NAME)(UNPACK BEFORE, tmp, __VA_ARGS__);                                            \
    else (NAME)(UNPACK BEFORE, __VA_ARGS__)
static constexpr QuantizeConfig BY_GROUP = {QuantizePolicy::PER_GROUP, true, RoundMode::CAST_FLOOR, 1};
static constexpr DequantizeConfig BY_TOKEN = {DequantizePolicy::PER_TOKEN};
static constexpr AntiQuantizeConfig BY_CHANNEL = {AntiQuantizePolicy::PER_CHANNEL, true};

extern "C" __global__ __aicore__ void library_data(GM_ADDR gx, GM_ADDR gy, GM_ADDR gz, int32_t dtype, int32_t which) {
    bool given = dtype == 1;
    TPipe pipe;
    TBuf<> bx, by, bz, bw, btmp;
    GlobalTensor<float> gm_x, gm_y, gm_z;
    gm_x.SetGlobalBuffer((__gm__ float*)gx, SIZE);
    gm_y.SetGlobalBuffer((__gm__ float*)gy, SIZE);
    gm_z.SetGlobalBuffer((__gm__ float*)gz, OUT);
    if (which == 90) { // CASE(90, "fill"): before InitBuffer, as the documentation demands
        Fill(gm_z, 1024, 3.0f);
        return;
    }
    pipe.InitBuffer(bx, SIZE * 4);
    pipe.InitBuffer(by, SIZE * 4);
    pipe.InitBuffer(bz, OUT * 4);
    pipe.InitBuffer(bw, 8192);
    pipe.InitBuffer(btmp, 8192);
    LocalTensor<float> x = bx.Get<float>(), y = by.Get<float>(), z = bz.Get<float>();
    LocalTensor<int32_t> words = bw.Get<int32_t>();
    LocalTensor<half> halves = bw.Get<half>();
    LocalTensor<int8_t> bytes = bw.Get<int8_t>()[4096], bytes_out = bz.Get<int8_t>();
    LocalTensor<uint8_t> tmp = btmp.Get<uint8_t>(), mask = bw.Get<uint8_t>()[6144];
    LocalTensor<half> halves_out = bz.Get<half>();
    DataCopy(x, gm_x, SIZE);
    DataCopy(y, gm_y, SIZE);
    Duplicate(z, 7.0f, OUT);
    PipeBarrier<PIPE_ALL>();
    Cast(words, x, RoundMode::CAST_RINT, SIZE);
    Cast(bytes_out.ReinterpretCast<half>(), x, RoundMode::CAST_NONE, 512);
    Cast(bytes, bytes_out.ReinterpretCast<half>(), RoundMode::CAST_RINT, 512);
    Duplicate(z, 7.0f, OUT);
    // 256 bytes of 0 and 1: whether x > 0
    Maxs(y[512], x, 0.0f, 256);
    Mins(y[512], y[512], 1.0f, 256);
    Ceil(y[512], y[512], tmp, 256);
    Cast(tmp.ReinterpretCast<half>(), y[512], RoundMode::CAST_NONE, 256);
    Cast(mask, tmp.ReinterpretCast<half>(), RoundMode::CAST_RINT, 256);
    SelectWithBytesMaskShapeInfo select;
    select.firstAxis = 4;
    select.srcLastAxis = 40;
    select.maskLastAxis = 64;
    DropOutShapeInfo drop;
    drop.firstAxis = 4;
    drop.srcLastAxis = 64;
    drop.maskLastAxis = 64;
    PadTiling pad;
    pad.srcHeight = 8;
    pad.srcWidth = pad.srcOriWidth = 13;
    UnPadTiling unpad;
    unpad.srcHeight = 8;
    unpad.srcWidth = 16;
    PadParams sides{1, 2, -5};
    UnPadParams right{0, 3};
    ConfusionTransposeTiling transpose;
    transpose.dims = 4;
    const uint32_t sizes[] = {1, 2, 16, 16};
    for (int i = 0; i < 4; ++i) transpose.reserved[i] = sizes[i];
    ConfusionTransposeTiling matrix;
    matrix.dims = 2;
    matrix.reserved[0] = 16;
    matrix.reserved[1] = 32;
    PhiloxKey key = {0xa4093822, 0x299f31d0};
    PhiloxCounter counter = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    QuantizeParams shape{4, 64, 32};
    switch (which) {
        CASE(0, "select", Select(z, x, 2.0f, mask, tmp, select))
        CASE(1, "select_left", Select(z, 2.0f, x, mask, tmp, select))
        CASE(2, "where", Where(z, x, y, mask.ReinterpretCast<bool>(), 200))
        CASE(3, "where_scalar", Where(z, x, 2.0f, mask.ReinterpretCast<bool>(), 200))
        CASE(4, "drop_out", GIVEN(DropOut, (z, x, mask), 0.5f, drop))
        CASE(5, "drop_out_bits", drop.maskLastAxis = 8; GIVEN(DropOut, (z, x, words.ReinterpretCast<uint8_t>()), 0.5f, drop))
        CASE(6, "pad", GIVEN(Pad, (z, x, sides), pad))
        CASE(7, "unpad", GIVEN(UnPad, (z, x, right), unpad))
        CASE(8, "transpose_1", GIVEN(Transpose, (z, x), TransposeType::TRANSPOSE_NZ2ND_0213, transpose))
        CASE(9, "transpose_3", GIVEN(Transpose, (z, x), TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N, transpose))
        CASE(10, "transpose_4", GIVEN(Transpose, (z, x), TransposeType::TRANSPOSE_NZ2ND_012_WITH_N, transpose))
        CASE(11, "transpose_5", GIVEN(Transpose, (z, x), TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N, transpose))
        CASE(12, "transpose_6", GIVEN(Transpose, (z, x), TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N, transpose))
        CASE(13, "transpose_7", GIVEN(ConfusionTranspose, (z, x), TransposeType::TRANSPOSE_ND2ND_ONLY, matrix))
        CASE(14, "philox", PhiloxRandom<10>(z.ReinterpretCast<uint32_t>(), key, counter, 64))
        CASE(15, "philox_rows", PhiloxRandom<10>(z.ReinterpretCast<uint32_t>(), key, counter, PhiloxRandomParams{8, 4, 4}))
        CASE(16, "philox_floats", PhiloxRandom(z, key, counter, 64))
        CASE(20, "quant", GIVEN(AscendQuant, (bytes_out, x), 3.0f, 4.0f, 200))
        CASE(21, "quant_channel", if (given) AscendQuant(bytes_out, x, tmp, y, y[64], 64, 64, 256); else AscendQuant(bytes_out, x, y, y[64], 64, 64, 256))
        CASE(22, "dequant", GIVEN(AscendDequant, (z, words, y), (DequantParams{4, 16, 12})))
        CASE(23, "dequant_single", GIVEN((AscendDequant<float, float>), (z, words, 0.5f), (DequantParams{1, 64, 16})))
        CASE(24, "dequant_half", AscendDequant(halves_out, words, y.ReinterpretCast<uint64_t>(), DequantParams{4, 24, 24}))
        CASE(25, "antiquant", Cast(tmp.ReinterpretCast<half>()[2048], y, RoundMode::CAST_NONE, 256);
             AscendAntiQuant<int8_t, half, false>(halves_out, bytes, tmp.ReinterpretCast<half>()[2048], tmp.ReinterpretCast<half>()[2176], 4, AntiQuantShapeInfo{2, 64, 2, 64}))
        CASE(26, "antiquant_scalar", LocalTensor<int8_t> part = bytes; part.SetSize(256);
             GIVEN((AscendAntiQuant<int8_t, half, false>), (halves_out, part, static_cast<half>(2), static_cast<half>(0.5)), 4))
        CASE(27, "quantize", if (given) Quantize<BY_GROUP>(bytes_out, x, tmp, y, y[64], shape); else Quantize<BY_GROUP>(bytes_out, x, y, y[64], shape))
        CASE(28, "dequantize", GIVEN((Dequantize<BY_TOKEN>), (z, words, y, 0), shape))
        CASE(29, "antiquantize", GIVEN((AntiQuantize<BY_CHANNEL>), (z, bytes, y, y[64]), shape))
        CASE(40, "pad_to_odd_rows", sides.rightPad = 1; Pad(z, x, sides, pad))
        CASE(41, "transpose_without_tiling", Transpose(z, x, TransposeType::TRANSPOSE_NZ2ND_0213, matrix))
        CASE(42, "short_mask", select.maskLastAxis = 32; Select(z, x, 2.0f, mask, tmp, select))
        CASE(43, "probability", DropOut(z, x, mask, 1.5f, drop))
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_z, z, OUT);
}
