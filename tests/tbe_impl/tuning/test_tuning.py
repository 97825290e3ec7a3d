"""Tuning with fixed times, its stored records, and untrusted records."""

from __future__ import annotations

import logging
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbe_impl import tuning_store
from tbe_impl.arguments import Argument
from tbe_impl.codegen.options import Options
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, placeholder, static_shape
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.operator import load_operator
from tbe_impl.loading.tune_operator import tune
from tbe_impl.runtime import store
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import TUNINGS
from tbe_impl.tuning import measurement as measuring
from tbe_impl.tuning import search
from tbe_impl.tuning.measurement import upper_bound
from tbe_impl.tuning.measurement_arrays import is_close
from tbe_impl.tuning_store import Choice, Tuning
from tests.cases import FULL, cases
from tests.tbe_impl.runtime.store_cases import content_at, forge

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
Times = Callable[[Choice], float]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels of this file, compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("MS_FUSION_THREADS", "2")
    Store(compiled / "store").clear(TUNINGS)
    store._logged_messages.clear()
    return compiled


def scaled_total(rows: int = 6, factor: float = 2.0, dtype: str = "float32") -> Kernel:
    x = placeholder((rows, 72), dtype, "x")
    y = OPERATIONS["reduce_sum"](OPERATIONS["vmuls"](x, factor), -1, False)
    return kernel_with([x], [y])


def kernel_with(inputs: list[Tensor], outputs: list[Tensor]) -> Kernel:
    def listed(tensors: list[Tensor]) -> tuple[Argument, ...]:
        return tuple(Argument(item, static_shape(item) or (-1,), item.name) for item in tensors)

    return Kernel("scaled_total", "cpu", listed(inputs), listed(outputs))


def pretend(monkeypatch: pytest.MonkeyPatch, times: Times, noise: float = 0.0) -> None:
    """Replaces every measurement of a candidate by `times`, plus a random share."""
    generator = random.Random(7)

    def timed(bench: Any, item: measuring.Candidate) -> float:
        bench.taken += 1
        return times(item.choice) * (1.0 + noise * generator.random())

    monkeypatch.setattr(measuring.Bench, "measure_call", timed)
    monkeypatch.setattr(measuring, "PAUSE_S", 0.0)
    monkeypatch.setattr(search, "KNOBS", (("accumulators", (1, 2)), ("unroll", (2,))))


def test_the_fastest_is_chosen_kept_and_found_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda choice: 0.5 if choice.accumulators == 2 else 1.0, noise=0.1)
    kernel = tune(scaled_total(), progress=False)
    assert kernel.options.accumulators == 2
    assert kernel.tuning is not None
    assert 0.4 < kernel.tuning.ratio <= kernel.tuning.bound < 0.6
    assert kernel.tuning.tuned_us < kernel.tuning.default_us
    again = tuning_store.apply_tuning(scaled_total())
    assert (again.options, again.tuning) == (kernel.options, kernel.tuning)
    x = np.ones((6, 72), np.float32)
    np.testing.assert_array_equal(again(x), np.full(6, 144, np.float32))


