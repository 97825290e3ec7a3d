"""Defines the spec of an operator: names, computation, gradient, and test data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import InputError

Compute = Callable[..., Any]
"""Function that takes DSL tensors by position and attributes by keyword.

The function returns a tensor, or a tuple of tensors if there are several results.
"""

Result = TypeVar("Result")

INTEGERS = tuple(name for name, dtype in DTYPES.items() if dtype.kind in ("int", "uint"))


@dataclass(frozen=True, eq=False)
class TbeComputation:
    """Computation from which a TBE operator file is generated for CANN.

    `custom_ops.tbe_bridge.operator_files` generates the file.

    Attributes:
        compute: DSL function like `OpSpec.forward`. The keyword arguments of the function become
            the attributes of CANN's operator. None means the function `OpSpec.forward`.
        dtypes: dtypes to register for each input that is not in `OpSpec.integers`.
        other_dtypes: dict from an input to additional dtypes to register for this input.
    """

    compute: Compute | None = None
    dtypes: tuple[str, ...] = ("float16", "float32")
    other_dtypes: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )


FOR_CUBE = TbeComputation(dtypes=("float16",))
"""Registers float16 inputs, for matrix products: Ascend's cube unit multiplies float16."""
FOR_FLOATS = TbeComputation()
FOR_SUMS = TbeComputation(dtypes=("float32",))
"""Registers float32 inputs, for operators that read float32 sums such as matrix products."""


