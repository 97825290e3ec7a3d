// Tiling structures of library functions.
#pragma once

#include "../../host/tiling_data.h"
