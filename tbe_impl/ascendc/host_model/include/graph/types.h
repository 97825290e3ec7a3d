// Data types and formats in host code.
#pragma once

#include "../../host/context.h"
