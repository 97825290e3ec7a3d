"""Builds and caches an operator's kernels by shape and dtype, without a framework."""

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
    BoundKernel,
    DynamicKernel,
    Sizes,
    classify_sizes,
    is_equivalent,
    last_axes,
    match_pattern,
    pattern_of,
    random_arrays,
    shrink_pattern,
    sizes_of,
    time_fastest_call,
)
from custom_ops.core.kernel_interface import (
    AnyKernel,
    ArraySpec,
    Procedure,
    outputs_of,
    to_tuple,
)
from custom_ops.core.lru_cache import LruCache
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.shape_inference import check_shapes
from tbe_impl import compat
from tbe_impl.arguments import Argument
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.dsl.tensor import Tensor, copy_tensor, placeholder
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel

SOC = "cpu"
KERNEL_CACHE_SIZE = 64
"""Maximum number of entries of each LRU cache of an operator (kernels, output shapes, dtypes)."""
SMALL_SIZES = range(1, 9)
"""Values that are tried for an unknown input size if the operator rejects `PROBE_SIZES`.

Some operators require a small size, such as 4 for the coordinates of a box.
"""
PROBE_SIZES = (48, 96)
"""The two values that are tried for an unknown input size, one after the other.

If an output size differs between the two values, the output size depends on the unknown size.
"""
_build_lock = threading.RLock()
"""Serializes the builds of kernels, because the DSL has global state."""

Group = tuple[tuple[str, int], ...]
"""Dtype and rank of each input."""
ShapeClass = tuple[Group, Sizes]
"""Dtype and rank of each input, and for each size whether it is 0, 1 or larger."""


