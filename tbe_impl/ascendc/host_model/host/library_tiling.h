// Host functions for the library: temporary space, and tiling structures from shapes.
//
// This module exceeds 500 lines because it is one list of documented signatures.
#pragma once

#include "library_space.h"
#include "platform.h"
#include "tiling_data.h"

namespace AscendC {

namespace tiling = optiling;
using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;

} // namespace AscendC

namespace host_model {

inline uint32_t as_bytes(uint64_t bytes) { return static_cast<uint32_t>(bytes); }
inline uint64_t elements_of(const ge::Shape& shape) {
    return static_cast<uint64_t>(std::max<int64_t>(shape.GetShapeSize(), 1));
}
// The last size, and the product of those before it.
inline uint64_t width_of(const ge::Shape& shape) {
    return shape.GetDimNum() ? static_cast<uint64_t>(shape.GetDim(shape.GetDimNum() - 1)) : 1;
}
inline uint64_t rows_of(const ge::Shape& shape) {
    return elements_of(shape) / std::max<uint64_t>(width_of(shape), 1);
}
inline uint32_t size_at(const ge::Shape& shape, size_t index) {
    return static_cast<uint32_t>(shape.GetDim(index));
}

// The most space: whole temporaries of float; the least: one instruction's length of each. A
// function without temporaries has the space of one, since kernels allocate what is returned.
inline bool element_space(const ge::Shape& shape, int temporaries, uint32_t& most,
                          uint32_t& least) {
    temporaries = std::max(temporaries, 1);
    least = as_bytes(least_workspace(temporaries));
    most = std::max(least, as_bytes(row_workspace(temporaries, elements_of(shape))));
    return true;
}
// Over rows: the least space holds one row, the most all rows.
inline bool row_space(uint64_t rows, uint64_t least_bytes, uint32_t& most, uint32_t& least) {
    least = as_bytes(least_bytes);
    most = as_bytes(least_bytes * std::max<uint64_t>(rows, 1));
    return true;
}

// Sizes of the blocks in which a softmax of these rows works in a given space.
inline void fill_softmax(const ge::Shape& shape, uint32_t size, uint32_t space,
                         optiling::SoftMaxTiling& out) {
    out = {};
    out.srcM = as_bytes(rows_of(shape));
    out.srcK = as_bytes(width_of(shape));
    out.srcSize = out.srcM * out.srcK;
    out.outMaxM = out.srcM;
    out.outMaxK = as_bytes(SPACE_BLOCK) / std::max(size, 1u);
    out.outMaxSize = out.outMaxM * out.outMaxK;
    uint64_t row = softmax_workspace(out.srcK, std::max(size, 1u));
    out.splitM = std::clamp<uint32_t>(as_bytes(space / row), 1, std::max(out.srcM, 1u));
    out.splitK = out.srcK;
    out.splitSize = out.splitM * out.splitK;
    out.reduceM = out.splitM;
    out.reduceK = out.outMaxK;
    out.reduceSize = out.reduceM * out.reduceK;
    out.rangeM = out.srcM / out.splitM;
    out.tailM = out.srcM % out.splitM;
    out.tailSplitSize = out.tailM * out.splitK;
    out.tailReduceSize = out.tailM * out.reduceK;
}

// Sizes of [B, S, H]; `origin` has the width without padding.
template <class Tiling>
bool fill_norm(const ge::Shape& shape, const ge::Shape& origin, Tiling& out) {
    out = {};
    if (shape.GetDimNum() != 3) return false;
    out.bLength = size_at(shape, 0);
    out.sLength = size_at(shape, 1);
    out.hLength = size_at(shape, 2);
    out.originalHLength = size_at(origin, 2);
    return true;
}

} // namespace host_model

