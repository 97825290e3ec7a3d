// The Matmul object in kernels.
#pragma once

#include "../../kernel_operator.h"
