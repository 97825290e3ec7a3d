"""Parses and checks the arguments of convolution operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from tbe_impl.compat.error_manager import CUBE_FUNCTIONS
from tbe_impl.compat.para_check import check_kernel_name
from tbe_impl.compat.shape_util import ceil_div, shape_to_list


def extract_tensor_info(tensor: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Selects the items of a tensor description that a tiling function reads.

    Returns None if the description is None.
    """
    if tensor is None:
        return None
    wanted = ("shape", "ori_shape", "format", "ori_format", "dtype", "range", "const_value", "name")
    return {key: tensor[key] for key in wanted if key in tensor}


def trip_strides(strides: Sequence[int], data_format: str) -> list[int]:
    """Selects the strides of depth, height and width from the strides of all axes.

    If the number of strides differs from the number of axes, all strides are returned.

    >>> trip_strides([1, 2, 3, 1], "NHWC")
    [2, 3]
    """
    if len(strides) != len(data_format):
        return list(strides)
    return [strides[data_format.index(letter)] for letter in "DHW" if letter in data_format]


class Image:
    """A tensor description; the sizes are attributes, such as ``fmap_h`` for the height.

    The attributes of the subclass `Filter` are named ``kernel_cout``, ``kernel_h`` and so on.

    Args:
        given: the description of a tensor.

    Attributes:
        prefix: first part of the attribute names: ``fmap``, ``grads`` or ``kernel``.
        sizes: dict from the second part of an attribute name, such as ``h``, to the letter of the
            axis in the original format.
    """

    prefix = "fmap"
    sizes: ClassVar[Mapping[str, str]] = {"batch": "N", "c": "C", "d": "D", "h": "H", "w": "W"}

    def __init__(self, given: Mapping[str, Any]):
        self.ori_info = given
        self.shape, self.format = list(given["shape"]), given.get("format", "ND")
        self.ori_shape, self.ori_format = list(given["ori_shape"]), given["ori_format"]
        self.dtype = given["dtype"]

    def __getattr__(self, name: str) -> Any:
        letter = (
            self.sizes.get(name.removeprefix(f"{self.prefix}_"))
            if name.startswith(self.prefix)
            else None
        )
        if letter is None or letter not in self.ori_format:
            raise AttributeError(name)
        return self.ori_shape[self.ori_format.index(letter)]

    def get_nchw_shape(self) -> list[int]:
        """Returns the sizes in the order (batch, channels, height, width)."""
        return [self.ori_shape[self.ori_format.index(letter)] for letter in "NCHW"]

    def get_ncdhw_shape(self) -> list[int]:
        """Returns the sizes in the order batch, channels, depth, height, width."""
        return [self.ori_shape[self.ori_format.index(letter)] for letter in "NCDHW"]


class Gradients(Image):
    """The description of a gradient tensor; the sizes are attributes such as ``grads_h``."""

    prefix = "grads"


class Filter(Image):
    """The description of a convolution filter; the sizes are attributes such as ``kernel_h``."""

    prefix = "kernel"
    sizes: ClassVar[Mapping[str, str]] = {"cout": "N", "c": "C", "d": "D", "h": "H", "w": "W"}


