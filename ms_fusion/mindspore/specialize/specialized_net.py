"""Implements specialize(): compiles a net for each input shape, or for a few batch sizes."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ms_fusion.graph import Graph
from ms_fusion.ledger import SeenShape
from ms_fusion.mindspore.presets import compile_messages, net_checks
from ms_fusion.mindspore.specialize import padding
from ms_fusion.mindspore.specialize.batch_axis import BatchAxis, PaddingProof, prove
from ms_fusion.mindspore.state import mindspore_state
from tbe_impl.environment import is_off
from tbe_impl.errors import InputError


class CompiledNet:
    """A net that is compiled for the input shapes of its first call.

    Shapes that the user declared by ``set_inputs`` are ignored.

    Attributes:
        seconds: duration of the first call, which includes the compilation; 0 before the first
            call.
    """

    def __init__(self, net: Callable[..., Any]) -> None:
        """Wraps the Cell or function `net`; the wrapper uses the weights of `net`, not copies."""
        from ms_fusion.mindspore.state.outer_cell import OneShape

        cell: Any = OneShape(net)
        if not mindspore_state.is_graph_mode():
            cell.construct = mindspore_state.mindspore_module().jit(cell.construct)
        self._cell = cell
        self._phases: set[str] = set()
        self.seconds = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the net for these inputs; the first call compiles the net."""
        if self.seconds:
            return self._cell(*args, **kwargs)
        started = time.perf_counter()
        with _record_new_phases(self._phases):
            result = self._cell(*args, **kwargs)
        self.seconds = time.perf_counter() - started
        return result

    def drop(self) -> None:
        """Frees the compiled graph; the next call compiles the net again."""
        mindspore_state.forget(self._cell, self._phases)
        self._phases.clear()
        self.seconds = 0.0


@contextlib.contextmanager
def _record_new_phases(known: set[str]) -> Iterator[None]:
    """Context manager: adds each graph that ``ms.jit`` compiles in the ``with`` body to `known`."""
    with mindspore_state.compile_lock:
        before = mindspore_state.compiled_functions()
        yield
        known |= mindspore_state.compiled_functions() - before


MAX_COMPILATIONS = 16
"""Default for the maximum number of compiled nets in the cache."""

log = logging.getLogger("ms_fusion")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Execution:
    """The way to execute calls with certain input shapes: the compiled net and the padding.

    Attributes:
        compiled_for: cache key of the `CompiledNet` that executes the calls.
        samples: number of samples before the padding, or 0 if the inputs are not padded.
        padded_to: batch size to which the inputs are padded, or 0 for no padding.
        numbers: indices of the inputs that are padded.
        results: for each result, the batch axis along which it is cropped, or None for a result
            without a batch axis.
    """

    compiled_for: Key
    samples: int = 0
    padded_to: int = 0
    numbers: tuple[int, ...] = ()
    results: tuple[BatchAxis | None, ...] = ()


