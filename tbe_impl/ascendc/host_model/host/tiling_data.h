// Tiling structures that are declared by macros: the same plain layout in host code and in kernels.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef HOST_MODEL_KEEP_MACROS // the structures are looked for in preprocessed text
#define BEGIN_TILING_DATA_DEF(NAME)                                                                  \
    struct NAME {                                                                                    \
        void SaveToBuffer(void* hostModelTo, size_t hostModelCapacity) const {                       \
            std::memcpy(hostModelTo, static_cast<const void*>(this),                                 \
                        sizeof(NAME) < hostModelCapacity ? sizeof(NAME) : hostModelCapacity);        \
        }                                                                                            \
        size_t GetDataSize() const { return sizeof(NAME); }                                          \
        void SetDataPtr(void*) {}                                                                    \
        void CheckAlignAndGenPlaceHolder() {}
#define TILING_DATA_FIELD_DEF(TYPE, NAME)                                                            \
    TYPE NAME{};                                                                                     \
    void set_##NAME(TYPE hostModelValue) { NAME = hostModelValue; }                                  \
    TYPE get_##NAME() const { return NAME; }
#define TILING_DATA_FIELD_DEF_ARR(TYPE, COUNT, NAME)                                                 \
    TYPE NAME[COUNT]{};                                                                              \
    void set_##NAME(const TYPE* hostModelValues) { std::memcpy(NAME, hostModelValues, sizeof(NAME)); } \
    TYPE* get_##NAME() { return NAME; }
#define TILING_DATA_FIELD_DEF_STRUCT(TYPE, NAME)                                                     \
    TYPE NAME{};                                                                                     \
    TYPE& get_##NAME() { return NAME; }
#define END_TILING_DATA_DEF }
// A declaration that ends in its semicolon or not, once or several times in a scope.
#define HOST_MODEL_JOINED(A, B) A##B
#define HOST_MODEL_JOIN(A, B) HOST_MODEL_JOINED(A, B)
#define REGISTER_TILING_DATA_CLASS(OPERATOR, TYPE)                                                   \
    struct HOST_MODEL_JOIN(HostModelRegistered##OPERATOR##TYPE, __LINE__) {};

#endif // HOST_MODEL_KEEP_MACROS

// Template arguments of a kernel: the model takes their values from GET_TPL_TILING_KEY, and needs
// neither the declarations nor the list of combinations.
#define ASCENDC_TPL_ARGS_DECL(...) static_assert(true, "")
#define ASCENDC_TPL_SEL(...) static_assert(true, "")

#ifndef HOST_MODEL_KEEP_MACROS
namespace optiling {

template <class T> class TilingDef {};

BEGIN_TILING_DATA_DEF(TCubeTiling)
    TILING_DATA_FIELD_DEF(int32_t, usedCoreNum)
    TILING_DATA_FIELD_DEF(int32_t, M)
    TILING_DATA_FIELD_DEF(int32_t, N)
    TILING_DATA_FIELD_DEF(int32_t, Ka)
    TILING_DATA_FIELD_DEF(int32_t, Kb)
    TILING_DATA_FIELD_DEF(int32_t, singleCoreM)
    TILING_DATA_FIELD_DEF(int32_t, singleCoreN)
    TILING_DATA_FIELD_DEF(int32_t, singleCoreK)
    TILING_DATA_FIELD_DEF(int32_t, baseM)
    TILING_DATA_FIELD_DEF(int32_t, baseN)
    TILING_DATA_FIELD_DEF(int32_t, baseK)
    TILING_DATA_FIELD_DEF(int32_t, depthA1)
    TILING_DATA_FIELD_DEF(int32_t, depthB1)
    TILING_DATA_FIELD_DEF(int32_t, stepM)
    TILING_DATA_FIELD_DEF(int32_t, stepN)
    TILING_DATA_FIELD_DEF(int32_t, isBias)
    TILING_DATA_FIELD_DEF(int32_t, transLength)
    TILING_DATA_FIELD_DEF(int32_t, iterateOrder)
    TILING_DATA_FIELD_DEF(int32_t, shareMode)
    TILING_DATA_FIELD_DEF(int32_t, shareL1Size)
    TILING_DATA_FIELD_DEF(int32_t, shareL0CSize)
    TILING_DATA_FIELD_DEF(int32_t, shareUbSize)
    TILING_DATA_FIELD_DEF(int32_t, batchM)
    TILING_DATA_FIELD_DEF(int32_t, batchN)
    TILING_DATA_FIELD_DEF(int32_t, singleBatchM)
    TILING_DATA_FIELD_DEF(int32_t, singleBatchN)
    TILING_DATA_FIELD_DEF(int32_t, stepKa)
    TILING_DATA_FIELD_DEF(int32_t, stepKb)
    TILING_DATA_FIELD_DEF(int32_t, depthAL1CacheUB)
    TILING_DATA_FIELD_DEF(int32_t, depthBL1CacheUB)
    TILING_DATA_FIELD_DEF(int32_t, dbL0A)
    TILING_DATA_FIELD_DEF(int32_t, dbL0B)
    TILING_DATA_FIELD_DEF(int32_t, dbL0C)
    TILING_DATA_FIELD_DEF(int32_t, ALayoutInfoB)
    TILING_DATA_FIELD_DEF(int32_t, ALayoutInfoS)
    TILING_DATA_FIELD_DEF(int32_t, ALayoutInfoN)
    TILING_DATA_FIELD_DEF(int32_t, ALayoutInfoG)
    TILING_DATA_FIELD_DEF(int32_t, ALayoutInfoD)
    TILING_DATA_FIELD_DEF(int32_t, BLayoutInfoB)
    TILING_DATA_FIELD_DEF(int32_t, BLayoutInfoS)
    TILING_DATA_FIELD_DEF(int32_t, BLayoutInfoN)
    TILING_DATA_FIELD_DEF(int32_t, BLayoutInfoG)
    TILING_DATA_FIELD_DEF(int32_t, BLayoutInfoD)
    TILING_DATA_FIELD_DEF(int32_t, CLayoutInfoB)
    TILING_DATA_FIELD_DEF(int32_t, CLayoutInfoS1)
    TILING_DATA_FIELD_DEF(int32_t, CLayoutInfoN)
    TILING_DATA_FIELD_DEF(int32_t, CLayoutInfoG)
    TILING_DATA_FIELD_DEF(int32_t, CLayoutInfoS2)
    TILING_DATA_FIELD_DEF(int32_t, BatchNum)
END_TILING_DATA_DEF;

// Tiling structures of library functions. The model's functions take their sizes from the tensors
// and from `shape`; the fields that only steer CANN's own blocking are kept for host code.
#define HOST_MODEL_LIBRARY_TILING(NAME, ...)                                                         \
    struct NAME {                                                                                    \
        uint32_t __VA_ARGS__;                                                                        \
        uint32_t reserved[40] = {};                                                                  \
        void SaveToBuffer(void* data, size_t) const { std::memcpy(data, this, sizeof(*this)); }      \
        size_t GetDataSize() const { return sizeof(*this); }                                         \
    };
HOST_MODEL_LIBRARY_TILING(SoftMaxTiling, srcM = 0, srcK = 0, srcSize = 0, outMaxM = 0, outMaxK = 0,
                          outMaxSize = 0, splitM = 0, splitK = 0, splitSize = 0, reduceM = 0,
                          reduceK = 0, reduceSize = 0, rangeM = 0, tailM = 0, tailSplitSize = 0,
                          tailReduceSize = 0)
HOST_MODEL_LIBRARY_TILING(LogSoftMaxTiling, srcM = 0, srcK = 0, srcSize = 0)
HOST_MODEL_LIBRARY_TILING(LayerNormTiling, bLength = 0, sLength = 0, hLength = 0, originalHLength = 0)
HOST_MODEL_LIBRARY_TILING(LayerNormSeparateTiling, aLength = 0, rLength = 0)
HOST_MODEL_LIBRARY_TILING(LayerNormGradTiling, bLength = 0, sLength = 0, hLength = 0,
                          originalHLength = 0)
HOST_MODEL_LIBRARY_TILING(LayerNormGradBetaTiling, bLength = 0, sLength = 0, hLength = 0,
                          originalHLength = 0)
HOST_MODEL_LIBRARY_TILING(RmsNormTiling, bLength = 0, sLength = 0, hLength = 0, originalHLength = 0)
HOST_MODEL_LIBRARY_TILING(BatchNormTiling, originalBLength = 0, meanVarSize = 0)
HOST_MODEL_LIBRARY_TILING(DeepNormTiling, bLength = 0, sLength = 0, hLength = 0, originalHLength = 0)
HOST_MODEL_LIBRARY_TILING(GroupNormTiling, n = 0, c = 0, hw = 0, g = 0)
HOST_MODEL_LIBRARY_TILING(ConfusionTransposeTiling, dims = 0)
HOST_MODEL_LIBRARY_TILING(PadTiling, srcHeight = 0, srcWidth = 0, srcOriWidth = 0)
HOST_MODEL_LIBRARY_TILING(UnPadTiling, srcHeight = 0, srcWidth = 0)
HOST_MODEL_LIBRARY_TILING(TopkTiling, tmpLocalSize = 0, allDataSize = 0, innerDataSize = 0)

} // namespace optiling
#endif // HOST_MODEL_KEEP_MACROS