namespace AscendC {

// Get...MaxMinTmpSize and Get...TmpBufferFactorSize of the functions over elements. A platform or a
// configuration may precede the shape.
#define HOST_MODEL_SPACE(NAME)                                                                     \
    inline bool Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, uint32_t, bool,              \
                                         uint32_t& maxValue, uint32_t& minValue) {                 \
        return ::host_model::element_space(srcShape, ::host_model::temporaries::NAME, maxValue,    \
                                           minValue);                                              \
    }                                                                                              \
    template <class Before>                                                                        \
    bool Get##NAME##MaxMinTmpSize(const Before&, const TensorShape& srcShape, uint32_t typeSize,   \
                                  bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {    \
        return Get##NAME##MaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);    \
    }                                                                                              \
    inline void Get##NAME##TmpBufferFactorSize(uint32_t, uint32_t& maxLiveNodeCount,               \
                                               uint32_t& extraBuf) {                               \
        maxLiveNodeCount = ::host_model::temporaries::NAME;                                        \
        extraBuf = 0;                                                                              \
    }                                                                                              \
    template <class Before>                                                                        \
    void Get##NAME##TmpBufferFactorSize(const Before&, uint32_t typeSize,                          \
                                        uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {          \
        Get##NAME##TmpBufferFactorSize(typeSize, maxLiveNodeCount, extraBuf);                      \
    }
HOST_MODEL_SPACE(Tanh)
HOST_MODEL_SPACE(Sin)
HOST_MODEL_SPACE(Cos)
HOST_MODEL_SPACE(SinCos)
HOST_MODEL_SPACE(Tan)
HOST_MODEL_SPACE(Sinh)
HOST_MODEL_SPACE(Cosh)
HOST_MODEL_SPACE(Asin)
HOST_MODEL_SPACE(Acos)
HOST_MODEL_SPACE(Atan)
HOST_MODEL_SPACE(Asinh)
HOST_MODEL_SPACE(Acosh)
HOST_MODEL_SPACE(Atanh)
HOST_MODEL_SPACE(Erf)
HOST_MODEL_SPACE(Erfc)
HOST_MODEL_SPACE(Lgamma)
HOST_MODEL_SPACE(Digamma)
HOST_MODEL_SPACE(Log)
HOST_MODEL_SPACE(Log2)
HOST_MODEL_SPACE(Log10)
HOST_MODEL_SPACE(Exp)
HOST_MODEL_SPACE(Axpy)
HOST_MODEL_SPACE(Ceil)
HOST_MODEL_SPACE(Floor)
HOST_MODEL_SPACE(Trunc)
HOST_MODEL_SPACE(Round)
HOST_MODEL_SPACE(Rint)
HOST_MODEL_SPACE(Frac)
HOST_MODEL_SPACE(Sign)
HOST_MODEL_SPACE(Fmod)
HOST_MODEL_SPACE(Hypot)
HOST_MODEL_SPACE(Xor)
HOST_MODEL_SPACE(Fma)
HOST_MODEL_SPACE(Clamp)
HOST_MODEL_SPACE(IsInf)
HOST_MODEL_SPACE(IsNan)
HOST_MODEL_SPACE(Where)
HOST_MODEL_SPACE(LogicalAnd)
HOST_MODEL_SPACE(LogicalAnds)
HOST_MODEL_SPACE(LogicalOr)
HOST_MODEL_SPACE(LogicalOrs)
HOST_MODEL_SPACE(LogicalXor)
HOST_MODEL_SPACE(LogicalNot)
HOST_MODEL_SPACE(BitwiseAnd)
HOST_MODEL_SPACE(BitwiseOr)
HOST_MODEL_SPACE(BitwiseXor)
HOST_MODEL_SPACE(BitwiseNot)
HOST_MODEL_SPACE(Sigmoid)
HOST_MODEL_SPACE(GeGLU)
HOST_MODEL_SPACE(ReGlu)
HOST_MODEL_SPACE(DropOut)
HOST_MODEL_SPACE(ReduceXorSum)
inline void GetSiluTmpSize(const TensorShape& srcShape, uint32_t, bool, uint32_t& maxValue,
                           uint32_t& minValue) {
    ::host_model::element_space(srcShape, ::host_model::temporaries::Silu, maxValue, minValue);
}
inline void GetSwishTmpSize(const TensorShape& srcShape, uint32_t, bool, uint32_t& maxValue,
                            uint32_t& minValue) {
    ::host_model::element_space(srcShape, ::host_model::temporaries::Swish, maxValue, minValue);
}
inline void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, uint32_t, uint32_t& maxValue,
                                   uint32_t& minValue, bool) {
    ::host_model::element_space(srcShape, ::host_model::temporaries::SwiGLU, maxValue, minValue);
}
inline void GetSwiGLUTmpBufferFactorSize(uint32_t, uint32_t& maxLiveNodeCount,
                                         uint32_t& extraBuffer) {
    maxLiveNodeCount = ::host_model::temporaries::SwiGLU;
    extraBuffer = 0;
}
inline void GetGeluMaxMinTmpSize(const TensorShape& srcShape, uint32_t, uint32_t& maxValue,
                                 uint32_t& minValue) {
    ::host_model::element_space(srcShape, ::host_model::temporaries::Gelu, maxValue, minValue);
}
inline void GetPowerMaxMinTmpSize(const TensorShape& srcShape1, const TensorShape& srcShape2, bool,
                                  uint32_t, bool, uint32_t& maxValue, uint32_t& minValue) {
    bool first = srcShape1.GetShapeSize() > srcShape2.GetShapeSize();
    ::host_model::element_space(first ? srcShape1 : srcShape2, ::host_model::temporaries::Power,
                                maxValue, minValue);
}
inline void GetPowerTmpBufferFactorSize(bool, bool, bool, uint32_t, uint32_t& maxLiveNodeCount,
                                        uint32_t& extraBuffer) {
    maxLiveNodeCount = ::host_model::temporaries::Power;
    extraBuffer = 0;
}
inline void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
inline void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
// The most and the least alone, for functions that return them.
#define HOST_MODEL_SPACE_PARTS(NAME, ARGUMENTS, VALUES)                                            \
    inline uint32_t Get##NAME##MaxTmpSize ARGUMENTS {                                              \
        uint32_t maxValue = 0, minValue = 0;                                                       \
        Get##NAME##MaxMinTmpSize(VALUES, maxValue, minValue);                                      \
        return maxValue;                                                                           \
    }                                                                                              \
    inline uint32_t Get##NAME##MinTmpSize ARGUMENTS {                                              \
        uint32_t maxValue = 0, minValue = 0;                                                       \
        Get##NAME##MaxMinTmpSize(VALUES, maxValue, minValue);                                      \
        return minValue;                                                                           \
    }
