#ifndef SOFTMAX_NORM_TILING_H
#define SOFTMAX_NORM_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SoftmaxNormTiling)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint32_t, width);
TILING_DATA_FIELD_DEF(uint32_t, spaceBytes);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
TILING_DATA_FIELD_DEF_STRUCT(LayerNormTiling, norm);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(SoftmaxNorm, SoftmaxNormTiling)
} // namespace optiling
#endif
