// Tiling structures that macros declare.
#pragma once

#include "../../host/tiling_data.h"