#define HOST_MODEL_LIST(...) __VA_ARGS__
HOST_MODEL_SPACE_PARTS(Gelu, (const TensorShape& srcShape, uint32_t typeSize),
                       HOST_MODEL_LIST(srcShape, typeSize))
HOST_MODEL_SPACE_PARTS(DropOut, (const TensorShape& srcShape, uint32_t typeSize, bool reuse),
                       HOST_MODEL_LIST(srcShape, typeSize, reuse))

// Selection by bytes.
#define HOST_MODEL_SELECT_ARGUMENTS                                                                \
    const TensorShape &src0Shape, const TensorShape &src1Shape, uint32_t srcTypeSize,              \
        const TensorShape &maskShape, uint32_t maskTypeSize, bool isReuseMask
#define HOST_MODEL_SELECT_SPACE(NAME)                                                              \
    inline void Get##NAME##MaxMinTmpSize(HOST_MODEL_SELECT_ARGUMENTS, uint32_t& maxValue,          \
                                         uint32_t& minValue) {                                     \
        (void)srcTypeSize, (void)maskShape, (void)maskTypeSize, (void)isReuseMask;                 \
        bool first = src0Shape.GetShapeSize() > src1Shape.GetShapeSize();                          \
        ::host_model::element_space(first ? src0Shape : src1Shape,                                 \
                                    ::host_model::temporaries::Select, maxValue, minValue);        \
    }                                                                                              \
    HOST_MODEL_SPACE_PARTS(NAME, (HOST_MODEL_SELECT_ARGUMENTS),                                    \
                           HOST_MODEL_LIST(src0Shape, src1Shape, srcTypeSize, maskShape,           \
                                           maskTypeSize, isReuseMask))
HOST_MODEL_SELECT_SPACE(Select)
HOST_MODEL_SELECT_SPACE(SelectWithBytesMask)

