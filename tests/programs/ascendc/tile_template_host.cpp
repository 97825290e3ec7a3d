#include "tile_template_key.h"
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(TileTiling)
    TILING_DATA_FIELD_DEF(uint32_t, length);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(TileTemplate, TileTiling)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    TileTiling tiling;
    uint32_t length = context->GetInputShape(0)->GetOriginShape().GetShapeSize();
    uint32_t T = static_cast<uint32_t>(context->GetInputDesc(0)->GetDataType()), TILES = length > 2048 ? 4 : 1;
    tiling.set_length(length);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(2);
    ASCENDC_TPL_SEL_PARAM(context, T, TILES, *context->GetAttrs()->GetBool(0));
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class TileTemplate : public OpDef {
public:
    explicit TileTemplate(const char* name) : OpDef(name) {
        this->Input("x").DataType({ge::DT_FLOAT, ge::DT_FLOAT16});
        this->Output("y").DataType({ge::DT_FLOAT, ge::DT_FLOAT16});
        this->Attr("twice").Bool(true);
        this->AICore().SetTiling(optiling::TilingFunc);
    }
};
OP_ADD(TileTemplate);
} // namespace ops
