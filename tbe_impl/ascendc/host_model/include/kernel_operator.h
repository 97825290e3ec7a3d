// Ascend C on this processor: the front door that kernels include.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../model/atomics.h"
#include "../model/cast.h"
#include "../model/compare.h"
#include "../model/copy_layouts.h"
#include "../model/data_copy.h"
#include "../model/elementwise.h"
#include "../model/entry.h"
#include "acl/acl.h"
#include "../model/library_layout.h"
#include "../model/library_logic.h"
#include "../model/library_math.h"
#include "../model/library_norms.h"
#include "../model/library_quant.h"
#include "../model/library_random.h"
#include "../model/library_rows.h"
#include "../model/library_softmax.h"
#include "../model/matmul.h"
#include "../model/gather_mask.h"
#include "../model/gathers.h"
#include "../model/reduce.h"
#include "../model/scaled_casts.h"
#include "../model/sorts.h"
#include "../model/tensor_operators.h"
#include "../model/tiling.h"
#include "../model/utility.h"

// The name of the namespace before Ascend C had its own.
namespace tik2 {
using namespace AscendC;
}
