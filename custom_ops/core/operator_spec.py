"""What an operator is, said once: its names, what it computes, and its gradient."""

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
"""Tensors of the DSL by position and attributes by keyword → a tensor, or a tuple of them."""

Made = TypeVar("Made")

INTEGERS = tuple(name for name, dtype in DTYPES.items() if dtype.kind in ("int", "uint"))


@dataclass(frozen=True, eq=False)
class OpSpec:
    """An operator.

    Attributes:
        name: by which `custom_ops.get` finds it.
        inputs, outputs: names in order.
        forward: what it computes; None for an operator that only has a composite.
        backward: the gradients of the inputs in order, None for one that has none. Called with the values of `saves`, then
            one gradient for each output; None here: derived from `forward`.
        saves: the inputs and outputs that `backward` reads.
        attributes: name → default.
        variants: other attributes that it is tried with.
        composite: a function of MindSpore: tensors by position, attributes by keyword.
        infer_shape, infer_dtype: shapes or dtypes of the inputs by position → one for each output; None: from `forward`.
        written: the inputs described (`custom_ops.core.kernel_interface.Described`) and attributes by keyword → the kernel in C that computes
            it (`custom_ops.core.c_kernels.Written`). `forward` is None then.
        backward_written: likewise the gradients, from what `backward` takes.
        procedure: computes it on arrays where no kernel does: the inputs, then the arrays to write to, attributes by keyword;
            `describe`, or `infer_shape`, which gets the attributes too, and `infer_dtype` say what it makes. `forward` is None then.
        describe: of a procedure, the inputs described (`custom_ops.core.kernel_interface.Described`) and attributes by keyword → the outputs.
        gradients_apart: the inputs with a gradient in groups, each computed by an operator of its own in MindSpore, which leaves
            out what nobody reads; `backward_written` takes the names as `wanted` then. Empty: all by one.
        backward_procedure: likewise the gradients, from what `backward` takes; each has the shape and dtype of its input,
            which is among `saves`.
        undifferentiable: inputs that get no gradient: indices, masks.
        hidden: outputs, the last ones, that only `backward` reads: callers do not get them, and they have no gradient.
        hidden_again: the hidden outputs from what else `backward` reads, attributes by keyword: with it the gradient has a
            gradient, which counts what goes through them. None: it has none where there are hidden outputs.
        overwrites: inputs that it writes to; it runs even where nothing reads its outputs.
        bprop: the gradient as a function that MindSpore reads, of inputs, output and its gradient, in place of all others.
        gradient_remedy: what to do where there is no gradient, when that is not to take the composite.
        same_gradient: input → the input whose gradient is its own too, so that it is written once.
        derived_from: what the gradient is derived from, where that is not `forward`: computes the same.
        formula: the outputs in NumPy from float64 (other inputs as they are), attributes by keyword: what is right. Gradients
            are checked by its finite differences.
        samples: shapes of the inputs that it is tried with, one tuple of shapes for each try.
        ranges: input → least and greatest number that it is tried with; others get normal ones.
        integers: input → (dtype, numbers below); what is not in here has the operator's dtype. Of a step for CANN also what
            is always float32 or float16.
        dtypes: that it computes in, those of the inputs that are no integers; how far it may be off in each is
            `tbe_impl.comparing.TOLERANCE`.
        nan: what NaN in an input does: ``propagates``, ``row`` (to its row), ``undefined``.
        tbe: the operator that CANN builds: name of one of `tbe_impl.ops`, or a file (``….py``) whose function has its name;
            its arguments are the inputs, the outputs and the attributes. Empty where there are several in a row, or none.
        tbe_gradient: likewise that of the gradient.
        tbe_steps: where CANN builds several operators in a row instead: the attributes by keyword → `custom_ops.tbe_bridge.steps.TbeSteps`
            that make the outputs from the inputs.
        tbe_gradient_steps: likewise the gradients, from what the operator of the gradient reads.
        place: where it was written, for messages.
        made_by: who fused it, for the ledger of `ms_fusion`.
        made_of: types of the operators that were fused, in order, where others than its author know them.
        doc: what it computes, for people.
        cached: results of functions that are `cached_in_spec`.
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
    written: Callable[..., Any] | None = None
    backward_written: Callable[..., Any] | None = None
    procedure: Callable[..., None] | None = None
    describe: Callable[..., Any] | None = None
    backward_procedure: Callable[..., None] | None = None
    gradients_apart: tuple[tuple[str, ...], ...] = ()
    undifferentiable: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    hidden_again: Compute | None = None
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
    tbe: str = ""
    tbe_gradient: str = ""
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
                "an operator has inputs and outputs, each with a name of its own",
                place=self.place or self.name,
                expected='such as inputs=("x", "y"), outputs=("z",)',
                got=f"inputs={self.inputs}, outputs={self.outputs}",
            )
        unknown = set(self.saves) - set(names)
        if unknown:
            raise InputError(
                "backward reads what is neither input nor output",
                place=self.place or self.name,
                expected=", ".join(names),
                got=", ".join(sorted(unknown)),
            )

    @property
    def has_kernel(self) -> bool:
        """Whether it can be computed without a framework."""
        return any(one is not None for one in (self.forward, self.written, self.procedure))

    @property
    def is_tbe_only(self) -> bool:
        """Whether it is only what CANN builds, as a step of others; here its outputs are described, and not computed."""
        return bool(self.tbe) and not self.has_kernel and self.infer_shape is not None

    @property
    def has_tbe(self) -> bool:
        """Whether CANN builds it: as one TBE operator, or as several in a row."""
        return bool(self.tbe) or self.tbe_steps is not None

    @property
    def has_tbe_gradient(self) -> bool:
        """Likewise its gradient; steps have theirs."""
        return bool(self.tbe_gradient) or (self.tbe_gradient_steps or self.tbe_steps) is not None

    @property
    def visible(self) -> tuple[str, ...]:
        """The outputs that callers get."""
        return tuple(name for name in self.outputs if name not in self.hidden)

    def dtypes_of(self, name: str) -> tuple[str, ...]:
        """The dtypes that an input may have, as far as the operator itself does not ask for more."""
        own = self.integers.get(name, ("", 0))[0]
        if own == "bool":
            return ("bool", *self.dtypes)
        return INTEGERS if own and own not in self.dtypes else self.dtypes

    def __deepcopy__(self, memo: Any) -> OpSpec:
        return self  # there is one of each, and nothing in it changes

    def __reduce__(self) -> tuple[Any, ...]:
        if _named(self.name) is self:
            return _named, (self.name,)
        members = {one.name: _plain(getattr(self, one.name)) for one in fields(self) if one.init}
        return _again, (members,)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """Positions of the inputs that get a gradient, as far as names tell."""
        return tuple(i for i, name in enumerate(self.inputs) if name not in self.undifferentiable)

    def with_defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes.

        Raises:
            InputError: one that the operator does not have, or one without a value.
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


def cached_in_spec(function: Callable[..., Made]) -> Callable[..., Made]:
    """As `functools.cache`, in the spec that is the first argument: results are freed with it."""

    @functools.wraps(function)
    def cached(spec: OpSpec, *arguments: Any) -> Made:
        key = (function, *arguments)
        found = spec.cached.get(key)
        if found is None:
            found = spec.cached.setdefault(key, function(spec, *arguments))
        return found

    return cached


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, MappingProxyType) else value


def _named(name: str) -> OpSpec | None:
    """The operator of this package by that name."""
    operators = import_module("custom_ops.operators")  # which imports this module
    found: OpSpec | None = operators.all_specs().get(name)
    return found


def _again(members: Mapping[str, Any]) -> OpSpec:
    return OpSpec(**members)
