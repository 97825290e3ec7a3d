"""Defines Adam, AdamWeightDecay and Momentum with one kernel launch per dtype and step.

Each class has the same signature as MindSpore's class of the same name.
"""
# mypy: disable-error-code="no-untyped-def, attr-defined, assignment, has-type, misc"

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, ms, nn, ops
from custom_ops.operators.optimizer_steps import (
    ADAM,
    ADAM_WEIGHT_DECAY,
    MOMENTUM,
    SCALARS,
    optimizer_spec,
)
from tbe_impl.errors import InputError, MissingError

if not HAS_MINDSPORE:
    raise MissingError(
        "the optimizers derive from MindSpore's, and MindSpore is not installed",
        remedy="Install mindspore, or call adam_step and the other steps of "
        "custom_ops.operators.optimizer_steps on arrays",
    )

from custom_ops.core.optimizer_step_call import FastOptimizerStep
from custom_ops.core.primitive import primitive


def _prepare(
    optimizer: Any,
    kind: Any,
    rule: int,
    states: tuple[Any, ...],
    *,
    powers: Any = (),
    **attributes: Any,
) -> None:
    """Builds the primitives of an optimizer, one for each dtype of the parameters.

    Args:
        optimizer: an instance of `kind` or of a subclass.
        kind: the class whose ``construct`` the fast path (`FastOptimizerStep`) replaces.
        rule: the update rule: `ADAM`, `ADAM_WEIGHT_DECAY` or `MOMENTUM`.
        states: lists of state Parameters, such as the first and second moments.
        powers: dict from the name of a Parameter to a factor. Each step multiplies the Parameter by
            this factor.
        attributes: attributes of the primitives.
    """
    parameters, grouped = optimizer.parameters, optimizer.is_group
    flags = tuple(bool(one) for one in optimizer.decay_flags)
    optimizer.states = states[0] if len(states) == 1 else states[0] + states[1]
    # gradient centralization has to follow weight decay, so if a group uses centralization,
    # MindSpore's operators compute both; nn.AdamWeightDecay does not centralize
    centred = grouped and any(optimizer.grad_centralization_flags)
    optimizer.is_centred = centred and rule != ADAM_WEIGHT_DECAY
    optimizer.decays_here = bool(optimizer.exec_weight_decay) and not optimizer.is_centred
    spec = optimizer_spec(
        rule,
        len(parameters),
        len(parameters) if optimizer.is_group_lr else 1,
        (len(parameters) if grouped else 1) if optimizer.decays_here else 0,
    )
    optimizer.steps = tuple(
        primitive(spec, {**attributes, "decayed": flags, "dtype": dtype})
        for dtype in sorted({str(one.dtype).lower() for one in parameters})
    )
    optimizer.own_construct = kind.construct
    optimizer.alone = FastOptimizerStep(optimizer.steps, SCALARS[rule], dict(powers))


_cast_gradient = ops.MultitypeFuncGraph("as_parameter")


@_cast_gradient.register("Tensor", "Tensor")
def _cast_gradient_to_parameter(parameter, gradient):
    return ops.cast(gradient, parameter.dtype)


class _SingleLaunchOptimizer:
    """Base class with the methods that the three optimizers share."""

    def __call__(self, gradients):
        """Runs one step; if possible, calls the kernels directly instead of through MindSpore."""
        done = self.alone(self, gradients)
        return super().__call__(gradients) if done is None else done

    @ms.jit
    def rates_and_decays(self):
        """Returns the learning rates and weight decays of this step."""
        return self.get_lr(), self.get_weight_decay()

    def run_update_kernels(self, lr, decay, numbers, gradients):
        """Runs the primitives of one step.

        Args:
            lr, decay: the learning rates and weight decays of this step.
            numbers: further scalars of the update rule, such as powers of beta.
            gradients: one gradient for each parameter.
        """
        given = lr if self.is_group_lr else (lr,)
        if self.decays_here:
            given = given + (decay if self.is_group else (decay,))
        gradients = self.hyper_map(_cast_gradient, self._parameters, gradients)
        given = given + numbers + gradients + self._parameters + self.states
        done = ()
        for step in self.steps:
            done = done + (step(*given),)  # noqa: RUF005
        return done


