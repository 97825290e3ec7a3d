// The Matmul object.
#pragma once

#include "../../../kernel_operator.h"
