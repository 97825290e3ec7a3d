// Tiling of Matmul objects in host code.
#pragma once

#include "../../../host/matmul_tiling.h"
