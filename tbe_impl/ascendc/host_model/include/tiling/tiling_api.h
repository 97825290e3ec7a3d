// Tiling of library functions in host code.
#pragma once

#include "../../host/matmul_tiling.h"