class Computation:
    """Builds the kernels of an operator with fixed attributes, and caches them.

    A static kernel is compiled for fixed sizes; a dynamic kernel reads the sizes at call time
    (`custom_ops.core.dynamic_kernels`). Each of the first `PATIENCE` different input sizes gets a
    static kernel. Further sizes, and sizes that a framework declares as dynamic, share a dynamic
    kernel. An operator whose `forward` cannot be traced with symbolic sizes always gets static
    kernels.

    Attributes:
        spec: the `OpSpec` of the operator.
        attributes: all attributes, defaults included.
        built: number of kernels built so far.
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any]):
        self.spec, self.attributes = spec, spec.with_defaults(attributes)
        # a procedure runs user code, which may wait for another thread's build
        self._lock = _build_lock if spec.procedure is None else nullcontext()
        self.built = 0
        self._kernels: LruCache[tuple[ArraySpec, ...], AnyKernel] = LruCache(KERNEL_CACHE_SIZE)
        self._traced: LruCache[tuple[ArraySpec, ...], AnyKernel] = LruCache(KERNEL_CACHE_SIZE)
        self._outputs: LruCache[tuple[ArraySpec, ...], tuple[ArraySpec, ...]] = LruCache(
            KERNEL_CACHE_SIZE
        )
        self._varying: dict[ShapeClass, list[DynamicKernel]] = {}
        self._needed: dict[ShapeClass, frozenset[int]] = {}
        self._last: dict[ShapeClass, set[tuple[int, ...]]] = {}
        self._seen: LruCache[tuple[Any, ...], list[Sizes]] = LruCache(KERNEL_CACHE_SIZE)
        self._changing: dict[Group, frozenset[int]] = {}
        self._dtypes: tuple[str, ...] = ()
        self._shapes: tuple[tuple[int, ...], ...] = ()

    def kernel(self, given: Sequence[ArraySpec]) -> AnyKernel:
        """Returns the kernel for inputs of these shapes and dtypes.

        Raises:
            InputError: the operator rejects the inputs; the message names operator and argument.
        """
        key = tuple(given)
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                said = self._call_infer_shape(key)
                varying = self._dynamic_kernel_for(key)
                if varying is None:
                    found, self.built = self._trace(key), self.built + 1
                else:
                    found = BoundKernel(varying, key, self._describe_outputs(varying, key))
                self._check_shapes(said, outputs_of(found))
                self._kernels[key] = found
            return found

    def build_for_fixed_sizes(self, given: Sequence[ArraySpec]) -> AnyKernel:
        """Builds a static kernel for the sizes of these inputs.

        Raises:
            InputError: as in `kernel`.
        """
        with self._lock:
            return self._trace(tuple(given))

    def describe(self, given: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
        """Returns shapes and dtypes of the outputs, without compiling a kernel."""
        key = tuple(given)
        with self._lock:
            found = self._outputs.get(key)
            if found is None:
                said = self._call_infer_shape(key)
                known = self._find_dynamic_kernel(key)
                if known is not None:
                    found = self._describe_outputs(known, key)
                else:
                    found = outputs_of(self._trace(key))
                self._check_shapes(said, found)
                self._outputs[key] = found
            return found

    def _call_infer_shape(self, given: Sequence[ArraySpec]) -> Any:
        """Calls ``infer_shape``, or returns None if the spec lacks ``infer_shape`` or ``forward``.

        Raises:
            InputError: ``infer_shape`` rejects the inputs.
        """
        spec = self.spec
        if spec.infer_shape is None or spec.forward is None:
            return None
        self._check_number(given)
        return spec.infer_shape(*(one.shape for one in given), **self.attributes)

    def _check_shapes(self, said: Any, made: Sequence[ArraySpec]) -> None:
        """Raises `InputError` if the shapes of `made` differ from `said`, unless `said` is None.

        `made` are the results of `forward`; `said` are the shapes from ``infer_shape``.
        """
        if said is not None:
            shapes = tuple(one.shape for one in made)
            check_shapes(self.spec.name, self.spec.outputs, said, shapes, self.spec.place)

    def describe_dynamic(self, given: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
        """Returns shapes and dtypes of the outputs for inputs with unknown sizes.

        An unknown input size is given as −1. An output size that depends on an unknown input size
        is returned as −1.
        """
        self._dtypes = tuple(one.dtype for one in given)
        self._shapes = tuple(one.shape for one in given)
        places = frozenset(i for i, size in enumerate(sizes_of(given)) if size < 0)
        if not places:
            return self.describe(given)
        group = _group(given)
        self._changing[group] = self._changing.get(group, frozenset()) | places
        try:
            tried = [self._describe_with(size, given) for size in PROBE_SIZES]
        except InputError:
            return self._describe_ranks(given)
        return tuple(
            replace(
                first,
                shape=tuple(
                    a if a == b else -1 for a, b in zip(first.shape, second.shape, strict=True)
                ),
            )
            for first, second in zip(*tried, strict=True)
        )

    def _describe_with(self, size: int, given: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
        return self.describe(
            [replace(one, shape=_replace_unknown_sizes(one.shape, size)) for one in given]
        )

    def _describe_ranks(self, given: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
        """Returns the outputs with their dtypes and ranks; all output sizes are −1 (unknown).

        This method is the fallback if the operator rejects `PROBE_SIZES` as values of the unknown
        sizes, for example because an unknown size must equal another size. All unknown sizes get
        the same value. The method tries the known sizes as this value, from the largest to the
        smallest, then `SMALL_SIZES`. It stops when the operator accepts the inputs.
        """
        known = {size for size in sizes_of(given) if size > 0}
        for size in (*sorted(known, reverse=True), *SMALL_SIZES):
            with suppress(InputError):
                made = self._describe_with(size, given)
                return tuple(replace(one, shape=(-1,) * len(one.shape)) for one in made)
        return self._describe_with(PROBE_SIZES[0], given)

    def shapes(self, given: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """Returns the output shapes for these input shapes.

        Output shapes do not depend on dtypes. MindSpore may request the shapes before MindSpore
        passes the dtypes.
        """
        whole, infer = self.spec.integers, self.spec.infer_shape
        dtypes = self._dtypes or tuple(
            whole[name][0] if name in whole else "float32" for name in self.spec.inputs
        )
        described = [ArraySpec(shape, dtype) for shape, dtype in zip(given, dtypes, strict=True)]
        try:
            return tuple(one.shape for one in self.describe_dynamic(described))
        except InputError:
            # an operator made from a group of ONNX nodes supports only the dtypes of the model
            if infer is None:
                raise
            return tuple(map(tuple, infer(*given, **self.attributes)))

    def dtypes(self, given: Sequence[str]) -> tuple[str, ...]:
        """Returns the output dtypes for these input dtypes and the most recent input shapes."""
        self._dtypes = tuple(given)
        shapes = self._shapes or ((2, 2),) * len(given)
        described = [ArraySpec(shape, dtype) for shape, dtype in zip(shapes, given, strict=True)]
        return tuple(one.dtype for one in self.describe_dynamic(described))

    def _find_dynamic_kernel(self, given: Sequence[ArraySpec]) -> DynamicKernel | None:
        """Returns the cached dynamic kernel for these inputs, or None if there is none."""
        known = self._varying.get(_shape_class(given), ())
        sizes = sizes_of(given)
        return next((one for one in known if match_pattern(one.pattern, sizes) is not None), None)

    def _dynamic_kernel_for(self, given: tuple[ArraySpec, ...]) -> DynamicKernel | None:
        """Returns a dynamic kernel for these inputs, or None if the inputs get a static kernel.

        A dynamic kernel is built after calls with more than `PATIENCE` different input sizes. It is
        also built if a framework declared sizes as dynamic.
        """
        known = self._find_dynamic_kernel(given)
        if known is not None or self.spec.forward is None:
            return known
        sizes, like = sizes_of(given), _shape_class(given)
        needed = self._static_places(given)
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
        found = self._trace_dynamic_kernel(given, pattern)
        if found is None:
            # no dynamic kernel with this pattern is usable: keep the last dynamic size static, so
            # that inputs that agree in this size can share a kernel
            last = max(at for at, size in enumerate(pattern) if size < 0)
            self._needed[like] = needed | {
                at for at, size in enumerate(pattern) if size == pattern[last]
            }
            return self._dynamic_kernel_for(given)
        made.append(found)
        return found

    def _static_places(self, given: Sequence[ArraySpec]) -> frozenset[int]:
        """Returns the indices of the static sizes in the concatenated sizes of all inputs.

        The last axis of an input is static at first, because kernels with a static last axis are
        faster. After calls with `LAST_SIZES` different sizes, the last axis becomes dynamic.
        """
        sizes, like = sizes_of(given), _shape_class(given)
        found = self._needed.get(like)
        if found is None:
            found = last_axes(given) - self._changing.get(like[0], frozenset())
            known = self._last.setdefault(like, set())
            known.add(tuple(sizes[at] for at in sorted(found)))
            if len(known) > LAST_SIZES:
                found = self._needed[like] = frozenset()
        return found

    def _trace_dynamic_kernel(
        self, given: tuple[ArraySpec, ...], pattern: Sizes
    ) -> DynamicKernel | None:
        """Traces and checks a dynamic kernel.

        Returns None if the kernel computes wrong results, is slow, or cannot be traced.
        """
        try:
            found = self._trace_pattern(given, pattern)
            if not self._is_right(given, pattern) or not self._is_quick(found, given):
                return None
        except FusionError:
            return None
        self.built += 1
        return found

    def _trace_pattern(self, given: Sequence[ArraySpec], pattern: Sizes) -> DynamicKernel:
        variables = tuple(Var(f"n{number}", "int64") for number in range(-min(pattern)))
        left = iter(pattern)
        shapes = [[_size(next(left), variables) for _ in one.shape] for one in given]
        return DynamicKernel(pattern, variables, self._trace_shapes(given, shapes))

    def _is_right(self, given: Sequence[ArraySpec], pattern: Sizes) -> bool:
        """Whether a dynamic kernel and a static kernel compute the same results on small arrays.

        If the arrays would be too large with the given static sizes, smaller static sizes are used.
        """
        for known in (pattern, shrink_pattern(pattern)):
            sizes = tuple(size if size >= 0 else 2 - size for size in known)
            arrays = random_arrays(given, sizes)
            if arrays is None:
                continue
            try:
                one = self._trace_shapes(given, [array.shape for array in arrays])
                other = self._trace_pattern(given, known).kernel
            except FusionError:
                continue
            return is_equivalent(one, other, arrays)
        return False

    def _is_quick(self, varying: DynamicKernel, given: Sequence[ArraySpec]) -> bool:
        """Whether the dynamic kernel takes at most twice a static kernel's time plus `SHORT_S`.

        The check compiles and times both kernels.
        """
        sizes = sizes_of(given)
        arrays = random_arrays(given, sizes) or random_arrays(
            given,
            [
                size if known >= 0 else min(size, 16)
                for size, known in zip(sizes, varying.pattern, strict=True)
            ],
        )
        if varying.program is None or arrays is None:
            return True
        fixed = self._trace_shapes(given, [array.shape for array in arrays])
        return (
            time_fastest_call(varying.kernel, arrays)
            <= 2 * time_fastest_call(fixed, arrays) + SHORT_S
        )

    def _describe_outputs(
        self, varying: DynamicKernel, given: Sequence[ArraySpec]
    ) -> tuple[ArraySpec, ...]:
        shapes = varying.outputs(sizes_of(given))
        dtypes = [item.tensor.dtype for item in varying.kernel.outputs]
        return tuple(map(ArraySpec, shapes, dtypes))

    def _trace(self, given: tuple[ArraySpec, ...]) -> AnyKernel:
        """Returns the traced static kernel for these inputs; its first call compiles the kernel."""
        found = self._traced.get(given)
        if found is None:
            found = self._traced[given] = self._build(given)
        return found

    def _build(self, given: tuple[ArraySpec, ...]) -> AnyKernel:
        spec = self.spec
        self._check_number(given)
        self._check_dtypes(given)
        if spec.procedure is not None:
            return Procedure.from_inputs(spec, self.attributes, given)
        if spec.kernel_builder is not None:
            return spec.kernel_builder(*given, **self.attributes)
        if spec.forward is None:
            raise InputError(
                f"{spec.name} has no kernel of its own",
                place=spec.place or spec.name,
                remedy='Use route="composite"',
            )
        return self._trace_shapes(given, [one.shape for one in given])

    def _trace_shapes(self, given: Sequence[ArraySpec], shapes: Sequence[Any]) -> Kernel:
        """Traces `forward` into a kernel."""
        spec = self.spec
        assert spec.forward is not None
        names = list(zip(spec.inputs, given, strict=True))
        with compat.installed(soc=SOC):
            tensors = [
                placeholder(shape, dtype_of(one.dtype).name, name)
                for (name, one), shape in zip(names, shapes, strict=True)
            ]
            try:
                made = copy_aliased_outputs(
                    tensors, to_tuple(spec.forward(*tensors, **self.attributes))
                )
            except FusionError as error:
                if not isinstance(error, InputError) or spec.name in error.what:
                    raise
                # a helper that several operators share reports another operator's name
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
                f"{spec.name} returns a wrong number of tensors",
                place=spec.place or spec.name,
                expected=f"{len(spec.outputs)} ({', '.join(spec.outputs)})",
                got=str(len(made)),
            )
        inputs = tuple(map(_argument, tensors, spec.inputs))
        return Kernel(spec.name, SOC, inputs, tuple(map(_argument, made, spec.outputs)))

    def _check_number(self, given: Sequence[ArraySpec]) -> None:
        names = self.spec.inputs
        if len(given) != len(names):
            raise InputError(
                f"{self.spec.name} got a wrong number of arrays",
                place=self.spec.name,
                expected=f"{len(names)} ({', '.join(names)})",
                got=str(len(given)),
            )

    def _check_dtypes(self, given: Sequence[ArraySpec]) -> None:
        for name, one in zip(self.spec.inputs, given, strict=True):
            taken = self.spec.dtypes_of(name)
            if one.dtype not in taken:
                raise InputError(
                    f"{self.spec.name}: the dtype of {name} is not supported",
                    place=self.spec.place or self.spec.name,
                    expected=", ".join(taken),
                    got=one.dtype,
                )

    def __call__(self, *arrays: Any) -> Any:
        """Returns the output for NumPy arrays, or a tuple if there are several outputs."""
        given = [np.asarray(array) for array in arrays]
        self._check_number([ArraySpec.from_array(array) for array in given])
        return self.kernel([ArraySpec.from_array(array) for array in given])(*given)


def _size(number: int, variables: Sequence[Var]) -> Expr | int:
    return number if number >= 0 else variables[-1 - number]


def copy_aliased_outputs(inputs: Sequence[Tensor], made: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns the outputs `made`; copies an output that is also an input or an earlier output."""
    found: list[Tensor] = []
    for tensor in made:
        is_met = any(tensor is other for other in (*inputs, *found))
        found.append(copy_tensor(tensor) if is_met else tensor)
    return tuple(found)


def _group(given: Sequence[ArraySpec]) -> Group:
    return tuple((one.dtype, len(one.shape)) for one in given)


def _shape_class(given: Sequence[ArraySpec]) -> ShapeClass:
    return _group(given), classify_sizes(sizes_of(given))


def _replace_unknown_sizes(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(number if size < 0 else size for size in shape)


def _argument(tensor: Tensor, name: str) -> Argument:
    shape = tuple(int(size.value) if isinstance(size, Const) else -1 for size in tensor.shape)
    return Argument(tensor, shape, name)
