// What a shape function sees.
#pragma once

#include "../../../host/context.h"
