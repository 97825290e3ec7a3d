"""Writes the fused model and the directory ``kernels/`` atomically.

The directory lies beside the model file.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from ms_fusion import __version__
from ms_fusion.onnx.fuse.kernel_files import write_headers, write_kernel
from ms_fusion.onnx.fuse.operator_files import write_library, write_operator_source
from ms_fusion.onnx.fuse.reproducers import Reproducer
from ms_fusion.onnx.fuse.shared_kernel_directory import (
    INCLUDE,
    MANIFEST,
    REPRODUCERS,
    keep_others,
    keep_user_files,
)
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.ort_library.operator_library import LIBRARY
from ms_fusion.onnx.ort_library.operator_text import OperatorText
from tbe_impl.errors import InputError

KERNELS = "kernels"
INLINE_BYTES_MAX = 1 << 30
"""Largest total size in bytes of the weights in the model file.

Larger weights are written to a separate file, because a protobuf message has at most 2 GiB.
"""


def check_weights(model: ir.Model, places: Sequence[Path | None]) -> None:
    """Raises `InputError` if a path in `places` is a file from which the model reads weights."""
    for place in places:
        if place is not None and _is_weight_file(place, model):
            raise InputError(
                "the file contains weights of the input model",
                place=str(place),
                expected="a file that holds no weights of the model",
            )


def write_model(
    model: ir.Model,
    target: Path,
    kernels: Sequence[GroupKernel] | None,
    device: str,
    shown: Sequence[Reproducer] = (),
    *,
    operators: Sequence[OperatorText] = (),
    debug: bool = False,
) -> None:
    """Writes the model, and the directory ``kernels/`` beside the model.

    If `kernels` is None and there are no custom operators, only the model is written. The kernels
    of an earlier model of the same name are removed. If other models share ``kernels/``, the
    library also holds the custom operators of these models. Files of the user in ``kernels/`` stay.

    Raises:
        InputError: a file cannot be written, or would overwrite weights of the input. No
            partial file is left behind.
    """
    weights = target.with_name(f"{target.name}.data")
    if _is_weight_file(weights, model) and _is_large(model):
        raise InputError(
            "the output would overwrite weights of the input",
            place=str(weights),
            remedy="Give the output another name",
        )
    try:
        staged = Path(tempfile.mkdtemp(prefix=".fused-", dir=target.parent))
    except OSError as error:
        raise InputError(
            "the output cannot be written", place=str(target.parent), got=error.strerror
        ) from error
    try:
        _save(model, staged / target.name)
        old = target.parent / KERNELS
        is_stale = (old / MANIFEST).is_file() and not old.is_symlink()
        if kernels is not None or operators or is_stale:
            place = staged / KERNELS
            told = _write_kernels(place, kernels or (), device, debug=debug)
            told += [write_operator_source(place, one) for one in operators]
            for broken in shown:
                _write_reproducer(place / REPRODUCERS / broken.name, broken)
            names = [broken.name for broken in shown]
            manifest = {
                "version": __version__,
                "model": target.name,
                "kernels": told,
                "reproducers": names,
            }
            others = keep_others(old, place, target.name)
            write_library(place, [*told, *(entry for one in others for entry in one["kernels"])])
            if any(place.glob("*.c")):
                write_headers(place / INCLUDE, custom_operators=(place / LIBRARY).exists())
            keep_user_files(old, place)
            if kernels is not None or any(place.iterdir()):
                (place / MANIFEST).write_text(
                    json.dumps({**manifest, "others": others}, indent=1) + "\n", "utf-8"
                )
            _install_directory(place, old)
        for one in (staged / f"{target.name}.data", staged / target.name):
            if one.exists():
                os.replace(one, target.parent / one.name)  # noqa: PTH105
    except OSError as error:
        raise InputError(
            "the output cannot be written", place=str(target), got=error.strerror
        ) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _weights(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    for value in model.graph.initializers.values():
        if value.const_value is not None:
            yield value.const_value


def _is_weight_file(place: Path, model: ir.Model) -> bool:
    """Returns whether the model reads weights from the file `place`."""
    return any(
        isinstance(one, ir.ExternalTensor) and os.path.realpath(one.path) == os.path.realpath(place)
        for one in _weights(model)
    )


def _is_large(model: ir.Model) -> bool:
    return sum(one.nbytes for one in _weights(model)) > INLINE_BYTES_MAX


def _save(model: ir.Model, place: Path) -> None:
    if _is_large(model):
        ir.save(model, place, external_data=f"{place.name}.data")
    else:
        ir.save(ir.external_data.load_to_model(model), place)


def _write_kernels(
    place: Path, kernels: Sequence[GroupKernel], device: str, *, debug: bool
) -> list[dict[str, Any]]:
    place.mkdir()
    alike: dict[str, list[GroupKernel]] = {}
    for kernel in kernels:
        alike.setdefault(kernel.name, []).append(kernel)
    return [write_kernel(place, same, device, debug=debug) for same in alike.values()]


def _write_reproducer(place: Path, broken: Reproducer) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, content in broken.files.items():
        (place / name).write_bytes(content)


def _install_directory(staged: Path, place: Path) -> None:
    """Moves a directory to its final path, and replaces an earlier directory of ms_fusion there.

    An empty directory is not moved.

    Raises `InputError` if the final path exists and is not a directory of ms_fusion.
    """
    if place.is_dir() and not place.is_symlink():
        if not (place / MANIFEST).is_file():
            raise InputError(
                "the directory for the kernels exists and was not written by ms_fusion",
                place=str(place),
                remedy="Move or rename the directory",
            )
        gone = staged.parent / "old"
        os.replace(place, gone)  # noqa: PTH105
    elif place.exists() or place.is_symlink():
        raise InputError("the path for the kernels exists and is not a directory", place=str(place))
    if any(staged.iterdir()):
        os.replace(staged, place)  # noqa: PTH105