class SpecializedNet:
    """A net that is compiled once for each set of input shapes; `specialize` creates it.

    Inputs that are padded to the same batch size use the same compiled net. Such a batch size is
    called a bucket.

    Attributes:
        net: the original net, with its weights.
        buckets: batch sizes to which batches are padded, ascending; empty for no padding.
        keep: maximum number of compiled nets in the cache.
    """

    def __init__(self, net: Callable[..., Any], buckets: tuple[int, ...], keep: int) -> None:
        self.net, self.buckets, self.keep = net, buckets, keep
        # MindSpore runs one graph at a time, so all compilations and specialized nets share a lock.
        self._lock = mindspore_state.compile_lock
        self._compiled: OrderedDict[Key, CompiledNet] = OrderedDict()
        self._executions: dict[Key, _Execution] = {}
        self._seen: dict[Key, SeenShape] = {}
        self._graphs: dict[Key, Graph | str] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the net for these inputs.

        Raises:
            InputError: an input's shape is not static.
            Exception: any exception that MindSpore raises if it cannot compile or run the net.
        """
        if is_off():
            return self.net(*args, **kwargs)
        with self._lock:
            key = self._key(args, kwargs)
            execution = self._executions.get(key)
            if execution is None:
                execution = self._executions[key] = self._choose_execution(key, args, kwargs)
            if not execution.padded_to:
                return self._run(key, execution, args, kwargs)
            longer = padding.pad_batch(args, execution.numbers, execution.padded_to)
            result = self._run(key, execution, longer, kwargs)
            return padding.cut(result, iter(execution.results), execution.samples)

    @property
    def seen(self) -> tuple[SeenShape, ...]:
        """Returns a record for each set of input shapes in the calls of the net so far."""
        with self._lock:
            return tuple(
                replace(item, kept=self._executions[key].compiled_for in self._compiled)
                for key, item in self._seen.items()
            )

    def single_shape_net(self) -> Callable[..., Any]:
        """Returns a Cell that calls the net, but has no input shapes declared by ``set_inputs``.

        `explain` uses this Cell, since MindSpore would compile `net` for the declared shapes.
        """
        from ms_fusion.mindspore.state.outer_cell import OneShape

        return OneShape(self.net)

    def __str__(self) -> str:
        """Returns one line of text for each set of input shapes in the calls of the net so far."""
        return "\n".join(map(str, self.seen)) or "not called yet"

    def __repr__(self) -> str:
        return f"<SpecializedNet of {type(self.net).__name__}, shapes seen: {len(self._seen)}>"

    def _key(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Key:
        state = (getattr(self.net, "training", None), mindspore_state.is_graph_mode())
        return (
            state,
            *map(_describe_input, args),
            *((name, _describe_input(kwargs[name])) for name in sorted(kwargs)),
        )

    def _choose_execution(
        self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Execution:
        """Chooses the compiled net and the padding for inputs that occur for the first time.

        A batch is padded to the next size in `buckets` if the proof that padding is safe succeeds.

        Args:
            key: cache key of the inputs.
            args, kwargs: the inputs.
        """
        declared = getattr(self.net, "_dynamic_shape_inputs", None)
        samples, numbers = padding.batch_of(args, declared)
        bucket = next((size for size in self.buckets if size >= samples), 0) if samples else 0
        reason = ""
        if self.buckets and not kwargs and bucket > samples:
            longer = padding.pad_batch(args, numbers, bucket)
            target = self._key(longer, kwargs)
            proof = self._prove_padding(args, key, longer, target, samples, bucket)
            if not proof.reason:
                self._seen[key] = SeenShape(_format_call(args, kwargs), padded_to=bucket)
                return _Execution(target, samples, bucket, numbers, proof.results)
            reason = proof.reason
            log.info("%s: not padded, since %s", _format_call(args, kwargs), reason)
        elif self.buckets and kwargs:
            reason = "inputs given by name are not padded"
        elif self.buckets and bucket < max(samples, 1):
            reason = f"no bucket holds {samples}" if samples else "there is no batch axis"
        self._seen[key] = SeenShape(_format_call(args, kwargs), reason=reason)
        return _Execution(key)

    def _prove_padding(
        self, args: Any, key: Key, longer: Any, target: Key, samples: int, bucket: int
    ) -> PaddingProof:
        small, large = self._graph(key, args), self._graph(target, longer)
        # The graph of these inputs is used only once; the graph of a bucket is used again.
        self._graphs.pop(key)
        for graph in (small, large):
            if isinstance(graph, str):
                return PaddingProof(reason=graph)
        assert isinstance(small, Graph)
        assert isinstance(large, Graph)
        return prove(small, large, samples, bucket)

    def _graph(self, key: Key, inputs: Any) -> Graph | str:
        if key not in self._graphs:
            try:
                self._graphs[key] = net_checks.front_end_graph(
                    self.net, inputs, mindspore_state.dump_front_end_graph
                )
            except InputError as error:
                self._graphs[key] = str(error).splitlines()[0]
        return self._graphs[key]

    def _run(
        self, key: Key, execution: _Execution, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        compiled = self._compiled.get(execution.compiled_for)
        is_new = compiled is None
        if compiled is None:
            compiled = self._compiled[execution.compiled_for] = CompiledNet(self.net)
        self._compiled.move_to_end(execution.compiled_for)
        try:
            result = compiled(*args, **kwargs)
        except Exception:
            if is_new:
                del self._compiled[execution.compiled_for]
            raise
        seen = self._seen[key]
        if is_new and seen.compilations and not self._has_recompiled():
            compile_messages.say(
                f"{seen.shapes} is compiled again, since only {self.keep} compilations are kept. "
                "Pad the inputs to fewer sizes, or raise `keep`."
            )
        self._seen[key] = replace(
            seen,
            calls=seen.calls + 1,
            compilations=seen.compilations + is_new,
            seconds=seen.seconds + (compiled.seconds if is_new else 0.0),
        )
        if is_new:
            log.info("%s: compiled in %.1f s", seen.shapes, compiled.seconds)
            while len(self._compiled) > self.keep:
                self._compiled.popitem(last=False)[1].drop()
        return result

    def _has_recompiled(self) -> bool:
        """Returns whether any set of input shapes caused more than one compilation of the net."""
        return any(item.compilations > 1 for item in self._seen.values())


def specialize(
    net: Callable[..., Any], *, buckets: Sequence[int] | None = None, keep: int = MAX_COMPILATIONS
) -> SpecializedNet:
    """Wraps a net so that it is compiled separately for each set of input shapes.

    MindSpore does not fuse operators with dynamic shapes, so each compilation has static shapes.
    The preset in force applies to each compilation. The only use of shapes that were declared by
    ``set_inputs`` is to find the batch axis.

    If `buckets` is not empty, a batch is padded to the next larger size in `buckets`. The condition
    is a proof from the net's graph that the net computes each sample independently of the other
    samples. The proof succeeds if the net does not reduce, normalise, sort, concatenate or draw
    random numbers over the batch, and writes nothing in place. If the proof fails, the net is
    compiled for the actual shape. For example, the proof fails in training.

    Args:
        net: a Cell or a function that ``ms.jit`` can compile. Call the net through the returned
            object. Do not call the returned object inside another net.
        buckets: batch sizes to which smaller batches are padded; empty for no padding.
        keep: maximum number of compiled nets in the cache. The least recently used net is dropped
            first.

    Returns:
        A `SpecializedNet`, which is called like the net. Its attribute ``seen`` lists the input
        shapes of the calls so far. ``explain(…)`` accepts a `SpecializedNet` in place of a net, and
        reports the fused operators.

    Raises:
        InputError: `net` is not callable, or `keep` or a number in `buckets` is not positive.

    >>> run = mf.specialize(net, buckets=(8, 16, 32))  # doctest: +SKIP
    >>> y = run(x)  # doctest: +SKIP
    """
    if isinstance(net, type) or not callable(net) or isinstance(net, SpecializedNet):
        raise InputError(
            "this cannot be specialised", expected="a Cell or a function", got=type(net).__name__
        )
    sizes = tuple(buckets or ())
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise InputError(
            "a bucket is a batch size",
            place="buckets",
            expected="positive whole numbers",
            got=repr(sizes),
        )
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise InputError(
            "at least one compilation must be kept",
            place="keep",
            expected="1 or more",
            got=repr(keep),
        )
    return SpecializedNet(net, tuple(sorted(set(sizes))), keep)


def _describe_input(item: Any) -> Any:
    """Returns the cache key of an input: (shape, dtype) for a tensor, else (type, value)."""
    shape = getattr(item, "shape", None)
    if shape is not None:
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise InputError(
                "an input's shape is not known",
                expected="a tensor that holds values",
                got=f"shape {tuple(shape)}",
            )
        return tuple(shape), str(item.dtype)
    if isinstance(item, (tuple, list)):
        return type(item).__name__, *map(_describe_input, item)
    return type(item).__name__, repr(item)


def _format_call(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    named = (f"{name}={_format_input(item)}" for name, item in kwargs.items())
    return ", ".join((*map(_format_input, args), *named))


def _format_input(item: Any) -> str:
    shape = getattr(item, "shape", None)
    if shape is None:
        return type(item).__name__ if isinstance(item, (tuple, list)) else repr(item)
    return f"{'x'.join(map(str, shape)) or 'scalar'}:{str(item.dtype).lower()}"