// Quantisation.
#define HOST_MODEL_QUANT_SPACE(NAME)                                                               \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, uint32_t,                    \
                                         uint32_t& maxValue, uint32_t& minValue) {                 \
        ::host_model::element_space(srcShape, ::host_model::temporaries::NAME, maxValue,           \
                                    minValue);                                                     \
    }                                                                                              \
    inline void Get##NAME##TmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {   \
        maxLiveNodeCount = ::host_model::temporaries::NAME;                                        \
        extraBuf = 0;                                                                              \
    }                                                                                              \
    inline void Get##NAME##TmpBufferFactorSize(const TensorShape&, uint32_t& maxLiveNodeCount,     \
                                               uint32_t& extraBuf) {                               \
        Get##NAME##TmpBufferFactorSize(maxLiveNodeCount, extraBuf);                                \
    }
HOST_MODEL_QUANT_SPACE(AscendQuant)
HOST_MODEL_QUANT_SPACE(AscendDequant)
HOST_MODEL_QUANT_SPACE(Quantize)
HOST_MODEL_QUANT_SPACE(Dequantize)
#define HOST_MODEL_ANTIQUANT_SPACE(NAME)                                                           \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, const TensorShape&, bool,    \
                                         TensorDataType, TensorDataType, uint32_t& maxValue,       \
                                         uint32_t& minValue) {                                     \
        ::host_model::element_space(srcShape, ::host_model::temporaries::NAME, maxValue,           \
                                    minValue);                                                     \
    }
HOST_MODEL_ANTIQUANT_SPACE(AscendAntiQuant)
HOST_MODEL_ANTIQUANT_SPACE(AntiQuantize)
HOST_MODEL_SPACE_PARTS(AscendAntiQuant,
                       (const TensorShape& srcShape, const TensorShape& scaleShape,
                        bool isTranspose, TensorDataType input, TensorDataType output),
                       HOST_MODEL_LIST(srcShape, scaleShape, isTranspose, input, output))

// Sums, reductions, broadcast.
inline void GetSumMaxMinTmpSize(uint32_t n, uint32_t typeSize, bool, uint32_t& maxValue,
                                uint32_t& minValue) {
    maxValue = minValue = ::host_model::as_bytes(::host_model::sum_workspace(n, typeSize));
}
inline void GetMeanMaxMinTmpSize(uint32_t n, uint32_t, uint32_t accTypeSize, bool,
                                 uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = ::host_model::as_bytes(::host_model::sum_workspace(n, accTypeSize));
}
inline void GetMeanTmpBufferFactorSize(uint32_t typeSize, uint32_t& maxLiveNodeCount,
                                       uint32_t& extraBuffer) {
    maxLiveNodeCount = typeSize == 2 ? 2 : 1;
    extraBuffer = ::host_model::as_bytes(::host_model::INSTRUCTION_BYTES);
}
inline void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, uint32_t typeSize, bool, bool,
                                   uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue =
        ::host_model::as_bytes(::host_model::elements_of(srcShape) * typeSize);
}
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape&,
                                      const TensorShape& dstShape, uint32_t, bool,
                                      uint32_t& maxValue, uint32_t& minValue) {
    ::host_model::element_space(dstShape, ::host_model::temporaries::Broadcast, maxValue,
                                minValue);
}
#define HOST_MODEL_REDUCE_SPACE(NAME)                                                              \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, TensorDataType dataType,     \
                                         ReducePattern, bool, bool, uint32_t& maxValue,            \
                                         uint32_t& minValue) {                                     \
        maxValue = minValue = ::host_model::as_bytes(::host_model::pattern_workspace(              \
            ::host_model::rows_of(srcShape), ::host_model::width_of(srcShape),                     \
            static_cast<uint64_t>(ge::GetSizeByDataType(dataType))));                              \
    }
HOST_MODEL_REDUCE_SPACE(ReduceSum)
HOST_MODEL_REDUCE_SPACE(ReduceMean)
HOST_MODEL_REDUCE_SPACE(ReduceMax)
HOST_MODEL_REDUCE_SPACE(ReduceMin)
HOST_MODEL_REDUCE_SPACE(ReduceProd)
HOST_MODEL_REDUCE_SPACE(ReduceAny)
HOST_MODEL_REDUCE_SPACE(ReduceAll)