def test_gains_of_two_knobs_are_combined(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = placeholder((6, 72), "float32", "x")
    outputs = [OPERATIONS["reduce_sum"](x, -1, False), OPERATIONS["vmuls"](x, 2.0)]
    pretend(
        monkeypatch,
        lambda c: (0.8 if c.accumulators == 1 else 1.0) * (0.8 if c.unroll == 2 else 1.0),
    )
    found = tune(kernel_with([x], outputs), progress=False).options
    assert (found.accumulators, found.unroll) == (1, 2)


def test_what_a_caller_adds_is_tried(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda choice: 0.5 if choice.accumulators == 3 else 1.0)
    found = tune(scaled_total(), progress=False, also=[Choice(accumulators=3)])
    assert found.options.accumulators == 3


def test_only_what_may_change_a_kernel_is_tried(cache: Path) -> None:
    def tried(kernel: Kernel, field: str) -> bool:
        return any(
            getattr(one, field) != getattr(Choice(), field) for one in search.single_changes(kernel)
        )

    small, large = scaled_total(), scaled_total(rows=14_000)
    assert (tried(small, "portions"), tried(large, "portions")) == (False, True)


def test_a_small_stage_may_be_stored_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, scale = placeholder((64, 72), "float32", "x"), placeholder((72,), "float32", "scale")
    root = OPERATIONS["vadds"](scale, 1.0)
    y = OPERATIONS["vmul"](x, OPERATIONS["broadcast"](root, (64, 72)))
    pretend(monkeypatch, lambda choice: 0.5 if choice.stored else 1.0)
    plain = kernel_with([x, scale], [y])
    kernel = tune(plain, progress=False)
    assert kernel.options.stored == (0,)
    nests, before = (
        len(re.findall(r"static void \w*nest\d+\(", one.source)) for one in (kernel, plain)
    )
    assert nests == before + 1
    given = np.ones((64, 72), np.float32), np.full(72, 4, np.float32)
    np.testing.assert_array_equal(kernel(*given), plain(*given))


@cases(
    "times, noise",
    [
        (lambda choice: 1.0 if choice == Choice() else 0.99, 0.0),
        (lambda choice: 1.0, 0.5),
        (lambda choice: 1.0 if choice == Choice() else 1.3, 0.1),
    ],
    ids=["within the margin", "noise only", "slower"],
)
def test_nothing_clearly_faster_keeps_the_default(
    cache: Path, monkeypatch: pytest.MonkeyPatch, times: Times, noise: float
) -> None:
    Store(cache / "store").clear(TUNINGS)
    pretend(monkeypatch, times, noise)
    kernel = tune(scaled_total(), progress=False)
    assert kernel.options == Options()
    assert kernel.tuning is not None
    assert kernel.tuning.choice.text() == "the default"


@cases("shared_us, alone_us, taken", [(90, 60, True), (500, 60, False), (320, 280, False)])
def test_one_thread_gains_no_more_than_waking_others_costs(
    cache: Path, monkeypatch: pytest.MonkeyPatch, shared_us: int, alone_us: int, taken: bool
) -> None:
    Store(cache / "store").clear(TUNINGS)
    alone = tuning_store.UNREACHABLE_THRESHOLD
    pretend(monkeypatch, lambda c: (alone_us if c.parallel_elements == alone else shared_us) * 1e-6)
    kernel = tune(scaled_total(rows=14_000), progress=False)
    assert (kernel.options.parallel_elements == alone) is taken


def test_what_gains_only_while_others_disturb_is_not_chosen(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(7)

    def times(choice: Choice) -> float:
        disturbed = choice == Choice() and generator.random() < 0.6
        return 2.0 if disturbed else 1.0

    pretend(monkeypatch, times)
    assert tune(scaled_total(), progress=False).options == Options()


def test_a_wrong_result_is_never_chosen(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda choice: 0.5 if choice.accumulators == 2 else 1.0)
    made = measuring.caller

    def wrong(compiled: Any, inputs: Any, results: Any, threads: int) -> Callable[[], None]:
        run = made(compiled, inputs, results, threads)
        sources.append(compiled.source)

        def damaged() -> None:
            run()
            results[0][3] *= np.float32(1.0 if compiled.source == sources[0] else 1.01)

        return damaged

    sources: list[str] = []
    monkeypatch.setattr(measuring, "caller", wrong)
    assert tune(scaled_total(), progress=False).options == Options()
    assert len(sources) > 1


@cases(
    "other, same",
    [
        (lambda: scaled_total(), True),
        (lambda: scaled_total(rows=7), False),
        (lambda: scaled_total(factor=3.0), False),
        (lambda: scaled_total(dtype="float16"), False),
        (lambda: replace(scaled_total(), options=Options(rounding="device")), False),
    ],
    ids=["again", "shape", "constant", "dtype", "rounding"],
)
def test_the_key_says_what_a_record_is_for(
    cache: Path, other: Callable[[], Kernel], same: bool
) -> None:
    assert (tuning_store.key_of(other()) == tuning_store.key_of(scaled_total())) is same


def test_another_number_of_threads_is_another_record(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tuning_store.key_of(scaled_total())
    monkeypatch.setenv("MS_FUSION_THREADS", "1")
    assert tuning_store.key_of(scaled_total()) != before


def record() -> Tuning:
    return Tuning(
        name="n",
        choice=Choice(accumulators=2),
        default_us=2.0,
        tuned_us=1.0,
        ratio=0.5,
        bound=0.6,
        steps=9,
        seconds=1.0,
    )


def resealed(change: Callable[[str], str | bytes]) -> Callable[[Path], object]:
    """Changes the content of a record and gives it a matching SHA-256."""

    def damage(path: Path) -> None:
        changed = change(content_at(path).decode())
        forge(path, TUNINGS, changed.encode() if isinstance(changed, str) else changed)

    return damage


@cases(
    "damage",
    [
        resealed(lambda text: text[: len(text) // 2]),
        resealed(lambda text: ""),
        resealed(lambda text: b"\xff\x00" * 50),
        resealed(lambda text: "[" * 60_000),
        resealed(lambda text: text + " " * 70_000),
        resealed(lambda text: text.replace('"accumulators":2', '"accumulators":2000000')),
        resealed(lambda text: text.replace('"accumulators":2', '"accumulators":"2"')),
        resealed(lambda text: text.replace('"accumulators":2', '"march":"x -o /etc/passwd"')),
        resealed(lambda text: text.replace('"vector_bits":0', '"vector_bits":100')),
        resealed(lambda text: text.replace('"stream_bytes":', '"stream_bytes":-')),
        lambda path: path.write_bytes(path.read_bytes().replace(b'"steps":9', b'"steps":8')),
        lambda path: path.chmod(0o666),
        lambda path: path.parent.chmod(0o777),
    ],
    ids=[
        "half",
        "empty",
        "garbage",
        "deep",
        "large",
        "range",
        "type",
        "unknown",
        "value",
        "negative",
        "not sealed",
        "writable",
        "open place",
    ],
)
def test_a_record_that_cannot_be_trusted_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, damage: Any
) -> None:
    """`tests/tbe_impl/runtime/test_store.py` has further damages, of entries of every kind."""
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(root))
    caplog.clear()
    kernel = scaled_total()
    key = tuning_store.key_of(kernel)
    tuning_store.save(key, record())
    assert tuning_store.apply_tuning(kernel).options.accumulators == 2
    damage(root / "store" / TUNINGS.name / key)
    with caplog.at_level(logging.WARNING, "tbe_impl"):
        assert tuning_store.apply_tuning(kernel) is kernel
        assert tuning_store.apply_tuning(kernel) is kernel
    assert len(caplog.records) == 1


def test_options_that_a_user_chose_stay(cache: Path) -> None:
    tuning_store.save(tuning_store.key_of(scaled_total()), record())
    chosen = replace(scaled_total(), options=Options(unroll=4))
    assert tuning_store.apply_tuning(chosen) is chosen
    assert tuning_store.apply_tuning(scaled_total()).options.accumulators == 2


def test_a_place_that_cannot_be_written_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING, "tbe_impl"):
        tuning_store.save("0" * 64, record())
        tuning_store.save("0" * 64, record())
    assert len(caplog.records) == 1


def test_an_operator_is_built_with_what_tuning_found(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda choice: 0.5 if choice.accumulators == 2 else 1.0)

    def total(x: dict[str, Any], y: dict[str, Any], kernel_name: str = "total") -> None:
        import te.lang.cce as cce  # type: ignore[import-not-found]
        from te import tvm

        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
        with tvm.target.cce():
            result = cce.sum(data, 1)
            schedule = cce.auto_schedule(result) if hasattr(cce, "auto_schedule") else None
        cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, result]})

    given = {"shape": (6, 72), "dtype": "float32"}, {"shape": (6,), "dtype": "float32"}
    assert tune(total, *given, progress=False).options.accumulators == 2
    built = load_operator(total).build(*given)
    assert built.options.accumulators == 2
    assert built.tuning is not None


