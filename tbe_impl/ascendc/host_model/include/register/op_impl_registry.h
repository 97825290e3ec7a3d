// Tiling and shape functions of operators in host code.
#pragma once

#include "../../host/registry.h"