// Softmax and its variants: `SIZES` declares the sizes of the element types and flags.
#define HOST_MODEL_SOFTMAX_TILING(NAME, TILING, SIZES, SIZE, FLAGS)                                \
    inline uint32_t Get##NAME##MinTmpSize(const TensorShape& srcShape, SIZES FLAGS) {              \
        return ::host_model::as_bytes(                                                             \
            ::host_model::softmax_workspace(::host_model::width_of(srcShape), SIZE));              \
    }                                                                                              \
    inline uint32_t Get##NAME##MaxTmpSize(const TensorShape& srcShape, SIZES FLAGS) {              \
        return ::host_model::as_bytes(                                                             \
            ::host_model::rows_of(srcShape) *                                                      \
            ::host_model::softmax_workspace(::host_model::width_of(srcShape), SIZE));              \
    }                                                                                              \
    inline void NAME##TilingFunc(const TensorShape& srcShape, SIZES,                               \
                                 uint32_t localWorkSpaceSize,                                      \
                                 optiling::SoftMaxTiling& out TILING) {                            \
        ::host_model::fill_softmax(srcShape, SIZE, localWorkSpaceSize, out);                       \
    }
#define HOST_MODEL_COMMA_FLAG , bool
#define HOST_MODEL_COMMA_FLAGS , bool, bool
#define HOST_MODEL_V2_FLAGS , bool, bool = false, bool = false
#define HOST_MODEL_FLAG_OF_TILING , bool = false
HOST_MODEL_SOFTMAX_TILING(SoftMax, , uint32_t dataTypeSize, dataTypeSize, HOST_MODEL_COMMA_FLAG)
HOST_MODEL_SOFTMAX_TILING(SoftMaxFlash, HOST_MODEL_FLAG_OF_TILING, uint32_t dataTypeSize,
                          dataTypeSize, HOST_MODEL_COMMA_FLAGS)
HOST_MODEL_SOFTMAX_TILING(SoftMaxGrad, HOST_MODEL_FLAG_OF_TILING, uint32_t dataTypeSize,
                          dataTypeSize, HOST_MODEL_COMMA_FLAGS)
#define HOST_MODEL_TWO_SIZES uint32_t dataTypeSize1, uint32_t
HOST_MODEL_SOFTMAX_TILING(SoftMaxFlashV2, HOST_MODEL_V2_FLAGS,
                          HOST_MODEL_LIST(HOST_MODEL_TWO_SIZES), dataTypeSize1,
                          HOST_MODEL_V2_FLAGS)
inline void GetSoftMaxFlashV3MaxMinTmpSize(const TensorShape& srcShape, uint32_t dataTypeSize1,
                                           uint32_t dataTypeSize2, uint32_t& maxValue,
                                           uint32_t& minValue, bool isUpdate, bool = false) {
    maxValue = GetSoftMaxFlashV2MaxTmpSize(srcShape, dataTypeSize1, dataTypeSize2, isUpdate);
    minValue = GetSoftMaxFlashV2MinTmpSize(srcShape, dataTypeSize1, dataTypeSize2, isUpdate);
}
inline void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, uint32_t dataTypeSize1,
                                     uint32_t dataTypeSize2, uint32_t localWorkSpaceSize,
                                     optiling::SoftMaxTiling& out, bool isUpdate, bool = false) {
    SoftMaxFlashV2TilingFunc(srcShape, dataTypeSize1, dataTypeSize2, localWorkSpaceSize, out,
                             isUpdate);
}
inline uint32_t GetLogSoftMaxMinTmpSize(const TensorShape& srcShape, uint32_t size, bool reuse) {
    return GetSoftMaxMinTmpSize(srcShape, size, reuse);
}
inline uint32_t GetLogSoftMaxMaxTmpSize(const TensorShape& srcShape, uint32_t size, bool reuse) {
    return GetSoftMaxMaxTmpSize(srcShape, size, reuse);
}
inline void LogSoftMaxTilingFunc(const TensorShape& srcShape, uint32_t, uint32_t,
                                 optiling::LogSoftMaxTiling& out) {
    out = {};
    out.srcM = ::host_model::as_bytes(::host_model::rows_of(srcShape));
    out.srcK = ::host_model::as_bytes(::host_model::width_of(srcShape));
    out.srcSize = out.srcM * out.srcK;
}
// Rows of 256 bytes to 2047 elements in multiples of 64, and a multiple of 8 of them.
inline bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& tiling, uint32_t dataTypeSize = 2) {
    return tiling.srcK < 2048 && tiling.srcK * dataTypeSize >= 256 && tiling.srcK % 64 == 0 &&
           tiling.srcM % 8 == 0 && tiling.splitM % 8 == 0;
}

