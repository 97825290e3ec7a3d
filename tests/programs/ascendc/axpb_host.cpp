#include "axpb_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t ub = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
    const gert::StorageShape* shape = context->GetInputShape(0);
    int64_t length = shape->GetStorageShape().GetShapeSize();
    int size = context->GetInputDesc(0)->GetDataType() == ge::DT_FLOAT ? 4 : 2;
    uint32_t cores = platform.GetCoreNumAiv();
    while (cores > 1 && length % (cores * 32 / size)) --cores;
    if (length / cores * size * 2 > static_cast<int64_t>(ub)) return ge::GRAPH_FAILED;
    const float* alpha = context->GetAttrs()->GetFloat(0);
    const auto* bias = context->GetAttrs()->GetListFloat(1);
    AxpbTiling tiling;
    tiling.set_partLength(length / cores);
    tiling.set_alpha(*alpha);
    float values[BIASES] = {bias->GetData()[0], bias->GetData()[1]};
    tiling.bias.set_values(values);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(cores);
    context->SetTilingKey(bias->GetSize() == 2 ? 2 : 1);
    size_t* workspace = context->GetWorkspaceSizes(1);
    workspace[0] = 1024;
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}
} // namespace ge

namespace ops {
class Axpb : public OpDef {
public:
    explicit Axpb(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("alpha").AttrType(OPTIONAL).Float(3.0);
        this->Attr("bias").AttrType(OPTIONAL).ListFloat({0.5, 0.25});
        this->SetInferShape(ge::InferShape);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Axpb);
} // namespace ops
