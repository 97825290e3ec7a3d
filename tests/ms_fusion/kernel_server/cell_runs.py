"""Random Cells, trained or called with several sizes: fused against unfused and float64.

``python -m tests.ms_fusion.kernel_server.cell_runs FIRST LAST`` runs the seeds from FIRST up to,
not including, LAST.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.mindspore import presets
from tests.ms_fusion.kernel_server.network_runs import (
    EPSILON,
    UNFUSED,
    Run,
    compared,
    loaded,
    tensors,
)
from tests.ms_fusion.kernel_server.optimizers import CLIPPINGS, STEPS, Kept
from tests.ms_fusion.kernel_server.random_cells import SAMPLES, RandomCell, draw_cell

SIZES = (SAMPLES, 5, 3, 1)
"""Batch sizes of one Cell; two of them fit each bucket."""
BUCKETS = (4, SAMPLES)

Found = list[Any]


def run(cell: RandomCell, place: Path, flags: str) -> Run:
    """Runs one Cell; `flags` are those of our generator."""
    results = changing if cell.way == "changing" else trained
    network, narrow = cell.network, "float16" if cell.way == "mixed" else cell.network.dtype
    try:
        unfused, exact = (
            results(cell, place, UNFUSED, exact=False),
            results(cell, place, UNFUSED, exact=True),
        )
    except Exception as error:  # noqa: BLE001 - MindSpore itself does not take this Cell
        return Run(network, skipped=" ".join(str(error).split())[:300])
    return compared(
        network,
        unfused,
        exact,
        [narrow] * len(exact),
        lambda: results(cell, place, flags, exact=False),
        lambda: results(cell, place, UNFUSED, exact=True, off=4 * EPSILON[narrow]),
    )


def trained(cell: RandomCell, place: Path, flags: str, *, exact: bool, off: float = 0.0) -> Found:
    """Outputs of the first step, then losses and outputs of the others, then the change of each
    parameter.
    """
    import mindspore as ms
    from mindspore import nn

    module = _module(cell, place, flags, exact=exact)
    net = _filled(module.Net(), cell, off)
    given = tensors(cell.network, "float64" if exact else cell.network.dtype, off)
    if cell.way == "mixed" and not exact:
        net = ms.amp.auto_mixed_precision(net, cell.level, ms.float16)
    parameters = net.trainable_params()
    if exact:
        step = _in_numpy(cell, module, net)
    else:
        optimizer = eval(  # noqa: S307 - our own text
            cell.optimizer.text, {"nn": nn, "parameters": parameters}
        )
        step = module.Step(net, optimizer) if cell.as_cell else module.stepper(net, optimizer)
    begun = [one.asnumpy().astype(np.float64) for one in parameters]
    with presets.environment_flags(flags), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = [[one.asnumpy() for one in step(*given)] for _ in range(STEPS)]
    first, *others = every
    went = [
        one.asnumpy().astype(np.float64) - begin
        for one, begin in zip(parameters, begun, strict=True)
    ]
    return [*first[1:], first[0], *(one for results in others for one in results), *went]


def _in_numpy(cell: RandomCell, module: Any, net: Any) -> Callable[..., Any]:
    """A step with a NumPy optimizer."""
    import mindspore as ms

    parameters = net.trainable_params()
    gradient = ms.jit(ms.value_and_grad(net, None, parameters, has_aux=True))
    kept: list[Kept] = [{} for _ in parameters]
    count = 0

    def step(*given: Any) -> Any:
        nonlocal count
        count += 1
        results, slopes = gradient(*given)
        clipped = CLIPPINGS[cell.clipping][1]([one.asnumpy() for one in slopes])
        for parameter, own, slope in zip(parameters, kept, clipped, strict=True):
            x = parameter.asnumpy()
            # MindSpore excludes parameters with one of these names from weight decay
            decaying = 0.0 if "beta" in parameter.name or "gamma" in parameter.name else x
            parameter.set_data(ms.Tensor(x - cell.optimizer.change(own, decaying, slope, count)))
        return results

    return step


def changing(cell: RandomCell, place: Path, flags: str, *, exact: bool, off: float = 0.0) -> Found:
    """Outputs of each batch size; fused by `mf.specialize`."""
    import mindspore as ms

    import ms_fusion as mf

    net = _filled(_module(cell, place, flags, exact=exact).Net().set_train(False), cell, off)
    given = tensors(cell.network, "float64" if exact else cell.network.dtype, off)
    call = net
    if flags != UNFUSED:
        net.set_inputs(*(ms.Tensor(shape=[None, *one.shape[1:]], dtype=one.dtype) for one in given))
        call = mf.specialize(net, buckets=BUCKETS)
    with presets.environment_flags(flags), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [one.asnumpy() for size in SIZES for one in call(*(one[:size] for one in given))[1:]]


def _module(cell: RandomCell, place: Path, flags: str, *, exact: bool) -> Any:
    name = f"cell_{cell.network.seed}_{'exact' if exact else len(flags)}"
    return loaded(place / f"{name}.py", cell.text(exact=exact))


def _filled(net: Any, cell: RandomCell, off: float) -> Any:
    """With the drawn weights, each perturbed by up to `off` of its magnitude."""
    import mindspore as ms

    for name, one in net.parameters_dict().items():
        array = cell.weights[name]
        one.set_data(ms.Tensor(array + array * np.sign(np.sin(1000 * array)) * off, one.dtype))
    return net


def main(first: int, last: int) -> None:
    """Runs the Cells of these seeds in this process, and prints failures."""
    import mindspore

    from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    flags, found = flags_for_own_generator(2).render(), []
    with tempfile.TemporaryDirectory() as place:
        for seed in range(first, last):
            cell = draw_cell(seed)
            found.append(run(cell, Path(place), flags))
            if found[-1].wrong or found[-1].skipped:
                print(
                    seed,
                    cell.way,
                    cell.level,
                    cell.network.dtype,
                    found[-1].wrong or f"skipped: {found[-1].skipped}",
                    flush=True,
                )
    print(
        f"{len(found)} Cells, {sum(bool(one.wrong) for one in found)} wrong, "
        f"{sum(bool(one.skipped) for one in found)} skipped"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