// Normalisations: least and most space, and the tiling of [B, S, H].
inline bool GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, uint32_t, bool,
                                      uint32_t& maxValue, uint32_t& minValue) {
    return ::host_model::row_space(
        ::host_model::rows_of(srcShape),
        ::host_model::row_workspace(::host_model::temporaries::LayerNorm,
                                    ::host_model::width_of(srcShape)),
        maxValue, minValue);
}
inline bool GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, uint32_t typeSize,
                                      bool isReuseSource, bool, bool, uint32_t& maxValue,
                                      uint32_t& minValue) {
    return GetLayerNormMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline bool GetLayerNormNDTilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, bool,
                                     optiling::LayerNormTiling& tiling) {
    return ::host_model::fill_norm(srcShape, srcShape, tiling);
}
inline bool GetLayerNormNDTillingInfo(const TensorShape& srcShape, uint32_t space,
                                      uint32_t typeSize, bool isReuseSource,
                                      optiling::LayerNormTiling& tiling) {
    return GetLayerNormNDTilingInfo(srcShape, space, typeSize, isReuseSource, tiling);
}
inline bool GetLayerNormNDTilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, bool, bool,
                                     optiling::LayerNormSeparateTiling& tiling) {
    tiling = {};
    tiling.aLength = ::host_model::as_bytes(::host_model::rows_of(srcShape));
    tiling.rLength = ::host_model::as_bytes(::host_model::width_of(srcShape));
    return true;
}
#define HOST_MODEL_NORM_SPACE(NAME)                                                                \
    inline bool Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, uint32_t, bool,              \
                                         uint32_t& maxValue, uint32_t& minValue) {                 \
        return ::host_model::row_space(                                                            \
            ::host_model::rows_of(srcShape),                                                       \
            ::host_model::row_workspace(::host_model::temporaries::NAME,                           \
                                        ::host_model::width_of(srcShape)),                         \
            maxValue, minValue);                                                                   \
    }
