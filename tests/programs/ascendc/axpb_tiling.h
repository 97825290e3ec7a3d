#pragma once
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t BIASES = 2;
BEGIN_TILING_DATA_DEF(BiasTiling)
    TILING_DATA_FIELD_DEF_ARR(float, BIASES, values);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(BiasTilingOp, BiasTiling)

BEGIN_TILING_DATA_DEF(AxpbTiling)
    TILING_DATA_FIELD_DEF(uint32_t, partLength);
    TILING_DATA_FIELD_DEF(float, alpha);
    TILING_DATA_FIELD_DEF_STRUCT(BiasTiling, bias);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Axpb, AxpbTiling)
} // namespace optiling
