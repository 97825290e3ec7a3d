// What a tiling function sees.
#pragma once

#include "../../../host/context.h"