HOST_MODEL_NORM_SPACE(LayerNormGrad)
HOST_MODEL_NORM_SPACE(LayerNormGradBeta)
HOST_MODEL_NORM_SPACE(WelfordFinalize)
inline bool GetLayerNormGradNDTilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, bool,
                                         optiling::LayerNormGradTiling& tiling) {
    return ::host_model::fill_norm(srcShape, srcShape, tiling);
}
inline bool GetLayerNormGradBetaNDTilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, bool,
                                             optiling::LayerNormGradBetaTiling& tiling) {
    return ::host_model::fill_norm(srcShape, srcShape, tiling);
}
inline bool GetRmsNormMaxMinTmpSize(const TensorShape& srcShape, uint32_t, uint32_t& maxValue,
                                    uint32_t& minValue, bool = false) {
    return ::host_model::row_space(
        ::host_model::rows_of(srcShape),
        ::host_model::row_workspace(::host_model::temporaries::RmsNorm,
                                    ::host_model::width_of(srcShape)),
        maxValue, minValue);
}
inline bool GetRmsNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                 uint32_t, uint32_t, optiling::RmsNormTiling& tiling,
                                 bool = false) {
    return ::host_model::fill_norm(srcShape, originSrcShape, tiling);
}
inline bool GetDeepNormMaxMinTmpSize(const TensorShape& srcShape, uint32_t, bool, bool,
                                     uint32_t& maxValue, uint32_t& minValue) {
    return ::host_model::row_space(
        ::host_model::rows_of(srcShape),
        ::host_model::row_workspace(::host_model::temporaries::DeepNorm,
                                    ::host_model::width_of(srcShape)),
        maxValue, minValue);
}
inline bool GetDeepNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                  uint32_t, uint32_t, bool, bool,
                                  optiling::DeepNormTiling& tiling) {
    return ::host_model::fill_norm(srcShape, originSrcShape, tiling);
}
inline bool GetBatchNormMaxMinTmpSize(const TensorShape& srcShape, const TensorShape&, uint32_t,
                                      bool, uint32_t& maxValue, uint32_t& minValue, bool = false) {
    uint64_t features =
        ::host_model::elements_of(srcShape) / std::max(::host_model::size_at(srcShape, 0), 1u);
    return ::host_model::row_space(
        ::host_model::size_at(srcShape, 0),
        ::host_model::row_workspace(::host_model::temporaries::BatchNorm, features), maxValue,
        minValue);
}
inline bool GetBatchNormNDTilingInfo(const TensorShape& srcShape,
                                     const TensorShape& originSrcShape, uint32_t, uint32_t, bool,
                                     optiling::BatchNormTiling& tiling, bool = false) {
    tiling = {};
    if (srcShape.GetDimNum() != 3) return false;
    tiling.originalBLength = ::host_model::size_at(originSrcShape, 0);
    tiling.meanVarSize = ::host_model::size_at(srcShape, 1) * ::host_model::size_at(srcShape, 2);
    return true;
}
inline void GetGroupNormMaxMinTmpSize(const TensorShape& srcShape, uint32_t, bool,
                                      uint32_t groupNum, uint32_t& maxValue, uint32_t& minValue) {
    uint64_t groups =
        std::max<uint64_t>(uint64_t(::host_model::size_at(srcShape, 0)) * groupNum, 1);
    ::host_model::row_space(
        groups,
        ::host_model::row_workspace(::host_model::temporaries::GroupNorm,
                                    ::host_model::elements_of(srcShape) / groups),
        maxValue, minValue);
}
inline void GetGroupNormNDTilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, bool,
                                     uint32_t groupNum, optiling::GroupNormTiling& tiling) {
    tiling = {};
    tiling.n = ::host_model::size_at(srcShape, 0);
    tiling.c = ::host_model::size_at(srcShape, 1);
    tiling.hw = ::host_model::size_at(srcShape, 2) * ::host_model::size_at(srcShape, 3);
    tiling.g = groupNum;
}
inline void GetNormalizeMaxMinTmpSize(const TensorShape& srcShape, uint32_t, uint32_t, bool, bool,
                                      bool, uint32_t& maxValue, uint32_t& minValue) {
    ::host_model::row_space(
        ::host_model::rows_of(srcShape),
        ::host_model::row_workspace(::host_model::temporaries::Normalize,
                                    ::host_model::width_of(srcShape)),
        maxValue, minValue);
}
inline void GetWelfordUpdateMaxMinTmpSize(const TensorShape& srcShape, uint32_t, uint32_t, bool,
                                          bool, uint32_t& maxValue, uint32_t& minValue) {
    ::host_model::row_space(
        ::host_model::rows_of(srcShape),
        ::host_model::row_workspace(::host_model::temporaries::WelfordUpdate,
                                    ::host_model::width_of(srcShape)),
        maxValue, minValue);
}