class Adam(_SingleLaunchOptimizer, nn.Adam):
    r"""Optimizer like `nn.Adam`, with one kernel launch for all parameters of a dtype.

    .. math::
        m = \beta_1 m + (1 - \beta_1) g, \quad v = \beta_2 v + (1 - \beta_2) g^2, \quad
        w = w - lr \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t} \frac{m}{\sqrt{v} + \epsilon}

    The Nesterov variant replaces the last m by :math:`\beta_1 m + (1 - \beta_1) g`.

    Args:
        params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay,
            loss_scale: as for `nn.Adam`; parameter groups and schedules are allowed.
        use_amsgrad, use_lazy, use_offload: must be False.

    Inputs:
        - **gradients** (tuple[Tensor]) - one Tensor for each parameter; no RowTensors.

    Outputs:
        tuple[Tensor] without meaningful values.

    Raises:
        InputError: an argument selects a variant that this class does not support.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> from custom_ops import Adam
        >>> weights = [ms.Parameter(ms.Tensor([1.0]), name="w")]
        >>> made = Adam(weights, 0.1)((ms.Tensor([1.0]),))
        >>> weights[0].asnumpy().round(3)
        array([0.9], dtype=float32)
    """

    def __init__(
        self,
        params,
        learning_rate=1e-3,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        use_locking=False,
        use_nesterov=False,
        weight_decay=0.0,
        loss_scale=1.0,
        use_amsgrad=False,
        **kwargs,
    ):
        refused = {"use_amsgrad": use_amsgrad, **kwargs}
        for name, value in refused.items():
            if value:
                raise InputError(
                    f"Adam: {name} is not fused",
                    place="custom_ops.Adam",
                    expected="False",
                    got=repr(value),
                    remedy="Use nn.Adam",
                )
        super().__init__(
            params,
            learning_rate,
            beta1,
            beta2,
            eps,
            use_locking,
            use_nesterov,
            weight_decay,
            loss_scale,
            use_amsgrad,
            **kwargs,
        )
        _prepare(
            self,
            Adam,
            ADAM,
            (self.moment1, self.moment2),
            powers={"beta1_power": beta1, "beta2_power": beta2},
            nesterov=use_nesterov,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            scale=1.0 / self.loss_scale,
        )

    @ms.jit
    def construct(self, gradients):
        """Runs one step."""
        if self.is_centred:
            gradients = self.gradients_centralization(self.decay_weight(gradients))
        decay = self.get_weight_decay()
        lr = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        beta1_power = self.beta1_power * self.beta1
        self.beta1_power = beta1_power
        beta2_power = self.beta2_power * self.beta2
        self.beta2_power = beta2_power
        return self.run_update_kernels(lr, decay, (beta1_power, beta2_power), gradients)


class AdamWeightDecay(_SingleLaunchOptimizer, nn.AdamWeightDecay):
    r"""Optimizer like `nn.AdamWeightDecay`, with one kernel launch for all parameters of a dtype.

    .. math::
        m = \beta_1 m + (1 - \beta_1) g, \quad v = \beta_2 v + (1 - \beta_2) g^2, \quad
        w = w - lr \left(\frac{m}{\sqrt{v} + \epsilon} + \lambda w\right)

    Args:
        params, learning_rate, beta1, beta2, eps, weight_decay: as for `nn.AdamWeightDecay`;
            parameter groups and schedules are allowed.

    Inputs:
        - **gradients** (tuple[Tensor]) - one Tensor for each parameter; no RowTensors.

    Outputs:
        tuple[Tensor] without meaningful values.

    Raises:
        InputError: the parameters are sharded across devices.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> from custom_ops import AdamWeightDecay
        >>> weights = [ms.Parameter(ms.Tensor([1.0]), name="w")]
        >>> made = AdamWeightDecay(weights, 0.1, weight_decay=0.5)((ms.Tensor([1.0]),))
        >>> weights[0].asnumpy().round(3)
        array([0.634], dtype=float32)
    """

    def __init__(
        self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0
    ):
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay)
        if self.use_parallel:
            raise InputError(
                "AdamWeightDecay: parameters that are sharded across devices are not fused",
                place="custom_ops.AdamWeightDecay",
                remedy="Use nn.AdamWeightDecay",
            )
        _prepare(
            self,
            AdamWeightDecay,
            ADAM_WEIGHT_DECAY,
            (self.moments1, self.moments2),
            beta1=beta1,
            beta2=beta2,
            eps=eps,
        )

    @ms.jit
    def construct(self, gradients):
        """Runs one step."""
        decay = self.get_weight_decay()
        lr = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        return self.run_update_kernels(lr, decay, (), gradients)


class Momentum(_SingleLaunchOptimizer, nn.Momentum):
    r"""Optimizer like `nn.Momentum`, with one kernel launch for all parameters of a dtype.

    .. math::
        v = u\, v + g, \quad w = w - lr\, v

    The Nesterov variant computes :math:`w = w - lr (g + u\, v)`, whereas `nn.Momentum` on CPU
    ignores ``use_nesterov``.

    Args:
        params, learning_rate, momentum, weight_decay, loss_scale, use_nesterov: as for
            `nn.Momentum`; parameter groups and schedules are allowed.

    Inputs:
        - **gradients** (tuple[Tensor]) - one Tensor for each parameter; no RowTensors.

    Outputs:
        tuple[Tensor] without meaningful values.

    Raises:
        TypeError, ValueError: as in `nn.Momentum`.

    Supported Platforms:
        ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> from custom_ops import Momentum
        >>> weights = [ms.Parameter(ms.Tensor([1.0]), name="w")]
        >>> made = Momentum(weights, 0.5, 0.9)((ms.Tensor([1.0]),))
        >>> weights[0].asnumpy()
        array([0.5], dtype=float32)
    """

    def __init__(
        self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False
    ):
        super().__init__(params, learning_rate, momentum, weight_decay, loss_scale, use_nesterov)
        _prepare(
            self,
            Momentum,
            MOMENTUM,
            (self.moments,),
            nesterov=use_nesterov,
            scale=1.0 / self.loss_scale,
        )

    @ms.jit
    def construct(self, gradients):
        """Runs one step."""
        if self.is_centred:
            gradients = self.gradients_centralization(self.decay_weight(gradients))
        decay = self.get_weight_decay()
        lr = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        return self.run_update_kernels(lr, decay, (self.momentum,), gradients)
