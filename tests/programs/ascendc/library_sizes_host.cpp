// Each value is what a host function of the library returns for x of shape [4, 8, 64], float.
#include "library_sizes_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
#define VALUE(name, ...) { uint32_t most = 0, least = 0; __VA_ARGS__; values[count++] = most, values[count++] = least; }
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint32_t values[SIZES] = {}, count = 0;
    ge::Shape cube({4, 8, 64}), real({4, 8, 60}), matrix({32, 64}), four({2, 4, 8, 32}), scale({2, 64});
    using namespace AscendC;
    VALUE("tanh", GetTanhMaxMinTmpSize(cube, 4, false, most, least))
    VALUE("erfc", GetErfcMaxMinTmpSize(cube, 4, false, most, least))
    VALUE("round", GetRoundMaxMinTmpSize(platform, cube, 4, false, most, least))
    VALUE("log", GetLogMaxMinTmpSize(cube, 4, false, most, least))
    VALUE("power", GetPowerMaxMinTmpSize(cube, scale, false, 4, false, most, least))
    VALUE("gelu", most = GetGeluMaxTmpSize(cube, 4); least = GetGeluMinTmpSize(cube, 4))
    VALUE("swiglu", GetSwiGLUMaxMinTmpSize(cube, 4, most, least, false))
    VALUE("erf_factor", GetErfTmpBufferFactorSize(4, most, least))
    VALUE("where_factor", GetWhereTmpBufferFactorSize(platform, 4, most, least))
    VALUE("quant", GetAscendQuantMaxMinTmpSize(cube, 4, most, least))
    VALUE("antiquant", GetAscendAntiQuantMaxMinTmpSize(cube, scale, false, ge::DT_INT8, ge::DT_FLOAT16, most, least))
    VALUE("select", GetSelectWithBytesMaskMaxMinTmpSize(cube, ge::Shape({1}), 4, cube, 1, false, most, least))
    VALUE("sum", GetSumMaxMinTmpSize(64, 4, false, most, least))
    VALUE("mean", GetMeanMaxMinTmpSize(6400, 2, 4, false, most, least))
    VALUE("cumulative", GetCumSumMaxMinTmpSize(matrix, 4, true, false, most, least))
    VALUE("broadcast", GetBroadCastMaxMinTmpSize(platform, ge::Shape({32, 1}), matrix, 4, false, most, least))
    VALUE("reduce_sum", GetReduceSumMaxMinTmpSize(matrix, ge::DT_FLOAT, ReducePattern::AR, true, false, most, least))
    VALUE("softmax", most = GetSoftMaxMaxTmpSize(matrix, 4, false); least = GetSoftMaxMinTmpSize(matrix, 4, false))
    VALUE("flash_v2", most = GetSoftMaxFlashV2MaxTmpSize(matrix, 4, 4, true); least = GetSoftMaxFlashV2MinTmpSize(matrix, 4, 4, true))
    VALUE("layer_norm", GetLayerNormMaxMinTmpSize(cube, 4, false, most, least))
    VALUE("rms_norm", GetRmsNormMaxMinTmpSize(cube, 4, most, least))
    VALUE("group_norm", GetGroupNormMaxMinTmpSize(four, 4, false, 2, most, least))
    VALUE("batch_norm", GetBatchNormMaxMinTmpSize(cube, cube, 4, false, most, least))
    VALUE("topk", GetTopKMaxMinTmpSize(platform, 64, 32, false, false, TopKMode::TOPK_NORMAL, true, 4, most, least))
    VALUE("sort", most = GetConcatTmpSize(platform, 64, 4); least = GetSortTmpSize(platform, 64, 4))
    VALUE("softmax_tiling", SoftMaxTiling tiling; SoftMaxTilingFunc(matrix, 4, 4096, tiling); most = tiling.srcM; least = tiling.srcK)
    VALUE("softmax_blocks", SoftMaxTiling tiling; SoftMaxTilingFunc(matrix, 4, 2560, tiling); most = tiling.splitM; least = IsBasicBlockInSoftMax(tiling, 4))
    VALUE("grad_tiling", SoftMaxTiling tiling; SoftMaxGradTilingFunc(cube, 4, 4096, tiling); most = tiling.srcM; least = tiling.srcK)
    VALUE("log_tiling", LogSoftMaxTiling tiling; LogSoftMaxTilingFunc(cube, 4, 4096, tiling); most = tiling.srcM; least = tiling.srcK)
    VALUE("norm_tiling", LayerNormTiling tiling; GetLayerNormNDTillingInfo(cube, 4096, 4, false, tiling); most = tiling.bLength * tiling.sLength; least = tiling.hLength)
    VALUE("rms_tiling", RmsNormTiling tiling; GetRmsNormTilingInfo(cube, real, 4096, 4, tiling); most = tiling.hLength; least = tiling.originalHLength)
    VALUE("batch_tiling", BatchNormTiling tiling; GetBatchNormNDTilingInfo(cube, cube, 4096, 4, false, tiling); most = tiling.originalBLength; least = tiling.meanVarSize)
    VALUE("group_tiling", GroupNormTiling tiling; GetGroupNormNDTilingInfo(four, 4096, 4, false, 2, tiling); most = tiling.hw; least = tiling.g)
    VALUE("pad_tiling", PadTiling tiling; PadTilingFunc(matrix, ge::Shape({32, 62}), 4096, 4, tiling); most = tiling.srcHeight; least = tiling.srcOriWidth)
    VALUE("wrong_rank", RmsNormTiling tiling; most = GetRmsNormTilingInfo(matrix, matrix, 4096, 4, tiling); least = tiling.hLength)
    VALUE("reserved", auto own = platform; own.GetCoreMemSize(platform_ascendc::CoreMemType::UB, most); own.ReserveLocalMemory(platform_ascendc::ReservedSize::RESERVED_SIZE_16K); own.GetCoreMemSize(platform_ascendc::CoreMemType::UB, least))
    LibrarySizesTiling tiling;
    tiling.set_values(values);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class LibrarySizes : public OpDef {
public:
    explicit LibrarySizes(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_UINT32}).Format({ge::FORMAT_ND});
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(LibrarySizes);
} // namespace ops
