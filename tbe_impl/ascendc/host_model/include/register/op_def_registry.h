// Definitions of operators in host code.
#pragma once

#include "../../host/registry.h"
