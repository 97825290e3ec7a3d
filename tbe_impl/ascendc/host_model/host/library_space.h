// Temporary space of library functions: what kernels reserve, and what host code asks for.
//
// CANN's need depends on its version and is not documented in figures. The model takes a number of
// temporaries per function; the least space holds one instruction's length of each of them, in
// float, the most holds as many elements as the source has.
#pragma once

#include <algorithm>
#include <cstdint>

namespace host_model {

constexpr uint64_t INSTRUCTION_BYTES = 256, SPACE_BLOCK = 32;

namespace temporaries {
constexpr int Tanh = 1, Sin = 2, Cos = 2, SinCos = 4, Tan = 4, Sinh = 1, Cosh = 2, Asin = 2,
              Acos = 2, Atan = 5, Asinh = 3, Acosh = 1, Atanh = 1, Erf = 3, Erfc = 7, Lgamma = 8,
              Digamma = 8, Log = 0, Log2 = 1, Log10 = 0, Exp = 4, Power = 4, Axpy = 1, Ceil = 1,
              Floor = 1, Trunc = 1, Round = 1, Rint = 1, Frac = 1, Sign = 3, Fmod = 1, Hypot = 3,
              Xor = 1, Fma = 0, Clamp = 1, IsInf = 1, IsNan = 1, IsFinite = 0, Where = 0,
              LogicalAnd = 0, LogicalAnds = 0, LogicalOr = 0, LogicalOrs = 0, LogicalXor = 0,
              LogicalNot = 0, BitwiseAnd = 0, BitwiseOr = 0, BitwiseXor = 0, BitwiseNot = 0;
constexpr int Sigmoid = 1, Gelu = 3, FasterGelu = 2, FasterGeluV2 = 3, Silu = 0, Swish = 0,
              SwiGLU = 4, GeGLU = 4, ReGlu = 3;
constexpr int Arange = 0, DropOut = 1, Select = 1, Broadcast = 2, ReduceXorSum = 2;
constexpr int AscendQuant = 2, AscendDequant = 2, AscendAntiQuant = 2, Quantize = 2,
              Dequantize = 2, AntiQuantize = 2;
// Over rows: rows of float.
constexpr int LayerNorm = 3, LayerNormGrad = 6, LayerNormGradBeta = 2, RmsNorm = 2, Normalize = 2,
              DeepNorm = 3, GroupNorm = 3, BatchNorm = 3, WelfordUpdate = 2, WelfordFinalize = 2;
} // namespace temporaries

// The least space for a number of temporaries.
constexpr uint64_t least_workspace(int tensors) { return tensors * INSTRUCTION_BYTES; }
// A number of temporaries of `elements` floats.
constexpr uint64_t row_workspace(int tensors, uint64_t elements) {
    return tensors * std::max<uint64_t>(elements * sizeof(float), SPACE_BLOCK);
}
// A softmax holds a few values per row, filled to whole blocks, and a row of exponentials.
constexpr uint64_t softmax_workspace(uint64_t width, uint64_t size) {
    return (std::max<uint64_t>(width, 64) + 2 * SPACE_BLOCK / size) * sizeof(float);
}
// Partial sums of a row: a value per repeat.
constexpr uint64_t sum_workspace(uint64_t width, uint64_t size) {
    return std::max(INSTRUCTION_BYTES, (width * size + 2047) / 2048 * SPACE_BLOCK);
}
// Partial results of reductions of a matrix: half of its rows or columns.
constexpr uint64_t pattern_workspace(uint64_t rows, uint64_t width, uint64_t size) {
    return std::max(INSTRUCTION_BYTES, (rows * width / 2 * size + 31) / 32 * SPACE_BLOCK);
}

} // namespace host_model

namespace AscendC {

// Axes of a reduction: A stays, R is reduced.
enum class ReducePattern : uint32_t { AR = 0, RA = 1, R, ARA, ARAR, ARARA, RAR, RARA };
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };

} // namespace AscendC
