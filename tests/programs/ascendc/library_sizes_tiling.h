#pragma once
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
constexpr uint32_t SIZES = 80;
BEGIN_TILING_DATA_DEF(LibrarySizesTiling)
    TILING_DATA_FIELD_DEF_ARR(uint32_t, SIZES, values);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(LibrarySizes, LibrarySizesTiling)
} // namespace optiling
