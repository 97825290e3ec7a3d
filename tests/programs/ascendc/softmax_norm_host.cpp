// LayerNorm(SoftMax(x)): the library's host functions fill both tilings.
#include "softmax_norm_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    const auto& shape = context->GetInputShape(0)->GetStorageShape();
    uint32_t rows = shape.GetDim(0), width = shape.GetDim(1), cores = platform.GetCoreNumAiv();
    while (rows % cores) --cores;
    rows /= cores;
    SoftmaxNormTiling tiling;
    tiling.set_rows(rows);
    tiling.set_width(width);
    ge::Shape matrix({rows, width}), cube({1, rows, width});
    tiling.set_spaceBytes(AscendC::GetSoftMaxMinTmpSize(matrix, sizeof(float), false));
    AscendC::SoftMaxTilingFunc(matrix, sizeof(float), tiling.get_spaceBytes(), tiling.softmax);
    uint32_t most = 0, least = 0;
    AscendC::GetLayerNormMaxMinTmpSize(cube, sizeof(float), false, most, least);
    if (least > most || tiling.get_spaceBytes() % 4) return ge::GRAPH_FAILED;
    AscendC::GetLayerNormNDTilingInfo(cube, least, sizeof(float), false, tiling.norm);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(cores);
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class SoftmaxNorm : public OpDef {
public:
    explicit SoftmaxNorm(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("gamma").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("beta").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SoftmaxNorm);
} // namespace ops