class FilterGradientBase:
    """Base class of filter gradient operators; the constructor parses the operator's arguments.

    Args:
        inputs: image, filter size, gradients, filter, strides, pads, dilations, groups, data
            format, kernel name.
        op_name: name of the operator.
        fusion_mode: whether the operator is part of a fused operator.
        options: a value that is stored unchanged; the code of the operator may read it.
    """

    def __init__(
        self, inputs: Sequence[Any], op_name: str, fusion_mode: bool = False, options: Any = None
    ):
        self.inputs_list, self.op_name = list(inputs), op_name
        self.fusion_mode, self.options = fusion_mode, options
        check = getattr(self, "_check_inputs_format", None)
        if check is not None:
            check()
        self._new_or_update_self_mem()

    def _new_or_update_self_mem(self) -> None:
        x, size, gradients, y, strides, pads, dilations, groups, layout, name = self.inputs_list
        self.fm, self.grads, self.kernel = Image(x), Gradients(gradients), Filter(y)
        described = (
            size
            if isinstance(size, dict)
            else {"shape": [len(size)], "dtype": "int32", "const_value": size}
        )
        self.filter_size = SimpleNamespace(
            **described, ori_info=described, get_ncdhw_shape=self.kernel.get_ncdhw_shape
        )
        inner = [letter.lower() for letter in "DHW" if letter in layout]
        steps = trip_strides(strides, layout)
        self.strides = SimpleNamespace(strides=steps, **_letter_attributes("stride", inner, steps))
        sides = ("f", "b", "u", "d", "l", "r")[-2 * len(inner) :]
        self.pads = SimpleNamespace(pads=list(pads), **_letter_attributes("pad", sides, pads))
        letters = [letter for letter in "NCDHW" if letter in layout]
        spread = [dilations[layout.index(letter)] for letter in letters]
        self.dilations = SimpleNamespace(
            get_nchw_shape=lambda: spread,
            get_ncdhw_shape=lambda: spread,
            **_letter_attributes("dilation", map(str.lower, letters), spread),
        )
        self.groups, self.data_format, self.kernel_name = groups, layout, name


def _letter_attributes(stem: str, letters: Iterable[str], values: Sequence[Any]) -> dict[str, Any]:
    return {f"{stem}_{letter}": value for letter, value in zip(letters, values, strict=True)}


class Classifier:
    """Returns the variants of a convolution; there is always one variant, with unchanged inputs."""

    def __init__(self, inputs: tuple[Any, Any, Any], *_: Any, **__: Any):
        self._inputs = inputs

    def classify(self) -> list[tuple[Any, Any, Any]]:
        """Returns a list that contains one variant: a tuple of tensors, attributes and options."""
        tensors, attributes, _ = self._inputs
        return [(tensors, attributes, [{"options": {}}])]


class Checker:
    """Methods that check arguments of an operator; a failed check raises `OperatorError`."""

    def __init__(self, op_name: str):
        self.op_name = op_name

    def _require(self, holds: bool, name: str, expected: Any, got: Any) -> None:
        if not holds:
            CUBE_FUNCTIONS["raise_err_input_params_not_expected"](
                self.op_name, name, str(expected), str(got)
            )

    def check_kernel_name(self, name: str) -> None:
        """Checks that the kernel name is valid."""
        check_kernel_name(name)

    def check_type(self, name: str, value: Any, types: Any) -> None:
        """Checks that `value` is an instance of `types`."""
        self._require(isinstance(value, types), name, types, type(value).__name__)

    def check_dims(self, name: str, shape: Sequence[int], rank: int) -> None:
        """Checks the rank of a shape."""
        self._require(len(shape) == rank, name, f"{rank} numbers", shape)

    def check_shape_dims_positive(
        self, name: str, shape: Sequence[int], allow_zero: bool = False
    ) -> None:
        """Checks that sizes are positive, or at least 0 with `allow_zero`."""
        self._require(
            all(size >= (not allow_zero) for size in shape), name, "positive numbers", shape
        )

    def check_equal(self, value: Any, other: Any, name: str, other_name: str) -> None:
        """Checks that both values are equal."""
        self._require(value == other, name, f"{other_name} ({other})", value)

    def check_multiple(self, value: int, factor: int, name: str, other_name: str) -> None:
        """Checks that the value is a multiple of the factor."""
        self._require(value % factor == 0, name, f"a multiple of {other_name} ({factor})", value)

    def check_format(self, name: str, value: str, known: Sequence[str]) -> None:
        """Checks that the format `value` is one of the formats `known`."""
        self._require(value in known, f"the format of {name}", known, value)

    def check_64bits_limitation(self, name: str, elements: int, dtype: str | None = None) -> None:
        """Checks that the number of elements is below 2^63."""
        self._require(elements < 2**63, name, "fewer than 2^63 elements", elements)


