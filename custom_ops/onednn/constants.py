"""Defines constants of oneDNN's C interface, which are equal in all versions from 3.1 to 3.13."""

from __future__ import annotations

from typing import Final

DATA_TYPES: Final = {"float16": 1, "bfloat16": 2, "float32": 3}

ANY_LAYOUT: Final = 1
"""Format tag that lets a primitive choose the layout."""

FORWARD_TRAINING: Final = 64
CONVOLUTION_DIRECT: Final = 1
POOLING_MAX: Final = 0x1FF

RELU: Final = 0x20
TANH: Final = 0x21
SIGMOID: Final = 0x29
GELU_TANH: Final = 0x2B
SWISH: Final = 0x2C
GELU_ERF: Final = 0x31
MISH: Final = 0x33
HARD_SWISH: Final = 0x34
BINARY_ADD: Final = 0x1FFF0
BINARY_MUL: Final = 0x1FFF1
SAME_TYPE: Final = 0
"""Dtype argument of a sum post-op, for a summed tensor with the dtype of the result."""

QUERY_NAME: Final = 8
QUERY_ARGUMENT: Final = 255
"""Query for the memory descriptor of a primitive's argument."""

SCRATCHPAD_OF_USER: Final = 1

SOURCE: Final = 1
RESULT: Final = 17
WEIGHTS: Final = 33
BIAS: Final = 41
WORKSPACE: Final = 64
SCRATCHPAD: Final = 80
SOURCE_GRADIENT: Final = 129
RESULT_GRADIENT: Final = 145
WEIGHTS_GRADIENT: Final = 161
BIAS_GRADIENT: Final = 169
FROM, TO = SOURCE, RESULT


def post_operation(number: int) -> int:
    """Returns oneDNN's index for the array argument of the binary post-op at position `number`."""
    return 32768 * (number + 1) | 2


THREAD_POOL_RUNTIME: Final = 8
UNIMPLEMENTED: Final = 3
