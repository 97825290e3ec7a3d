#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ProductTiling)
    TILING_DATA_FIELD_DEF(uint32_t, whole);
    TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Product, ProductTiling)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    auto a = context->GetInputTensor(0)->GetOriginShape();
    auto b = context->GetInputTensor(1)->GetOriginShape();
    matmul_tiling::MultiCoreMatmulTiling cube(platform);
    cube.SetDim(6);
    cube.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
    cube.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
    cube.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    cube.SetBiasType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    cube.SetShape(a.GetDim(0), b.GetDim(1), a.GetDim(1));
    cube.SetOrgShape(a.GetDim(0), b.GetDim(1), a.GetDim(1));
    cube.SetBias(true);
    cube.SetBufferSpace(-1, -1, -1);
    ProductTiling tiling;
    if (cube.GetTiling(tiling.cube) == -1) return ge::GRAPH_FAILED;
    tiling.set_whole(*context->GetAttrs()->GetBool(0));
    context->SetBlockDim(3);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class Product : public OpDef {
public:
    explicit Product(const char* name) : OpDef(name) {
        this->Input("a").DataType({ge::DT_FLOAT16});
        this->Input("b").DataType({ge::DT_FLOAT16});
        this->Input("bias").DataType({ge::DT_FLOAT});
        this->Output("c").DataType({ge::DT_FLOAT});
        this->Attr("whole").Bool(true);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(Product);
} // namespace ops