@dataclass(frozen=True, eq=False)
class OpSpec:
    """Spec of an operator.

    Attributes:
        name: name of the operator, by which `custom_ops.get` finds it.
        inputs, outputs: names of the inputs and outputs, in order.
        forward: the computation, from which kernels are traced. None for an operator that has a
            `kernel_builder` or a `procedure` instead, or that has no kernel.
        backward: function that takes the values of `saves`, then one gradient per output. The
            function returns the gradients of the inputs in order, with None for an input without a
            gradient. If `backward` is None, the gradient is derived from `forward`.
        saves: inputs and outputs that `backward` reads.
        attributes: dict from the name of each attribute to its default.
        variants: further attribute sets for tests.
        composite: function that does the same computation with MindSpore's basic operators. The
            function takes tensors by position and attributes by keyword.
        infer_shape: function that takes the input shapes by position, and returns one shape per
            output. If None, the shapes are inferred from `forward`.
        infer_dtype: function that takes the input dtypes by position, and returns one dtype per
            output. If None, the dtypes are inferred from `forward`.
        kernel_builder: function that takes the shapes and dtypes of the inputs
            (`custom_ops.core.kernel_interface.ArraySpec`), and attributes by keyword. The function
            returns the C kernel (`custom_ops.core.c_kernels.CKernel`). If there is a
            `kernel_builder`, `forward` is None.
        backward_kernel_builder: function that builds the kernel of the gradients. The function
            takes the arguments of `backward`.
        procedure: host function of an operator without a kernel. The function takes the inputs,
            then the output arrays, and attributes by keyword. If there is a `procedure`, `forward`
            is None. `describe` computes the shapes and dtypes of the outputs. If `describe` is
            None, `infer_shape` and `infer_dtype` compute them; `infer_shape` then also takes
            attributes.
        describe: function for an operator with a `procedure`. The function takes the shapes and
            dtypes of the inputs (`custom_ops.core.kernel_interface.ArraySpec`), and attributes by
            keyword. The function returns the shapes and dtypes of the outputs.
        gradient_groups: groups of differentiable inputs. In MindSpore each group has its own
            gradient operator, so unused gradients are not computed. `backward_kernel_builder` gets
            the names of the inputs of a group as its argument `wanted`. If there are no groups, one
            gradient operator computes all gradients.
        backward_procedure: host function of the gradients, with the arguments of `backward`. Each
            gradient has the shape and dtype of its input. These inputs have to be among `saves`.
        undifferentiable: inputs without a gradient, such as indices and masks.
        hidden: trailing outputs that only `backward` reads. Callers do not get the hidden outputs.
            The hidden outputs have no gradient.
        recompute_hidden: function that computes the hidden outputs from the other values that
            `backward` reads. The function takes attributes by keyword, and makes the gradient
            operator differentiable, including the path through the hidden outputs. If
            `recompute_hidden` is None and there are hidden outputs, the gradient operator is not
            differentiable.
        overwrites: inputs that the operator writes to. Such an operator runs even if its outputs
            are unused.
        bprop: gradient function in the format that MindSpore parses. The function takes the inputs,
            the output and the gradient of the output. `bprop` takes precedence over all other
            definitions of the gradient.
        gradient_remedy: remedy in the error message for a missing gradient. If empty, the message
            has the usual remedy, such as the composite route.
        same_gradient: dict from an input to another input with the same gradient. This gradient is
            computed only once.
        derived_from: function that computes the same as `forward`, and from which the gradient is
            derived. If None, the gradient is derived from `forward`.
        formula: reference function in NumPy. The function takes the inputs by position, and
            attributes by keyword, and returns the outputs. Floating-point inputs are float64. Tests
            compare the gradients with finite differences of `formula`.
        samples: one tuple of input shapes for each test case.
        ranges: dict from an input to its smallest and largest test value. The test values of other
            inputs are normally distributed.
        integers: dict from an integer input to its dtype and the exclusive upper bound of its test
            values. Other inputs have the operator's dtype. For a step of a TBE sequence, the dict
            also has the inputs that are always float32 or float16.
        dtypes: supported dtypes of the non-integer inputs. `tbe_impl.comparing.TOLERANCE` has the
            tolerance of each dtype.
        nan: effect of NaN in an input: ``propagates``, ``row`` (propagates within its row), or
            ``undefined``.
        tbe: the TBE operator that CANN builds: a `TbeComputation`, the name of a module of
            `tbe_impl.ops`, or the path of a ``.py`` file. ``:function`` may follow the module or
            path. By default, the function has the name of the module or file. The function takes
            inputs, outputs and attributes. If `tbe` is empty and there are no `tbe_steps`, the
            result depends on the origin of the operator. For an operator of this package, the TBE
            operator is generated from `forward`. An operator that a user defined has no TBE
            operator.
        tbe_gradient: the TBE operator of the gradient operator, in the format of `tbe`.
        tbe_steps: function that builds a sequence of TBE operators, which is used instead of `tbe`.
            The function takes attributes by keyword, and returns
            `custom_ops.tbe_bridge.tbe_sequence.TbeSteps`.
        tbe_gradient_steps: function that builds the sequence of TBE operators for the gradient.
        place: file and line of the definition, for messages.
        made_by: origin of the operator, such as ``user``. The ledger of `ms_fusion` (its record of
            fused and unfused operators) shows this origin.
        made_of: types of the operators that this operator replaces, in order; empty if unknown.
        doc: description for users.
        cached: results of the functions decorated with `cache_in_spec`.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ("y",)
    forward: Compute | None = None
    backward: Compute | None = None
    saves: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    variants: tuple[Mapping[str, Any], ...] = ()
    composite: Callable[..., Any] | None = None
    infer_shape: Callable[..., Any] | None = None
    infer_dtype: Callable[..., Any] | None = None
    kernel_builder: Callable[..., Any] | None = None
    backward_kernel_builder: Callable[..., Any] | None = None
    procedure: Callable[..., None] | None = None
    describe: Callable[..., Any] | None = None
    backward_procedure: Callable[..., None] | None = None
    gradient_groups: tuple[tuple[str, ...], ...] = ()
    undifferentiable: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    recompute_hidden: Compute | None = None
    overwrites: frozenset[str] = frozenset()
    bprop: Callable[..., Any] | None = None
    gradient_remedy: str = ""
    same_gradient: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    derived_from: Compute | None = None
    formula: Callable[..., Any] | None = None
    samples: tuple[tuple[tuple[int, ...], ...], ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))
    integers: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32", "float64")
    nan: str = "propagates"
    tbe: str | TbeComputation = ""
    tbe_gradient: str | TbeComputation = ""
    tbe_steps: Callable[..., Any] | None = None
    tbe_gradient_steps: Callable[..., Any] | None = None
    place: str = ""
    made_by: str = "custom_ops"
    made_of: tuple[str, ...] = ()
    doc: str = ""
    cached: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        names = (*self.inputs, *self.outputs)
        twice = next((name for name in names if names.count(name) > 1), None)
        if not self.inputs or not self.outputs or twice is not None:
            raise InputError(
                "an operator needs inputs and outputs with distinct names",
                place=self.place or self.name,
                expected='such as inputs=("x", "y"), outputs=("z",)',
                got=f"inputs={self.inputs}, outputs={self.outputs}",
            )
        unknown = set(self.saves) - set(names)
        if unknown:
            raise InputError(
                "backward reads names that are neither inputs nor outputs",
                place=self.place or self.name,
                expected=", ".join(names),
                got=", ".join(sorted(unknown)),
            )

    @property
    def has_kernel(self) -> bool:
        """Whether the operator has a kernel or a procedure, so that it runs without a framework."""
        return any(one is not None for one in (self.forward, self.kernel_builder, self.procedure))

    @property
    def tbe_computation(self) -> TbeComputation | None:
        """The computation from which the TBE operator is generated.

        The value is None if CANN builds the operator from an existing file or as a sequence. The
        value is also None if CANN cannot build the operator.
        """
        if isinstance(self.tbe, TbeComputation):
            return self.tbe
        is_own = self.made_by == "custom_ops" and self.forward is not None
        return TbeComputation() if is_own and not self.tbe and self.tbe_steps is None else None

    @property
    def has_tbe(self) -> bool:
        """Whether CANN builds the operator, as one TBE operator or as a sequence."""
        return bool(self.tbe) or (self.tbe_steps or self.tbe_computation) is not None

    @property
    def has_tbe_gradient(self) -> bool:
        """Whether CANN builds the gradient.

        If there are `tbe_steps` but no `tbe_gradient_steps`, the gradient is composed of the
        gradients of the operators in the sequence.
        """
        if self.tbe_gradient or self.tbe_gradient_steps or self.tbe_steps:
            return True
        is_traced = self.forward is not None and bool(self.differentiable_inputs)
        return is_traced and self.tbe_computation is not None

    @property
    def visible_outputs(self) -> tuple[str, ...]:
        """The outputs that callers get."""
        return tuple(name for name in self.outputs if name not in self.hidden)

    def dtypes_of(self, name: str) -> tuple[str, ...]:
        """Returns the dtypes that the spec allows for an input; `forward` may allow fewer."""
        own = self.integers.get(name, ("", 0))[0]
        if own == "bool":
            return ("bool", *self.dtypes)
        return INTEGERS if own and own not in self.dtypes else self.dtypes

    def __deepcopy__(self, memo: Any) -> OpSpec:
        return self  # immutable, one instance per operator

    def __reduce__(self) -> tuple[Any, ...]:
        if find_spec(self.name) is self:
            return find_spec, (self.name,)
        members = {
            one.name: _to_picklable(getattr(self, one.name)) for one in fields(self) if one.init
        }
        return _rebuild_spec, (members,)

    @property
    def differentiable_inputs(self) -> tuple[int, ...]:
        """Indices of the inputs that are not `undifferentiable`."""
        return tuple(i for i, name in enumerate(self.inputs) if name not in self.undifferentiable)

    def with_defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns all attributes, defaults included.

        Raises:
            InputError: an attribute is unknown, or has no value.
        """
        unknown = given.keys() - self.attributes.keys()
        if unknown:
            raise InputError(
                f"{self.name} has no argument {min(unknown)}",
                place=self.name,
                expected=", ".join(self.attributes) or "none",
                got=min(unknown),
            )
        found = {**self.attributes, **given}
        missing = [name for name, value in found.items() if value is inspect.Parameter.empty]
        if missing:
            raise InputError(f"{self.name} needs {missing[0]}", place=self.name)
        return found


def cache_in_spec(function: Callable[..., Result]) -> Callable[..., Result]:
    """Caches results like `functools.cache`, but in the spec; results are freed with the spec."""

    @functools.wraps(function)
    def look_up(spec: OpSpec, *arguments: Any) -> Result:
        key = (function, *arguments)
        found = spec.cached.get(key)
        if found is None:
            found = spec.cached.setdefault(key, function(spec, *arguments))
        return found

    return look_up


def _to_picklable(value: Any) -> Any:
    return dict(value) if isinstance(value, MappingProxyType) else value


def find_spec(name: str) -> OpSpec | None:
    """Returns the spec of the operator of this package with this name, or None if there is none."""
    operators = import_module("custom_ops.operators")  # imports this module
    return operators.all_specs().get(name)


def _rebuild_spec(members: Mapping[str, Any]) -> OpSpec:
    return OpSpec(**members)