@cases("limits", [{"seconds": 1e-9}, pytest.param({"steps": 1}, marks=FULL)], ids=str)
def test_limits_that_leave_no_time_give_the_default(cache: Path, limits: dict[str, Any]) -> None:
    Store(cache / "store").clear(TUNINGS)
    kernel = tune(scaled_total(), progress=False, **limits)
    assert kernel.options == Options()
    assert kernel.tuning is not None
    assert tuning_store.apply_tuning(scaled_total()).tuning == kernel.tuning


def test_what_cannot_be_tuned_is_said(cache: Path) -> None:
    with pytest.raises(InputError, match="positive limits"):
        tune(scaled_total(), steps=0)
    with pytest.raises(InputError, match="built already"):
        tune(scaled_total(), {"shape": (1,)})
    kernel = scaled_total()
    unknown = replace(kernel, inputs=(replace(kernel.inputs[0], shape=(-1, 72)),))
    with pytest.raises(InputError, match="known at call time only"):
        tune(unknown)


@cases(
    "found, expected, same",
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.000001], [1.0, 2.0], True),
        ([1.0, 2.01], [1.0, 2.0], False),
        ([np.nan, np.inf], [np.nan, np.inf], True),
        ([1.0, np.inf], [np.nan, np.inf], False),
        ([np.nan, -np.inf], [np.nan, np.inf], False),
        ([1.0, np.nan], [1.0, 2.0], False),
        ([1, 2], [1, 2], True),
        ([10**9, 2], [10**9 + 1, 2], False),
    ],
)
def test_results_agree(found: list[Any], expected: list[Any], same: bool) -> None:
    dtype = np.float32 if any(isinstance(one, float) for one in found) else np.int64
    assert is_close(np.array(found, dtype), np.array(expected, dtype)) is same


def test_the_bound_wants_enough_measurements() -> None:
    assert upper_bound([0.5] * 3) == float("inf")
    assert upper_bound([0.9] * 20 + [1.1] * 20) == 1.1