// Sorting: pairs of 8 bytes; on this chip Concat needs no space.
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, uint32_t, uint32_t) {
    return 0;
}
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, uint32_t elemCount,
                               uint32_t) {
    return elemCount * 8;
}
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, int32_t inner,
                                 int32_t outter, bool, bool isInitIndex, TopKMode, bool, uint32_t,
                                 uint32_t& maxValue, uint32_t& minValue) {
    minValue = static_cast<uint32_t>(inner) * (isInitIndex ? 16 : 20);
    maxValue = minValue * static_cast<uint32_t>(std::max(outter, 1));
    return true;
}
template <class Config>
bool GetTopKMaxMinTmpSize(int32_t inner, int32_t outter, int32_t, bool, bool isInitIndex, TopKMode,
                          bool, TensorDataType, const Config&, uint32_t& maxValue,
                          uint32_t& minValue) {
    minValue = static_cast<uint32_t>(inner) * (isInitIndex ? 16 : 20);
    maxValue = minValue * static_cast<uint32_t>(std::max(outter, 1));
    return true;
}
template <class Config>
void GetSortMaxMinTmpSize(const TensorShape& srcShape, TensorDataType valueType,
                          TensorDataType indexType, bool, const Config&, uint32_t& maxValue,
                          uint32_t& minValue) {
    auto pair = static_cast<uint64_t>(ge::GetSizeByDataType(valueType) +
                                      ge::GetSizeByDataType(indexType));
    maxValue = minValue = ::host_model::as_bytes(::host_model::elements_of(srcShape) * pair);
}
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, int32_t inner, int32_t outter,
                           int32_t, uint32_t, bool isInitIndex, TopKMode, bool,
                           optiling::TopkTiling& tiling) {
    tiling = {};
    tiling.tmpLocalSize = static_cast<uint32_t>(inner) * (isInitIndex ? 4 : 5);
    tiling.innerDataSize = static_cast<uint32_t>(inner) * 2;
    tiling.allDataSize = static_cast<uint32_t>(inner) * static_cast<uint32_t>(outter);
    return true;
}

// Layout: padding, its inverse, transposition.
inline void GetPadMaxMinTmpSize(const TensorShape& srcShape, uint32_t typeSize, uint32_t& maxValue,
                                uint32_t& minValue) {
    minValue = ::host_model::as_bytes(::host_model::width_of(srcShape) * typeSize * 32);
    maxValue = std::max(
        minValue, ::host_model::as_bytes(::host_model::elements_of(srcShape) * typeSize * 2));
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&,
                                  const TensorShape& srcShape, uint32_t typeSize,
                                  uint32_t& maxValue, uint32_t& minValue) {
    GetPadMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
inline void PadTilingFunc(const TensorShape& srcShape, const TensorShape& oriSrcShape, uint32_t,
                          uint32_t, optiling::PadTiling& tiling) {
    tiling = {};
    tiling.srcHeight = ::host_model::as_bytes(::host_model::rows_of(srcShape));
    tiling.srcWidth = ::host_model::as_bytes(::host_model::width_of(srcShape));
    tiling.srcOriWidth = ::host_model::as_bytes(::host_model::width_of(oriSrcShape));
}
inline void UnPadTilingFunc(const TensorShape& srcShape, uint32_t, uint32_t,
                            optiling::UnPadTiling& tiling) {
    tiling = {};
    tiling.srcHeight = ::host_model::as_bytes(::host_model::rows_of(srcShape));
    tiling.srcWidth = ::host_model::as_bytes(::host_model::width_of(srcShape));
}
#define HOST_MODEL_TRANSPOSE_TILING(NAME)                                                          \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, uint32_t typeSize, uint32_t, \
                                         uint32_t& maxValue, uint32_t& minValue) {                 \
        maxValue = minValue =                                                                      \
            ::host_model::as_bytes(::host_model::elements_of(srcShape) * typeSize);                \
    }                                                                                              \
    inline void Get##NAME##TilingInfo(const TensorShape& srcShape, uint32_t, uint32_t, uint32_t,   \
                                      optiling::ConfusionTransposeTiling& tiling) {                \
        tiling = {};                                                                               \
        tiling.dims = static_cast<uint32_t>(srcShape.GetDimNum());                                 \
        for (size_t i = 0; i < srcShape.GetDimNum() && i < 8; ++i)                                 \
            tiling.reserved[i] = ::host_model::size_at(srcShape, i);                               \
    }
HOST_MODEL_TRANSPOSE_TILING(Transpose)
HOST_MODEL_TRANSPOSE_TILING(ConfusionTranspose)
inline void GetConfusionTransposeOnlyTilingInfo(const TensorShape& srcShape, uint32_t space,
                                                uint32_t typeSize,
                                                optiling::ConfusionTransposeTiling& tiling) {
    GetTransposeTilingInfo(srcShape, space, typeSize, 7, tiling);
}

} // namespace AscendC
