// The chip in host code.
#pragma once

#include "../../../host/platform.h"
