"""Document 004, 3.2.1, 3.3 and 6: the primitive, and variants of infer_dtype and infer_shape."""

from mindspore import nn
from mindspore.common import dtype as mstype
from mindspore.ops import PrimitiveWithInfer, prim_attr_register


class Swish(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self, beta=1.0):
        self.init_prim_io_names(inputs=["x"], outputs=["y"])
        self.add_prim_attr("beta", beta)
        from swish_impl import SwishImpl  # noqa: F401

    def infer_shape(self, x_shape):
        return x_shape

    def infer_dtype(self, x_dtype):
        return x_dtype


def variant(**members):
    """Another class of the name Swish, with these methods."""
    return type("Swish", (Swish,), members)


def half(self, x_dtype):
    return mstype.float16


def known_sizes(self, x_shape):
    if any(dim < 0 for dim in x_shape):
        raise ValueError("Dynamic shape not supported")
    return x_shape


class Net(nn.Cell):
    def __init__(self, swish):
        super().__init__()
        self.swish = swish

    def construct(self, x):
        return self.swish(x)
