// Tiling of library functions in host code.
#pragma once

#include "../../host/library_tiling.h"
#include "../../host/matmul_tiling.h"
