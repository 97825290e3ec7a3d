"""specialize(): a net whose shapes change runs fused, compiled for each shape it meets, or for each of a few batch sizes."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ms_fusion.graph import Graph
from ms_fusion.ledger import SeenShape
from ms_fusion.presets import mindspore_state, net_checks
from ms_fusion.specializing import padding
from ms_fusion.specializing.batch_axis import Carried, Proof, prove
from ms_fusion.specializing.compiled import Compiled
from tbe_impl.environment import is_off
from tbe_impl.errors import InputError

KEPT = 16
"""Compilations kept at most, unless told otherwise."""

log = logging.getLogger("ms_fusion")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Way:
    """How inputs of one set of shapes are run."""

    compiled_for: Key
    samples: int = 0
    padded_to: int = 0
    numbers: tuple[int, ...] = ()
    results: tuple[Carried | None, ...] = ()


class Specialized:
    """A net that is compiled once for each shape or bucket; made by `specialize`.

    Attributes:
        net: the net itself, with its weights.
        buckets: batch sizes that are compiled, ascending; empty when each shape is.
        keep: compilations kept at most.
    """

    def __init__(self, net: Callable[..., Any], buckets: tuple[int, ...], keep: int) -> None:
        self.net, self.buckets, self.keep = net, buckets, keep
        # of all compilations and all that was specialised: MindSpore runs one graph at a time
        self._lock = mindspore_state.compile_lock
        self._compiled: OrderedDict[Key, Compiled] = OrderedDict()
        self._ways: dict[Key, _Way] = {}
        self._seen: dict[Key, SeenShape] = {}
        self._graphs: dict[Key, Graph | str] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the net returns for these inputs.

        Raises:
            InputError: an input's shape is not known.
            what MindSpore raises when it cannot compile or run the net.
        """
        if is_off():
            return self.net(*args, **kwargs)
        with self._lock:
            key = self._key(args, kwargs)
            way = self._ways.get(key)
            if way is None:
                way = self._ways[key] = self._way(key, args, kwargs)
            if not way.padded_to:
                return self._run(key, way, args, kwargs)
            longer = padding.padded(args, way.numbers, way.padded_to)
            result = self._run(key, way, longer, kwargs)
            return padding.cut(result, iter(way.results), way.samples)

    @property
    def seen(self) -> tuple[SeenShape, ...]:
        """Every set of shapes so far, with what was compiled for it and how long that took."""
        with self._lock:
            return tuple(
                replace(item, kept=self._ways[key].compiled_for in self._compiled)
                for key, item in self._seen.items()
            )

    def for_one_shape(self) -> Callable[..., Any]:
        """The net as it is compiled here, to be looked at: a Cell that declares nothing of its inputs."""
        from ms_fusion.presets.outer_cell import OneShape

        return OneShape(self.net)

    def __str__(self) -> str:
        """A line for each set of shapes."""
        return "\n".join(map(str, self.seen)) or "not called yet"

    def _key(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Key:
        state = (getattr(self.net, "training", None), mindspore_state.is_graph_mode())
        return (
            state,
            *map(_described, args),
            *((name, _described(kwargs[name])) for name in sorted(kwargs)),
        )

    def _way(self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Way:
        """The bucket when padding to it is proved to change nothing, else the shapes as they are."""
        declared = getattr(self.net, "_dynamic_shape_inputs", None)
        samples, numbers = padding.batch_of(args, declared)
        bucket = next((size for size in self.buckets if size >= samples), 0) if samples else 0
        reason = ""
        if self.buckets and not kwargs and bucket > samples:
            longer = padding.padded(args, numbers, bucket)
            target = self._key(longer, kwargs)
            proof = self._proof(args, key, longer, target, samples, bucket)
            if not proof.reason:
                self._seen[key] = SeenShape(_text(args, kwargs), padded_to=bucket)
                return _Way(target, samples, bucket, numbers, proof.results)
            reason = proof.reason
            log.info("%s: not padded, since %s", _text(args, kwargs), reason)
        elif self.buckets and kwargs:
            reason = "inputs given by name are not padded"
        elif self.buckets and bucket < max(samples, 1):
            reason = f"no bucket holds {samples}" if samples else "there is no batch axis"
        self._seen[key] = SeenShape(_text(args, kwargs), reason=reason)
        return _Way(key)

    def _proof(
        self, args: Any, key: Key, longer: Any, target: Key, samples: int, bucket: int
    ) -> Proof:
        small, large = self._graph(key, args), self._graph(target, longer)
        self._graphs.pop(key)  # each is looked at once; those of buckets again and again
        for graph in (small, large):
            if isinstance(graph, str):
                return Proof(reason=graph)
        assert isinstance(small, Graph)
        assert isinstance(large, Graph)
        return prove(small, large, samples, bucket)

    def _graph(self, key: Key, inputs: Any) -> Graph | str:
        if key not in self._graphs:
            try:
                self._graphs[key] = net_checks.front_end_graph(
                    self.net, inputs, mindspore_state.read_by_front_end
                )
            except InputError as error:
                self._graphs[key] = str(error).splitlines()[0]
        return self._graphs[key]

    def _run(self, key: Key, way: _Way, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        compiled = self._compiled.get(way.compiled_for)
        is_new = compiled is None
        if compiled is None:
            compiled = self._compiled[way.compiled_for] = Compiled(self.net)
        self._compiled.move_to_end(way.compiled_for)
        try:
            result = compiled(*args, **kwargs)
        except Exception:
            if is_new:
                del self._compiled[way.compiled_for]
            raise
        seen = self._seen[key]
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


def specialize(
    net: Callable[..., Any], *, buckets: Sequence[int] | None = None, keep: int = KEPT
) -> Specialized:
    """A net that runs fused though its shapes change: MindSpore does not fuse shapes that it does not know.

    What the net was declared with (``set_inputs``) is ignored but for the axis that is the batch: each set of shapes is
    compiled for itself, under the preset in force. With `buckets` a batch is padded to the next of them where the
    net's graph proves that samples do not meet: nothing is reduced, normalised, sorted, concatenated or drawn at random
    over the batch, and nothing is written. Otherwise, in training for instance, the shape is compiled for itself.

    Args:
        net: a Cell or a function that ``ms.jit`` can compile. It is called through what is returned, not inside
            another net.
        buckets: batch sizes.
        keep: compilations kept at most; the one that was used least recently goes first.

    Returns:
        A `Specialized`, called like the net; ``seen`` says which shapes were met, and ``explain(…)`` tells the ledger.

    Raises:
        InputError: `net` cannot be called, a bucket or `keep` is no positive number.

    >>> run = mf.specialize(net, buckets=(8, 16, 32))  # doctest: +SKIP
    >>> y = run(x)  # doctest: +SKIP
    """
    if isinstance(net, type) or not callable(net) or isinstance(net, Specialized):
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
            "a compilation at least is kept", place="keep", expected="1 or more", got=repr(keep)
        )
    return Specialized(net, tuple(sorted(set(sizes))), keep)


def _described(item: Any) -> Any:
    """What a compilation depends on: shape and dtype of a tensor, anything else itself."""
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
        return type(item).__name__, *map(_described, item)
    return type(item).__name__, repr(item)


def _text(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    named = (f"{name}={_one(item)}" for name, item in kwargs.items())
    return ", ".join((*map(_one, args), *named))


def _one(item: Any) -> str:
    shape = getattr(item, "shape", None)
    if shape is None:
        return type(item).__name__ if isinstance(item, (tuple, list)) else repr(item)
    return f"{'x'.join(map(str, shape)) or 'scalar'}:{str(item.dtype).lower()}"