CONSTANTS = SimpleNamespace(
    L1FUSION_INPUT_CTR=2,
    CONV_BACKPROP_SHAPE_DIM=4,
    CONV3D_BACKPROP_SHAPE_DIM=5,
    CONV3D_BACKPROP_PAD_DIM=6,
    STRIDES_SHAPE_DIM=2,
    C0_SIZE=16,
    DYNAMIC_FLAG=-1,
    DYNAMIC_RANK_SHAPE=[-2],
    FROMAT_TO_FIX_DIMS={
        "NCHW": 4,
        "NHWC": 4,
        "HWCN": 4,
        "NC1HWC0": 5,
        "NCDHW": 5,
        "NDHWC": 5,
        "DHWCN": 5,
        "NDC1HWC0": 6,
    },
    CONV2D_BACKPROP_FILTER_OP_NAME="conv2d_backprop_filter",
    CONV2D_BACKPROP_FILTER_D_OP_NAME="conv2d_backprop_filter_d",
    CONV3D_BACKPROP_FILTER_OP_NAME="conv3d_backprop_filter",
    CONV3D_BACKPROP_FILTER_D_OP_NAME="conv3d_backprop_filter_d",
)
VOLUME_CONSTANTS = SimpleNamespace(
    _CONV_BACKPROP_SHAPE_DIM=5,
    _CONV_BACKPROP_PAD_SHAPE_DIM=6,
    _STRIDES_SHAPE_DIM=5,
    _DILATIONS_SHAPE_DIM=5,
    _INPUT_SIZE_DIM=5,
    _PADDING_SAME="SAME",
    _PADDING_VALID="VALID",
)

LOAD_LIMITS = SimpleNamespace(
    **{f"{name}_min": lambda: 1 for name in ("filter", "stride", "dilation")},
    filter_max=lambda: 255,
    stride_max=lambda: 63,
    dilation_max=lambda: 255,
)
"""Limits of the device's image load instruction."""
VARIABLES = SimpleNamespace(get_binary_vars=lambda: (), define_var=lambda *_: None)
"""Functions that define variables of shape-generic kernels; they do nothing here."""

UTILITIES: Mapping[str, Any] = {
    "CubeConstantConfig": CONSTANTS,
    "CubeChecker": Checker,
    "ConvFeatureMap": Image,
    "ConvKernel": Filter,
    "ConvGrads": Gradients,
    "trip_strides": trip_strides,
}
"""Maps a name in ``tbe.common.utils.conv_util`` to its function, class or constants."""
CUBE_UTILITIES: Mapping[str, Any] = {
    "extract_tensor_info": extract_tensor_info,
    "Conv3DConsts": VOLUME_CONSTANTS,
    "Load3DParam": LOAD_LIMITS,
    "shape_to_list": shape_to_list,
}
"""Maps a name in ``tbe.dsl.compute.cube_util`` to its function or constants."""

FORWARD_UTILITIES: Mapping[str, Any] = {
    "BIT_RATIO_MAP": {
        "float32": 4,
        "int32": 4,
        "float16": 2,
        "bfloat16": 2,
        "int8": 1,
        "uint8": 1,
        "int4": 0.5,
    },
    "ceil_div": ceil_div,
    **{
        question: lambda *_, **__: False
        for question in (
            "support_conv_instruction is_v310_soc is_support_fixpipe check_l1_size_invalid "
            "check_splitw_l1_size_invalid check_load3dv2_postk_params_invalid check_range_illegal "
            "get_winograd_conv_flag"
        ).split()
    },
}
"""Maps a name in ``tbe.common.utils.op_util.op_util_conv2d`` to its value.

The functions that query newer instructions return False.
"""
