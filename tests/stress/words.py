"""Rows 11 and 12: every DSL operation on every dtype and shape, and on special values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.dsl.array_semantics import convert
from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.errors import FusionError, InputError
from tbe_impl.interpreter import evaluate
from tests.stress.kernels import kernel_of
from tests.stress.parts import Row, Stress
from tests.tbe_impl.dsl.graphs import FLOATS, assert_near, values
from tests.tbe_impl.dsl.test_operations import CASES, EXT_CASES, Case

ALL_WORDS = {**dsl.OPERATIONS, **dsl.ext.EXT_OPERATIONS}
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (0, 4),
    (1,),
    (13,),
    (7, 31),
    (2, 3, 5),
    (64,),
    (1, 1),
)
ANY = tuple(DTYPES)
NUMBERS = tuple(name for name in DTYPES if name != "bool")


def _sums(x: np.ndarray, function: Any) -> np.ndarray:
    return np.atleast_1d(function(x, axis=-1)) if x.ndim else x


def _over(word: str) -> Callable[..., Any]:
    return lambda w, x: w(x, -1)


def _moved(word: str, oracle: Callable[..., Any], call: Callable[..., Any], **more: Any) -> Case:
    return Case(word, oracle, call, dtypes=ANY, low=0, high=1, **more)


def _first(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *x: call(*x)[0]


# Operations over several elements; each takes tensors of at least one axis.
WIDE_CASES = (
    *(
        Case(
            word,
            lambda x, f=oracle: _sums(x, f),
            _over(word),
            dtypes=NUMBERS,
            low=0,
            high=1,
            times=16,
        )
        for word, oracle in {"sum": np.sum, "reduce_sum": np.sum, "reduce_prod": np.prod}.items()
    ),
    *(
        Case(
            word,
            lambda x, f=oracle: np.atleast_1d(f(x, axis=-1)) if x.shape[-1] else None,
            _over(word),
            dtypes=NUMBERS,
        )
        for word, oracle in {"reduce_max": np.max, "reduce_min": np.min}.items()
    ),
    *(
        Case(word, lambda x, f=oracle: _sums(x, f), _over(word), dtypes=("bool",), result="bool")
        for word, oracle in {"reduce_all": np.all, "reduce_any": np.any}.items()
    ),
    Case(
        "reduce_mean",
        lambda x: np.atleast_1d(np.mean(x, axis=-1)) if x.shape[-1] else None,
        _over("reduce_mean"),
        low=0.5,
        times=16,
    ),
    Case(
        "tuple_sum",
        lambda x, y: _sums(x, np.sum),
        lambda w, x, y: w((x, y), -1)[0],
        arity=2,
        low=0.5,
        times=16,
    ),
    _moved(
        "broadcast", lambda x: np.broadcast_to(x, (2, *x.shape)), lambda w, x: w(x, (2, *_sizes(x)))
    ),
    _moved("transpose", np.transpose, lambda w, x: w(x, tuple(reversed(range(x.ndim))))),
    _moved(
        "concat", lambda x, y: np.concatenate([x, y], -1), lambda w, x, y: w([x, y], -1), arity=2
    ),
    _moved("reverse", np.flip, lambda w, x: w(x, tuple(range(x.ndim)))),
    _moved("tile", lambda x: np.tile(x, [2] * x.ndim), lambda w, x: w(x, [2] * x.ndim)),
    _moved("reshape", np.ravel, lambda w, x: w(x, (int(np.prod(_sizes(x))),))),
    _moved("pad", lambda x: np.pad(x, 1), lambda w, x: w(x, [(1, 1)] * x.ndim)),
    _moved(
        "where",
        lambda x, y: np.where(x == y, x, y),
        lambda w, x, y: w(dsl.vcmp(x, y, "eq"), x, y),
        arity=2,
    ),
    _moved(
        "vsel",
        lambda x, y: np.where(x == y, x, y),
        lambda w, x, y: w(dsl.vcmp(x, y, "eq"), x, y),
        arity=2,
    ),
    _moved(
        "strided_slice",
        lambda x: x[..., ::2],
        lambda w, x: w(x, [0] * x.ndim, _sizes(x), [1] * (x.ndim - 1) + [2]),
    ),
)


def _sizes(x: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in x.shape)


@dataclass(frozen=True)
class Made:
    """A built operation: its results, and the expected ones."""

    name: str
    case: Case
    output: Any
    arrays: Sequence[np.ndarray]
    dtype: str


@np.errstate(all="ignore")
def shapes(stress: Stress) -> str:
    """Every operation in one kernel for each dtype and shape; refusals have complete messages."""
    counts, failures = {"right": 0, "refused": 0}, []
    for dtype in ANY if stress.full else stress.chance.sample(ANY, 2):
        for shape in SHAPES if stress.full else stress.chance.sample(SHAPES, 2):
            cases = [*CASES, *EXT_CASES, *(WIDE_CASES if shape else ())]
            if not stress.full:
                cases = stress.chance.sample(cases, 20)
            _one_kernel(cases, dtype, shape, counts, failures)
    layouts = _layouts(failures)
    assert not failures, f"{len(failures)}: " + "; ".join(failures[:40])
    return (
        f"{counts['right']:,} right, {counts['refused']:,} refused in a whole sentence; {layouts} "
        f"layouts of arrays right"
    )


def _one_kernel(
    cases: Sequence[Case],
    dtype: str,
    shape: tuple[int, ...],
    counts: dict[str, int],
    failures: list[str],
) -> None:
    arrays: dict[tuple[float, float, int], np.ndarray] = {}
    made: list[Made] = []
    inputs: dict[int, Any] = {}
    for case in cases:
        place = f"{case.word} {dtype} {list(shape)}"
        given = [
            arrays.setdefault(
                (case.low, case.high, n), values(shape, dtype, case.low, case.high, n)
            )
            for n in range(case.arity)
        ]
        tensors = [inputs.setdefault(id(array), dsl.placeholder(shape, dtype)) for array in given]
        try:
            word = ALL_WORDS[case.word]
            output = case.call(word, *tensors) if case.call else word(*tensors)
        except FusionError as error:
            counts["refused"] += 1
            if dtype in case.dtypes:
                failures.append(f"{place}: refused: {error}")
            elif problem := _incomplete(error, case.word):
                failures.append(f"{place}: {problem}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever comes is a finding
            failures.append(f"{place}: {type(error).__name__}: {error}")
        else:
            made.append(Made(place, case, output, given, dtype))
    if made:
        _compare(made, arrays.values(), inputs, counts, failures)


def _incomplete(error: FusionError, word: str) -> str:
    """Missing parts of an error message."""
    if not isinstance(error, InputError):
        return f"a {type(error).__name__}"
    lacking = [name for name in ("place", "expected", "got") if not getattr(error, name)]
    return (
        f"lacks {', '.join(lacking)}"
        if lacking
        else ""
        if word in str(error)
        else "does not name the word"
    )


def _compare(
    made: Sequence[Made],
    arrays: Any,
    inputs: dict[int, Any],
    counts: dict[str, int],
    failures: list[str],
) -> None:
    used = {id(array) for item in made for array in item.arrays}
    known = [array for array in arrays if id(array) in used]
    tensors = [inputs[id(array)] for array in known]
    outputs = [item.output for item in made]
    given = {id(tensor): array for tensor, array in zip(tensors, known, strict=True)}
    kernel = kernel_of(lambda *_: outputs, *known)
    kernel = type(kernel)(kernel.name, kernel.soc, _renamed(kernel.inputs, tensors), kernel.outputs)
    try:
        kernel.compiled  # raises where a call would continue without it
        found = kernel(*known)
    except FusionError as error:
        failures.append(f"{made[0].name} and {len(made) - 1} more: {str(error)[:300]}")
        return
    defined = evaluate.run(outputs, given, {})
    for item, one, other in zip(made, found if len(made) > 1 else [found], defined, strict=True):
        try:
            _check(item, one, other)
            counts["right"] += 1
        except AssertionError as error:
            failures.append(f"{item.name}: {' '.join(str(error).split())[:300]}")


def _renamed(arguments: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(type(a)(t, a.shape, t.name) for a, t in zip(arguments, tensors, strict=True))


def _check(item: Made, found: np.ndarray, defined: np.ndarray) -> None:
    result = item.case.result or str(item.output.dtype)
    assert_near(
        found,
        defined.astype(np.float64) if result in FLOATS else defined,
        result,
        times=item.case.times,
    )
    if item.dtype in item.case.dtypes:
        wanted = item.case.oracle(*(array.astype(np.float64) for array in item.arrays))
        if wanted is not None:
            assert_near(found, wanted, result, times=item.case.times)


def _layouts(failures: list[str]) -> int:
    """Arrays in other memory layouts than kernels have."""
    done = 0
    for dtype in ANY:
        x = values((13, 7), dtype, 0, 3)
        kernel = kernel_of(lambda t: [dsl.transpose(t, (1, 0)), dsl.cast_to(t, "float32")], x)
        wanted = kernel(x)
        for name, array in _lying_otherwise(x).items():
            np.testing.assert_array_equal(array, x)
            found = kernel(array)
            if not all(
                np.array_equal(one, other) for one, other in zip(found, wanted, strict=True)
            ):
                failures.append(f"{dtype} {name}: wrong numbers")
            done += 1
        for wrong in (
            x[:5],
            x.ravel(),
            x.astype("complex64"),
            x.astype(x.dtype.newbyteorder())
            if x.itemsize > 1 and x.dtype.kind in "iuf"
            else x[:, :3],
        ):
            try:
                kernel(wrong)
                failures.append(f"{dtype} {wrong.dtype.str} {wrong.shape}: not refused")
            except InputError as error:
                if problem := _incomplete(error, kernel.name):
                    failures.append(f"{dtype} {wrong.dtype.str} {wrong.shape}: {problem}: {error}")
    return done


def _lying_otherwise(x: np.ndarray) -> dict[str, np.ndarray]:
    raw = np.zeros(x.nbytes + 8, np.uint8)
    found = {}
    for offset in (1, 3):
        found[f"unaligned by {offset}"] = (
            raw[offset : offset + x.nbytes].view(x.dtype).reshape(x.shape)
        )
        found[f"unaligned by {offset}"][...] = x
        raw = raw.copy()
    spaced = np.zeros((26, 21), x.dtype)
    spaced[::2, ::3] = x
    found |= {"columns first": np.asfortranarray(x), "strided": spaced[::2, ::3]}
    found |= {"backwards": x[::-1, ::-1].copy()[::-1, ::-1], "read only": x.copy()}
    found["read only"].setflags(write=False)
    return found


# Operations with two steps that may overflow in between, or with zeros of arbitrary sign.
ONLY_AS_DEFINED = {
    "vaxpy",
    "vmla",
    "vmadd",
    "vmaddrelu",
    "vlrelu",
    "vmod",
    "floor_divide",
    "vsubrelu",
    "vaddrelu",
    "clip",
}
NO_SIGN = {
    "vmax",
    "vmin",
    "vmaxs",
    "vmins",
    "clip",
    "round_to",
    "vrelu",
    "vaddrelu",
    "vsubrelu",
    "vmaddrelu",
}


@np.errstate(all="ignore")
def special(stress: Stress) -> str:
    """All pairs of special values through every operation; integers at their limits."""
    count, failures = 0, []
    for dtype in ANY if stress.full else stress.chance.sample(ANY, 2):
        x, y = _edges(dtype)
        cases = [case for case in (*CASES, *EXT_CASES) if dtype in case.dtypes]
        if not stress.full:
            cases = stress.chance.sample(cases, min(20, len(cases)))
        tensors = [dsl.placeholder(x.shape, dtype) for _ in range(2)]
        outputs = [_called(case, tensors) for case in cases]
        kernel = kernel_of(lambda *_, outputs=outputs: outputs, x, y)
        kernel = type(kernel)(
            kernel.name, kernel.soc, _renamed(kernel.inputs, tensors), kernel.outputs
        )
        kernel.compiled  # raises where a call would continue without it
        given = {id(tensors[0]): x, id(tensors[1]): y}
        defined = evaluate.run(outputs, given, {})
        for case, output, one, other in zip(cases, outputs, kernel(x, y), defined, strict=True):
            for what, wanted in (
                ("definition", other),
                ("policy", _policy(case, str(output.dtype), x, y)),
            ):
                if wanted is None:
                    continue
                wrong = _differing(one, wanted, str(output.dtype), case)
                if wrong.any():
                    at = int(np.argmax(wrong))
                    failures.append(
                        f"{case.word} {dtype}({x[at]!r}, {y[at]!r}) = {one[at]!r}, {what} "
                        f"{wanted[at]!r} ({np.count_nonzero(wrong)})"
                    )
                count += one.size
    assert not failures, f"{len(failures)}: " + "; ".join(failures[:40])
    return f"{count:,} results as the policy has them"


def _called(case: Case, tensors: Sequence[Any]) -> Any:
    given = [tensors[number % 2] for number in range(case.arity)]
    word = ALL_WORDS[case.word]
    return case.call(word, *given) if case.call else word(*given)


def _edges(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every special value beside every other."""
    real = dtype_of(dtype).numpy
    if dtype == "bool":
        edges = np.array([False, True])
    elif dtype in FLOATS:
        limits: Any = ml_dtypes.finfo(real)
        least, tiny, most = float(limits.smallest_subnormal), float(limits.tiny), float(limits.max)
        positive = [
            0.0,
            1.0,
            0.5,
            1.5,
            2.5,
            3.0,
            least,
            3 * least,
            tiny,
            tiny - least,
            most,
            most / 2,
            np.inf,
        ]
        edges = np.array([np.nan, *positive, *(-item for item in positive)]).astype(real)
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        wanted = {0, 1, 2, 3, 7, most, most - 1, most // 2, least, least + 1, least // 2}
        wanted |= {-1, -2, -7} if least else set()
        edges = np.array(sorted(wanted), dtype)
    return np.repeat(edges, len(edges)), np.tile(edges, len(edges))


def _policy(case: Case, result: str, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The float64 result, rounded to the dtype; None where the comparison does not apply."""
    if case.word in ONLY_AS_DEFINED or case.arity > 2 or x.dtype.kind in "iub":
        return None
    exact = np.asarray(case.oracle(*(item.astype(np.float64) for item in (x, y)[: case.arity])))
    return convert(exact.astype(np.float64), dtype_of(result).numpy)


def _differing(found: np.ndarray, wanted: np.ndarray, dtype: str, case: Case) -> np.ndarray:
    """Positions of errors beyond the limit; NaN, infinity and zero signs must be equal."""
    if dtype not in FLOATS:
        return np.asarray(found != wanted)
    limits: Any = ml_dtypes.finfo(dtype_of(dtype).numpy)
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    ends = ~np.isfinite(one) | ~np.isfinite(other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    near = np.abs(one - other) <= case.times * (
        float(limits.eps) * np.abs(other) + float(limits.smallest_subnormal)
    )
    zeros = (one == 0) & (other == 0) & (np.signbit(one) != np.signbit(other))
    return np.where(ends, ~same, ~near | (zeros & (case.word not in NO_SIGN)))


ROWS = (
    Row(
        11,
        "every word × dtype × shapes 0-d, (0,), (0,4), 1, primes; strided, unaligned",
        "right, or one typed error: word, expected, got",
        shapes,
    ),
    Row(12, "NaN, ±inf, ±0, subnormal, largest through every word", "the policy", special),
)
