// Template arguments of a kernel.
#pragma once

#include "../../../../host/tiling_data.h"
