// Its output has an input's name: both are one memory.
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "graph/utils/type_utils.h"
#include "tiling/tiling_api.h"
#include "absent/of_no_use.h"
using namespace AscendC;

namespace optiling {
BEGIN_TILING_DATA_DEF(SubtractInPlaceTiling)
TILING_DATA_FIELD_DEF(uint32_t, rounded);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(SubtractInPlace, SubtractInPlaceTiling)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    if (*context->GetAttrs()->GetBool(0)) {
        std::cerr << context->GetInputShape(9)->GetStorageShape().GetDimNum() << std::endl;
    }
    uint32_t bytes = 0;
    ge::TypeUtils::GetDataTypeLength(context->GetInputDesc(0)->GetDataType(), bytes);
    int64_t length = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    ge::Shape rows({4, 64});
    SubtractInPlaceTiling tiling;
    SoftMaxTilingFunc(rows, bytes, GetSoftMaxMinTmpSize(rows, bytes, false), tiling.softmax);
    if (tiling.softmax.srcM != 4 || tiling.softmax.srcK != 64) return ge::GRAPH_FAILED;
    tiling.set_rounded((length * bytes + 31) / 32 * 32 / bytes);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class SubtractInPlace : public OpDef {
public:
    explicit SubtractInPlace(const char* name) : OpDef(name) {
        this->Input("var").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("step").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("var").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("crash").AttrType(OPTIONAL).Bool(false);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SubtractInPlace);
} // namespace ops
