"""Kernels of an operator for the shapes and dtypes that it is called with; knows no framework."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from custom_ops.core.dynamic_kernels import (
    LAST_SIZES,
    PATIENCE,
    SHORT_S,
    Bound,
    Sizes,
    Varying,
    agree,
    fitting,
    kinds,
    last_axes,
    pattern_of,
    quickest,
    shrunk,
    sizes_of,
    tried_with,
)
from custom_ops.core.kernel_interface import (
    AnyKernel,
    Described,
    Procedure,
    WholeKernel,
    outputs_of,
    several,
)
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.recent import Recent
from custom_ops.core.shape_inference import check_shapes
from tbe_impl import compat
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.dsl.tensor import Tensor, copy_of, placeholder
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Argument, Kernel

SOC = "cpu"
KEPT = 64
"""So many kernels for sizes of their own an operator keeps, and so many answers about shapes."""
SMALL_SIZES = range(1, 9)
"""Tried where an operator wants a certain one, such as the four of a box."""
SOME_SIZES = (48, 96)
"""Stand for a size that is not known: what comes out otherwise for the other depends on it."""
_building = threading.RLock()
"""Operators are built one after the other: the language keeps its state in one place."""

Group = tuple[tuple[str, int], ...]
"""dtype and number of axes of each input."""
Like = tuple[Group, Sizes]
"""That, and which sizes are 0 and which are 1."""


class Computation:
    """An operator with its attributes, and the kernels that were made of it.

    Each of the first sizes gets a kernel of its own. After `PATIENCE` of them, or when a framework said that sizes will
    change, one kernel is made that reads them at call time (`custom_ops.core.dynamic_kernels`), where the operator's `forward` allows it.

    Attributes:
        spec: of the operator.
        attributes: all of them.
        built: how many kernels were made.
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any]):
        self.spec, self.attributes = spec, spec.with_defaults(attributes)
        # a procedure is a user's code, which may wait for others that build
        self._lock = _building if spec.procedure is None else nullcontext()
        self.built = 0
        self._kernels: Recent[tuple[Described, ...], AnyKernel] = Recent(KEPT)
        self._traced: Recent[tuple[Described, ...], AnyKernel] = Recent(KEPT)
        self._outputs: Recent[tuple[Described, ...], tuple[Described, ...]] = Recent(KEPT)
        self._varying: dict[Like, list[Varying]] = {}
        self._needed: dict[Like, frozenset[int]] = {}
        self._last: dict[Like, set[tuple[int, ...]]] = {}
        self._seen: Recent[tuple[Any, ...], list[Sizes]] = Recent(KEPT)
        self._changing: dict[Group, frozenset[int]] = {}
        self._dtypes: tuple[str, ...] = ()
        self._shapes: tuple[tuple[int, ...], ...] = ()

    def kernel(self, given: Sequence[Described]) -> AnyKernel:
        """The kernel for these inputs.

        Raises:
            InputError: the operator refuses them; names the operator and the argument.
        """
        key = tuple(given)
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                said = self._shapes_said(key)
                varying = self._varying_for(key)
                if varying is None:
                    found, self.built = self._trace(key), self.built + 1
                else:
                    found = Bound(varying, key, self._described(varying, key))
                self._check_shapes(said, outputs_of(found))
                self._kernels[key] = found
            return found

    def fixed(self, given: Sequence[Described]) -> AnyKernel:
        """A kernel for the sizes of these inputs alone.

        Raises:
            InputError: as `kernel`.
        """
        with self._lock:
            return self._trace(tuple(given))

    def describe(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """Shapes and dtypes of what it makes; nothing is compiled."""
        key = tuple(given)
        with self._lock:
            found = self._outputs.get(key)
            if found is None:
                said = self._shapes_said(key)
                known = self._made_varying(key)
                if known is not None:
                    found = self._described(known, key)
                else:
                    found = outputs_of(self._trace(key))
                self._check_shapes(said, found)
                self._outputs[key] = found
            return found

    def _shapes_said(self, given: Sequence[Described]) -> Any:
        """The shapes that the operator infers beside what `forward` makes; None where it infers none.

        Raises:
            InputError: it refuses these.
        """
        spec = self.spec
        if spec.infer_shape is None or spec.forward is None:
            return None
        self._check_number(given)
        return spec.infer_shape(*(one.shape for one in given), **self.attributes)

    def _check_shapes(self, said: Any, made: Sequence[Described]) -> None:
        """Raises where `forward` makes other shapes than were inferred."""
        if said is not None:
            shapes = tuple(one.shape for one in made)
            check_shapes(self.spec.name, self.spec.outputs, said, shapes, self.spec.place)

    def describe_unknown(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """As `describe`, for sizes that may be -1: what depends on them is -1 too."""
        self._dtypes = tuple(one.dtype for one in given)
        self._shapes = tuple(one.shape for one in given)
        places = frozenset(i for i, size in enumerate(sizes_of(given)) if size < 0)
        if not places:
            return self.describe(given)
        group = _group(given)
        self._changing[group] = self._changing.get(group, frozenset()) | places
        try:
            tried = [self._describe_with(size, given) for size in SOME_SIZES]
        except InputError:
            return self._ranks(given)
        return tuple(
            replace(
                first,
                shape=tuple(
                    a if a == b else -1 for a, b in zip(first.shape, second.shape, strict=True)
                ),
            )
            for first, second in zip(*tried, strict=True)
        )

    def _describe_with(self, size: int, given: Sequence[Described]) -> tuple[Described, ...]:
        return self.describe([replace(one, shape=_with(one.shape, size)) for one in given])

    def _ranks(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """Outputs of unknown sizes, where unknown sizes of inputs have to fit known ones: some of these fit."""
        known = {size for size in sizes_of(given) if size > 0}
        for size in (*sorted(known, reverse=True), *SMALL_SIZES):
            with suppress(InputError):
                made = self._describe_with(size, given)
                return tuple(replace(one, shape=(-1,) * len(one.shape)) for one in made)
        return self._describe_with(SOME_SIZES[0], given)

    def shapes(self, given: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """Shapes of what it makes from these shapes, whatever the dtypes; MindSpore may ask before it says any."""
        whole, infer = self.spec.integers, self.spec.infer_shape
        dtypes = self._dtypes or tuple(
            whole[name][0] if name in whole else "float32" for name in self.spec.inputs
        )
        described = [Described(shape, dtype) for shape, dtype in zip(given, dtypes, strict=True)]
        try:
            return tuple(one.shape for one in self.describe_unknown(described))
        except InputError:
            # a group of an ONNX model computes in its own dtypes alone
            if infer is None:
                raise
            return tuple(map(tuple, infer(*given, **self.attributes)))

    def dtypes(self, given: Sequence[str]) -> tuple[str, ...]:
        """dtypes of what it makes from these dtypes, for shapes that were described before."""
        self._dtypes = tuple(given)
        shapes = self._shapes or ((2, 2),) * len(given)
        described = [Described(shape, dtype) for shape, dtype in zip(shapes, given, strict=True)]
        return tuple(one.dtype for one in self.describe_unknown(described))

    def _made_varying(self, given: Sequence[Described]) -> Varying | None:
        """A kernel of unknown sizes that was made before and takes these."""
        known = self._varying.get(_like(given), ())
        sizes = sizes_of(given)
        return next((one for one in known if fitting(one.pattern, sizes) is not None), None)

    def _varying_for(self, given: tuple[Described, ...]) -> Varying | None:
        """A kernel of unknown sizes for these; None where they get one of their own."""
        known = self._made_varying(given)
        if known is not None or self.spec.forward is None:
            return known
        sizes, like = sizes_of(given), _like(given)
        needed = self._needed_of(given)
        place = (*like, tuple(sizes[at] for at in sorted(needed)))
        seen = self._seen.get(place)
        if seen is None:
            seen = self._seen[place] = []
        if sizes not in seen:
            seen.append(sizes)
        made = self._varying.setdefault(like, [])
        changing = self._changing.get(like[0], frozenset())
        if len(seen) <= PATIENCE and not changing:
            return None
        changed = changing | {at for one in made for at, size in enumerate(one.pattern) if size < 0}
        pattern = pattern_of(seen, changed - needed)
        if min(pattern, default=0) >= 0:
            return None
        seen.clear()
        found = self._trace_varying(given, pattern)
        if found is None:
            # without the size of the last of them nothing can be done: those of the same last size may have one kernel
            last = max(at for at, size in enumerate(pattern) if size < 0)
            self._needed[like] = needed | {
                at for at, size in enumerate(pattern) if size == pattern[last]
            }
            return self._varying_for(given)
        made.append(found)
        return found

    def _needed_of(self, given: Sequence[Described]) -> frozenset[int]:
        """Places of sizes that stay known: at first those of last axes, which make kernels quicker, until many came."""
        sizes, like = sizes_of(given), _like(given)
        found = self._needed.get(like)
        if found is None:
            found = last_axes(given) - self._changing.get(like[0], frozenset())
            known = self._last.setdefault(like, set())
            known.add(tuple(sizes[at] for at in sorted(found)))
            if len(known) > LAST_SIZES:
                found = self._needed[like] = frozenset()
        return found

    def _trace_varying(self, given: tuple[Described, ...], pattern: Sizes) -> Varying | None:
        """None where the operator has to know its sizes."""
        try:
            found = self._trace_pattern(given, pattern)
            if not self._is_right(given, pattern) or not self._is_quick(found, given):
                return None
        except FusionError:
            return None
        self.built += 1
        return found

    def _trace_pattern(self, given: Sequence[Described], pattern: Sizes) -> Varying:
        variables = tuple(Var(f"n{number}", "int64") for number in range(-min(pattern)))
        left = iter(pattern)
        shapes = [[_size(next(left), variables) for _ in one.shape] for one in given]
        return Varying(pattern, variables, self._trace_shapes(given, shapes))

    def _is_right(self, given: Sequence[Described], pattern: Sizes) -> bool:
        """Whether it computes what kernels for known sizes do, tried on small arrays with small sizes for the known ones
        too where they are large."""
        for known in (pattern, shrunk(pattern)):
            sizes = tuple(size if size >= 0 else 2 - size for size in known)
            arrays = tried_with(given, sizes)
            if arrays is None:
                continue
            try:
                one = self._trace_shapes(given, [array.shape for array in arrays])
                other = self._trace_pattern(given, known).kernel
            except FusionError:
                continue
            return agree(one, other, arrays)
        return False

    def _is_quick(self, varying: Varying, given: Sequence[Described]) -> bool:
        """Whether it takes no longer than twice a kernel for known sizes; it is compiled, too."""
        sizes = sizes_of(given)
        arrays = tried_with(given, sizes) or tried_with(
            given,
            [
                size if known >= 0 else min(size, 16)
                for size, known in zip(sizes, varying.pattern, strict=True)
            ],
        )
        if varying.program is None or arrays is None:
            return True
        fixed = self._trace_shapes(given, [array.shape for array in arrays])
        return quickest(varying.kernel, arrays) <= 2 * quickest(fixed, arrays) + SHORT_S

    def _described(self, varying: Varying, given: Sequence[Described]) -> tuple[Described, ...]:
        shapes = varying.outputs(sizes_of(given))
        dtypes = [item.tensor.dtype for item in varying.kernel.outputs]
        return tuple(map(Described, shapes, dtypes))

    def _trace(self, given: tuple[Described, ...]) -> AnyKernel:
        """The kernel for these sizes; it is compiled when it is first called."""
        found = self._traced.get(given)
        if found is None:
            found = self._traced[given] = self._build(given)
        return found

    def _build(self, given: tuple[Described, ...]) -> AnyKernel:
        spec = self.spec
        self._check_number(given)
        self._check_dtypes(given)
        if spec.procedure is not None or spec.is_tbe_only:
            return Procedure.of(spec, self.attributes, given)
        if spec.written is not None:
            whole: WholeKernel = spec.written(*given, **self.attributes)
            return whole
        if spec.forward is None:
            raise InputError(
                f"{spec.name} has no kernel of its own",
                place=spec.place or spec.name,
                remedy='Use route="composite"',
            )
        return self._trace_shapes(given, [one.shape for one in given])

    def _trace_shapes(self, given: Sequence[Described], shapes: Sequence[Any]) -> Kernel:
        """The kernel that `forward` describes."""
        spec = self.spec
        assert spec.forward is not None
        names = list(zip(spec.inputs, given, strict=True))
        with compat.installed(soc=SOC):
            tensors = [
                placeholder(shape, dtype_of(one.dtype).name, name)
                for (name, one), shape in zip(names, shapes, strict=True)
            ]
            try:
                made = copied(tensors, several(spec.forward(*tensors, **self.attributes)))
            except FusionError as error:
                if not isinstance(error, InputError) or spec.name in error.what:
                    raise
                # what operators share names one of them
                other = f"{error.place}: "
                is_named = error.what.startswith(other)
                raise InputError(
                    f"{spec.name}: {error.what.removeprefix(other)}",
                    place=spec.name if is_named else error.place or spec.place or None,
                    expected=error.expected,
                    got=error.got or ", ".join(f"{name} {one}" for name, one in names),
                    remedy=error.remedy,
                ) from error
            except Exception as error:
                raise InputError(
                    f"{spec.name} cannot compute this: {error}",
                    place=spec.place or spec.name,
                    got=", ".join(f"{name} {one}" for name, one in names),
                ) from error
        if len(made) != len(spec.outputs):
            raise InputError(
                f"{spec.name} makes another number of tensors",
                place=spec.place or spec.name,
                expected=f"{len(spec.outputs)} ({', '.join(spec.outputs)})",
                got=str(len(made)),
            )
        inputs = tuple(map(_argument, tensors, spec.inputs))
        return Kernel(spec.name, SOC, inputs, tuple(map(_argument, made, spec.outputs)))

    def _check_number(self, given: Sequence[Described]) -> None:
        names = self.spec.inputs
        if len(given) != len(names):
            raise InputError(
                f"{self.spec.name} takes another number of arrays",
                place=self.spec.name,
                expected=f"{len(names)} ({', '.join(names)})",
                got=str(len(given)),
            )

    def _check_dtypes(self, given: Sequence[Described]) -> None:
        for name, one in zip(self.spec.inputs, given, strict=True):
            taken = self.spec.dtypes_of(name)
            if one.dtype not in taken:
                raise InputError(
                    f"{self.spec.name}: {name} has another dtype",
                    place=self.spec.place or self.spec.name,
                    expected=", ".join(taken),
                    got=one.dtype,
                )

    def __call__(self, *arrays: Any) -> Any:
        """The outputs for NumPy arrays: an array, or a tuple."""
        given = [np.asarray(array) for array in arrays]
        self._check_number([Described.of(array) for array in given])
        return self.kernel([Described.of(array) for array in given])(*given)


def _size(number: int, variables: Sequence[Var]) -> Expr | int:
    return number if number >= 0 else variables[-1 - number]


def copied(inputs: Sequence[Tensor], made: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs; what is an input, or an output before, is copied by the kernel itself."""
    found: list[Tensor] = []
    for tensor in made:
        is_met = any(tensor is other for other in (*inputs, *found))
        found.append(copy_of(tensor) if is_met else tensor)
    return tuple(found)


def _group(given: Sequence[Described]) -> Group:
    return tuple((one.dtype, len(one.shape)) for one in given)


def _like(given: Sequence[Described]) -> Like:
    return _group(given), kinds(sizes_of(given))


def _with(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(number if size < 0 else size for size in shape)


def _argument(tensor: Tensor, name: str) -> Argument:
    shape = tuple(int(size.value) if isinstance(size, Const) else -1 for size in tensor.shape)
    return Argument(tensor, shape, name)
