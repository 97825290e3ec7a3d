"""Fuses convolution, batch normalisation and activation.

In inference the normalisation is folded into the weights of the convolution. Training runs two
kernels: the convolution, then the normalisation with the activation.

This module exceeds 500 lines because all Cells share one base class, and the docstring of one Cell
describes the arguments of all Cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from custom_ops.core.arrays import ArrayOperator
from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import OperatorCell, check_choice
from custom_ops.core.framework import HAS_MINDSPORE
from custom_ops.core.function_spec import FunctionSpec, attribute_parameters
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.weighted_cells import as_array, keep_names
from custom_ops.operators.batch_norm import BatchNorm
from custom_ops.operators.conv2d import (
    CONV2D,
    CONV2D_BIAS,
    CONVOLUTION_TYPES,
    Conv2d,
    convolution_spec,
)
from custom_ops.operators.epilogues import LEAK
from custom_ops.operators.fold_batch_norm import FOLD_BATCH_NORM, FOLD_BATCH_NORM_BIAS, eps_of
from tbe_impl.errors import InputError

CONV2D_BIAS_RELU = convolution_spec("Conv2dBiasReLU", activation="relu")
CONV2D_BIAS_LEAKY_RELU = convolution_spec("Conv2dBiasLeakyReLU", activation="leaky_relu")
CONV2D_BIAS_SILU = convolution_spec("Conv2dBiasSiLU", activation="silu")
SPECS: Mapping[str, OpSpec] = {
    "": CONV2D_BIAS,
    "relu": CONV2D_BIAS_RELU,
    "leaky_relu": CONV2D_BIAS_LEAKY_RELU,
    "silu": CONV2D_BIAS_SILU,
}
"""Dict from the name of an activation to the convolution operator with this activation fused."""


class _FoldedConvolution:
    """A convolution of NumPy arrays; a batch normalisation is folded into its weights.

    `fold_weights` must be called before `forward`.
    """

    def __init__(self, attributes: Mapping[str, Any], eps: float, activation: str, has_bias: bool):
        spec = FOLD_BATCH_NORM_BIAS if has_bias else FOLD_BATCH_NORM
        self.fold, self.conv = ArrayOperator(), ArrayOperator()
        self.fold.spec, self.fold.attributes = spec, {"eps": float(eps)}
        self.conv.spec, self.conv.attributes = SPECS[activation], attributes

    def fold_weights(self, *weights: Any) -> _FoldedConvolution:
        """Folds the normalisation into the weights of the convolution and returns self.

        Args:
            weights: weight, bias (if any), gamma, beta, mean and variance.
        """
        self.weights = self.fold.forward(*weights)
        return self

    def forward(self, x: Any) -> np.ndarray:
        """Convolves x with the folded weights and returns the result of the activation."""
        return self.conv.forward(x, *self.weights)

    def backward(self, grad: Any) -> tuple[np.ndarray, ...]:
        """Returns the gradients of x, weight, bias (if any), gamma and beta."""
        of_x, *of_folded = self.conv.backward(grad)
        return of_x, *self.fold.backward(tuple(of_folded))


class FusedConvBN:
    r"""Convolution, batch normalisation with given statistics, and activation, on NumPy arrays.

    .. math::
        y = f\left(
        \frac{conv(x, w) + b - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot \gamma + \beta
        \right)

    The constructor folds the normalisation into the weights. Each call then runs one convolution.

    Args:
        conv_weight: weights of shape (output channels, input channels per group, height, width).
        conv_bias: bias of shape (output channels), or None.
        bn_weight, bn_bias, bn_mean, bn_var: gamma, beta, mean and variance, each of shape
            (output channels).
        eps: added to the variance. Default: ``1e-5``.
        stride, padding, dilation, groups: as for `custom_ops.onednn.prepare_conv2d`. Default:
            ``1``, ``0``, ``1``, ``1``.
        activation: ``relu``, ``leaky_relu``, ``silu``, or empty for none. Default: ``''``.
        alpha: slope of ``leaky_relu`` for negative inputs. Default: ``0.1``.
        lowering: ``onednn``, ``im2col`` or ``auto``, as for `Conv2d`. Default: ``'auto'``.

    Inputs:
        - **x** (array) - (batch, input channels, height, width), of the dtype of the weights.

    Outputs:
        Array of shape (batch, output channels, output height, output width).

    Raises:
        InputError: an argument is invalid, or the shape or dtype of an array does not match.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import numpy as np
        >>> from custom_ops import FusedConvBN
        >>> one = np.float32([1])
        >>> weight = np.ones((1, 1, 1, 1), np.float32)
        >>> op = FusedConvBN(weight, None, 4 * one, one, 2 * one, 4 * one, 0.0)
        >>> op.forward(np.float32([[[[5]]]]))
        array([[[[7.]]]], dtype=float32)
        >>> op.backward(np.float32([[[[1]]]]))[0]
        array([[[[2.]]]], dtype=float32)
    """

    def __init__(
        self,
        conv_weight: Any,
        conv_bias: Any,
        bn_weight: Any,
        bn_bias: Any,
        bn_mean: Any,
        bn_var: Any,
        eps: float = 1e-5,
        *,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        activation: str = "",
        alpha: float = LEAK,
        lowering: str = "auto",
    ):
        check_choice("FusedConvBN", "activation", activation, SPECS, ", ")
        given = (conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var)
        weights = tuple(np.asarray(one) for one in given if one is not None)
        hashable = [
            tuple(one) if isinstance(one, list) else one for one in (stride, padding, dilation)
        ]
        names = ("stride", "padding", "dilation", "groups", "lowering")
        attributes = dict(zip(names, (*hashable, groups, lowering), strict=True)) | leak_of(
            activation, alpha
        )
        folded = _FoldedConvolution(attributes, eps, activation, conv_bias is not None)
        self._folded = folded.fold_weights(*weights)
        self._was_called = False

    def forward(self, x: Any) -> np.ndarray:
        """Returns the output for x, and saves x for `backward`."""
        made = self._folded.forward(x)
        self._was_called = True
        return made

    __call__ = forward

    def backward(self, grad: Any, x: Any = None) -> tuple[np.ndarray, ...]:
        """Returns the gradients of x, conv_weight, conv_bias (if any), bn_weight and bn_bias.

        Args:
            grad: gradient of y.
            x: the input; by default the input of the last `forward` call.

        Raises:
            InputError: x is None, and `forward` was not called before.
        """
        if x is not None:
            self.forward(x)
        elif not self._was_called:
            raise InputError(
                "FusedConvBN: backward was called before forward",
                place="FusedConvBN",
                expected="x, from a call of forward or as the second argument",
                got="none",
            )
        return self._folded.backward(grad)


def leak_of(activation: str, alpha: float) -> dict[str, float]:
    """Returns ``{"alpha": alpha}`` for ``leaky_relu``, and an empty dict for other activations.

    Raises:
        InputError: alpha is negative. Backward computes the activation's derivative from the
            activation's result. The result determines the derivative only for alpha ≥ 0.
    """
    if alpha < 0:
        raise InputError(
            "ConvBNLeakyReLU: alpha is negative",
            place="ConvBNLeakyReLU",
            expected="0 or more",
            got=repr(alpha),
        )
    return {"alpha": float(alpha)} if activation == "leaky_relu" else {}


class FoldedConvBN(OperatorCell):
    """Convolution, batch normalisation and activation, with all weights as inputs.

    The normalisation with given statistics is folded into the weights of the convolution.

    Args:
        activation: a key of `SPECS`.
        has_bias: whether the convolution has a bias.
        eps: added to the variance.
        alpha: slope of ``leaky_relu`` for negative inputs.
        route: as in `FusedCell`.
        convolution: attributes of the convolution.
    """

    def __init__(
        self,
        activation: str,
        has_bias: bool,
        *,
        eps: float,
        alpha: float,
        route: str,
        **convolution: Any,
    ):
        super().__init__()
        if activation not in SPECS:
            raise InputError(
                "fused_conv_bn: activation is unknown",
                place="fused_conv_bn",
                expected=", ".join(filter(None, SPECS)),
                got=repr(activation),
            )
        attributes = {**convolution, **leak_of(activation, alpha)}
        fold = FOLD_BATCH_NORM_BIAS if has_bias else FOLD_BATCH_NORM
        self.fold = FusedCell(fold, {"eps": eps}, route)
        self.conv = FusedCell(SPECS[activation], attributes, route)
        self.on_arrays = _FoldedConvolution(self.conv.attributes, eps, activation, has_bias)

    def construct(self, x: Any, *weights: Any) -> Any:
        """Folds `weights` (see `_FoldedConvolution.fold_weights`), and computes the convolution."""
        weight, bias = self.fold(*weights)
        return self.conv(x, weight.astype(x.dtype), bias.astype(x.dtype))

    def forward(self, x: Any, *weights: Any) -> Any:
        """Returns the output for the NumPy array x."""
        return self.on_arrays.fold_weights(*weights).forward(x)


class ConvBN(OperatorCell):
    """Base class of a convolution with batch normalisation; arguments as for `ConvBNReLU`.

    Attributes:
        activation: a key of `SPECS`.
        alpha: slope of ``leaky_relu`` for negative inputs.
    """

    activation = ""
    alpha = LEAK

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = None,
        eps: float = 1e-5,
        momentum: float = 0.9,
        lowering: str = "auto",
        route: str = "",
    ):
        conv = Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
            lowering,
            route,
        )
        bn = BatchNorm(
            out_channels,
            eps,
            momentum,
            dtype=dtype,
            activation=self.activation,
            alpha=self.alpha,
            route=route,
        )
        self._assemble(conv, bn, route)

    def _assemble(self, conv: Conv2d, bn: BatchNorm, route: str) -> None:
        super().__init__()
        self.conv, self.bn = conv, bn
        self.has_bias = conv.has_bias
        self.folded = FoldedConvBN(
            self.activation,
            conv.has_bias,
            eps=eps_of(bn),
            alpha=self.alpha,
            route=route,
            **conv.attributes,
        )
        object.__setattr__(self, "spec", SPECS[self.activation])
        object.__setattr__(self, "attributes", self.folded.conv.attributes)

    @classmethod
    def from_cells(
        cls, conv: Any, bn: Any, lowering: str = "auto", route: str = "", alpha: float = LEAK
    ) -> Any:
        """Builds the Cell from an nn.Conv2d and an nn.BatchNorm2d, with the Parameters of both.

        Raises:
            InputError: `conv` and `bn` have different numbers of channels.
        """
        if conv.out_channels != bn.gamma.shape[0]:
            raise InputError(
                f"{cls.__name__}: bn and conv have different numbers of channels",
                place=cls.__name__,
                expected=str(conv.out_channels),
                got=str(bn.gamma.shape[0]),
            )
        bias = conv.bias if conv.has_bias else None
        with keep_names(conv.weight, bias, bn.gamma, bn.beta, bn.moving_mean, bn.moving_variance):
            made = cls.__new__(cls)
            object.__setattr__(made, "alpha", float(alpha))
            own = Conv2d.from_cells(conv, lowering, route)
            norm = BatchNorm.from_cells(bn, cls.activation, alpha, route)
            ConvBN._assemble(made, own, norm, route)
        made.set_train(bn.training)
        return made

    def construct(self, x: Any) -> Any:
        """Returns the output of convolution, normalisation and activation.

        With batch statistics the Cell runs a convolution, then a BatchNorm. Otherwise it runs one
        convolution with folded weights.
        """
        use_batch = self.bn.use_batch_statistics
        if use_batch is None:
            use_batch = self.training
        if use_batch:
            return self.bn(self.conv(x))
        bn = self.bn
        statistics = (bn.gamma, bn.beta, bn.moving_mean, bn.moving_variance)
        if self.has_bias:
            return self.folded(x, self.conv.weight, self.conv.bias, *statistics)
        return self.folded(x, self.conv.weight, *statistics)

    def forward(self, x: Any) -> np.ndarray:
        """Returns the output for x, and saves x for `backward`.

        If batch statistics are used, this method also updates the moving mean and variance.
        """
        use_batch = self.bn.use_batch_statistics
        if self.training if use_batch is None else use_batch:
            made: np.ndarray = self.bn.forward(self.conv.forward(x))
            object.__setattr__(self, "_last", None)
            return made
        bias = (self.conv.bias,) if self.has_bias else ()
        bn = self.bn
        last = self.folded.on_arrays
        object.__setattr__(self, "_last", last)
        weights = (self.conv.weight, *bias, bn.gamma, bn.beta, bn.moving_mean, bn.moving_variance)
        return last.fold_weights(*map(as_array, weights)).forward(x)

    def backward(self, grad: Any, *arrays: Any) -> tuple[np.ndarray, ...]:
        """Returns the gradients of x, weight, bias (if any), gamma and beta."""
        if arrays:
            self.forward(*arrays)
        if not hasattr(self, "_last"):
            return ArrayOperator.backward(self, grad)  # raises: forward was not called
        if self._last is not None:
            return self._last.backward(grad)
        of_y, *of_weights = self.bn.backward(grad)
        return (*self.conv.backward(of_y), *of_weights)

    if not HAS_MINDSPORE:

        def set_train(self, mode: bool = True) -> Any:
            """Sets the training flag of this Cell and of its BatchNorm."""
            self.bn.set_train(mode)
            return super().set_train(mode)


class ConvBNReLU(ConvBN):
    r"""Convolution, batch normalisation and ReLU.

    .. math::
        y = \max\left(
        \frac{conv(x, w) + b - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot \gamma + \beta, 0
        \right)

    In inference the normalisation is folded into the weights, and one convolution writes the
    result. Training uses batch statistics, and one kernel after the convolution computes the
    normalisation and the activation.

    Args:
        in_channels, …, dtype: the arguments of nn.Conv2d, as for `Conv2d`.
        eps, momentum: as for `BatchNorm`. Default: ``1e-5``, ``0.9``.
        lowering (str): as for `Conv2d`. Default: ``'auto'``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (batch, in_channels, height, width); float16, bfloat16, float32 or
          float64.

    Outputs:
        Tensor (batch, out_channels, height, width) of the dtype of x.

    Raises:
        InputError: an argument is invalid, or the size of an input does not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import ConvBNReLU
        >>> net = ConvBNReLU(1, 1, 1, weight_init="ones", eps=0.0)
        >>> net.forward(np.float32([[[[-1, 2]]]]))
        array([[[[0., 2.]]]], dtype=float32)
    """

    activation = "relu"


class ConvBNLeakyReLU(ConvBN):
    r"""Convolution, batch normalisation and leaky ReLU.

    .. math::
        y = \max(z, 0) + \alpha \min(z, 0), \quad
        z = \frac{conv(x, w) + b - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot \gamma + \beta

    Args:
        in_channels, …, route: all arguments of `ConvBNReLU`, with the same meaning.
        alpha (float): slope for negative z, at least 0. Default: ``0.1``, as in Darknet and the
            YOLO nets. The default of nn.LeakyReLU is ``0.2``.

    Inputs:
        - **x** (Tensor) - (batch, in_channels, height, width), as for `ConvBNReLU`.

    Outputs:
        Tensor of shape (batch, out_channels, output height, output width) and the dtype of x.

    Raises:
        InputError: an argument is invalid, or the size of an input does not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import ConvBNLeakyReLU
        >>> net = ConvBNLeakyReLU(1, 1, 1, weight_init="ones", eps=0.0)
        >>> net.forward(np.float32([[[[-1, 2]]]]))
        array([[[[-0.1,  2. ]]]], dtype=float32)
    """

    activation = "leaky_relu"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = None,
        eps: float = 1e-5,
        momentum: float = 0.9,
        lowering: str = "auto",
        route: str = "",
        alpha: float = LEAK,
    ):
        object.__setattr__(self, "alpha", float(alpha))
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
            eps,
            momentum,
            lowering,
            route,
        )


class ConvBNSiLU(ConvBN):
    r"""Convolution, batch normalisation and SiLU.

    .. math::
        y = z \cdot \mathrm{sigmoid}(z), \quad
        z = \frac{conv(x, w) + b - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot \gamma + \beta

    Args:
        in_channels, …, route: all arguments of `ConvBNReLU`, with the same meaning.

    Inputs:
        - **x** (Tensor) - (batch, in_channels, height, width), as for `ConvBNReLU`.

    Outputs:
        Tensor of shape (batch, out_channels, output height, output width) and the dtype of x.

    Raises:
        InputError: an argument is invalid, or the size of an input does not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import ConvBNSiLU
        >>> net = ConvBNSiLU(1, 1, 1, weight_init="ones", eps=0.0)
        >>> net.forward(np.float32([[[[0, 40]]]]))
        array([[[[ 0., 40.]]]], dtype=float32)
    """

    activation = "silu"


_WEIGHTS = ("weight", "bias", "gamma", "beta", "moving_mean", "moving_variance")
_ATTRIBUTES = {**CONV2D.attributes, "eps": 1e-5, "activation": "", "alpha": LEAK}
_CONVOLUTION = ("stride", "padding", "dilation", "groups")


def _function(
    name: str,
    doc: str,
    names: Sequence[str],
    weights: Sequence[str] = _WEIGHTS,
    **fixed: Any,
) -> FunctionSpec:
    """Returns the `FunctionSpec` of a convolution with batch normalisation.

    The parameters of the function are x, the weights named in `weights`, and the attributes named
    in `names`. `fixed` contains attribute values that replace the default values.
    """
    defaults = _ATTRIBUTES | fixed
    rest = {key: value for key, value in defaults.items() if key not in names}
    return FunctionSpec(
        name,
        ("x", *weights),
        partial(FoldedConvBN, has_bias=True, **rest),
        attribute_parameters({one: defaults[one] for one in names}, CONVOLUTION_TYPES),
        optional=(weights[1],),
        build_without=partial(FoldedConvBN, has_bias=False, **rest),
        doc=doc,
    )


FUNCTION_SPECS = (
    _function(
        "fused_conv_bn",
        """Returns activation(z) for a convolution z with batch normalisation.

        z = (conv(x, conv_weight) + conv_bias − bn_mean) / √(bn_var + eps)·bn_weight + bn_bias.

        See `custom_ops.FusedConvBN`.

        Args:
            x: (batch, channels, height, width).
            conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var: tensors, as in
                `custom_ops.FusedConvBN`. conv_bias may be None; bn_mean and bn_var get no gradient.
            eps, stride, padding, dilation, groups, activation, alpha, lowering: as in
                `custom_ops.FusedConvBN`.
            route: as in `conv2d`.

        Returns:
            Tensor (batch, output channels, output height, output width) of the dtype of x.

        Raises:
            InputError: an attribute or the size of an input is invalid.
        """,
        ("eps", *_CONVOLUTION, "activation", "alpha", "lowering"),
        ("conv_weight", "conv_bias", "bn_weight", "bn_bias", "bn_mean", "bn_var"),
    ),
    _function(
        "conv_bn_relu",
        """Returns max(z, 0) for a convolution z with batch normalisation.

        z = (conv(x, weight) + bias − moving_mean) / √(moving_variance + eps)·gamma + beta.

        See `custom_ops.ConvBNReLU`.

        Args:
            x: (batch, channels, height, width).
            weight: (output channels, channels per group, kernel height, kernel width).
            bias: one value per output channel, or None.
            gamma, beta, moving_mean, moving_variance: one value per output channel. The moving
                statistics get no gradient.
            stride, padding, dilation, groups, lowering, route: as in `conv2d`.
            eps: added to the variance.

        Returns:
            Tensor (batch, output channels, output height, output width) of the dtype of x.

        Raises:
            InputError: an attribute or the size of an input is invalid.
        """,
        (*_CONVOLUTION, "eps", "lowering"),
        activation="relu",
    ),
    _function(
        "conv_bn_leaky_relu",
        """Returns max(z, 0) + alpha·min(z, 0); see `custom_ops.ConvBNLeakyReLU`.

        z, the shape and dtype of the result, and all arguments except `alpha` are as in
        `conv_bn_relu`.

        Args:
            alpha: slope for negative z, at least 0.
        """,
        ("alpha", *_CONVOLUTION, "eps", "lowering"),
        activation="leaky_relu",
    ),
    _function(
        "conv_bn_silu",
        """Returns z·σ(z); see `custom_ops.ConvBNSiLU`.

        z, the shape and dtype of the result, and the arguments are as in `conv_bn_relu`.
        """,
        (*_CONVOLUTION, "eps", "lowering"),
        activation="silu",
    ),
)
