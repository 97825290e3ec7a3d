"""The filter gradient by the operator's own class, derived from the toolkit's."""

from tbe import dsl, tvm
from tbe.common.utils import para_check
from tbe.common.utils.conv_util import CubeChecker, CubeConstantConfig
from tbe.dsl.classifier.conv2d_bp_filter_classifier import Conv2dBpFilterClassifier
from tbe.dsl.classifier.conv_bp_filter_base import ConvBpFilterBase


class FilterSlope(ConvBpFilterBase):
    """Reads, checks and computes."""

    def __init__(self, inputs):
        super().__init__(inputs, CubeConstantConfig.CONV2D_BACKPROP_FILTER_D_OP_NAME)

    def check(self):
        """Checks channels and sizes."""
        checker = CubeChecker(self.op_name)
        checker.check_format("x", self.fm.ori_format, ("NCHW", "NHWC"))
        checker.check_equal(self.fm.fmap_batch, self.grads.grads_batch, "N of x", "N of dy")
        checker.check_equal(self.fm.fmap_c, self.kernel.kernel_c * self.groups, "C of x", "C of y")
        reach = (self.kernel.kernel_h - 1) * self.dilations.dilation_h + 1
        free = self.fm.fmap_h + self.pads.pad_u + self.pads.pad_d - reach
        checker.check_equal(
            free // self.strides.stride_h + 1, self.grads.grads_h, "H that fits", "H of dy"
        )

    def compute(self):
        """The tensors, inputs first."""
        x = tvm.placeholder(self.fm.shape, name="x", dtype=self.fm.dtype)
        dy = tvm.placeholder(self.grads.shape, name="dy", dtype=self.grads.dtype)
        options = {
            "strides": self.strides.strides,
            "padding": self.pads.pads,
            "dilations": self.dilations.get_nchw_shape(),
            "groups": self.groups,
            "res_dtype": self.kernel.dtype,
        }
        slope = dsl.conv2d_backprop_filter(
            input_x=x, out_backprop=dy, filter_sizes=self.kernel.get_nchw_shape(), para_dict=options
        )
        return [x, dy, slope]


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_LIST_INT,
    para_check.REQUIRED_ATTR_LIST_INT,
    para_check.REQUIRED_ATTR_LIST_INT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def filter_slope_static(
    x, dy, y, filter_size, strides, pads, groups, kernel_name="filter_slope_static"
):
    """The gradient of a convolution for its filter."""
    slope = FilterSlope(
        [x, filter_size, dy, y, strides, pads, [1, 1, 1, 1], groups, "NCHW", kernel_name]
    )
    slope.check()
    ((_, _, options),) = Conv2dBpFilterClassifier(
        ([x, dy], [strides], []), slope.op_name, False, {}
    ).classify()
    assert options[0]["options"] == {}
    tensors = slope.compute()
    with tvm.target.cce():
        schedule = dsl.auto_schedule(tensors[-1])
    dsl.build(schedule, {"name": kernel_name, "tensor_list": tensors})
