"""Runs compiled kernels or MindSpore's operators, in a child process that certification starts.

Run as ``python -m ms_fusion.accuracy.kernel_worker compiled|unfused FD``. Each line of standard
input is a request in JSON. The process writes each answer to the file descriptor FD as one line of
JSON. Tensors are exchanged as raw bytes in ``.npz`` files.

A kernel of MindSpore's own CPU generator has the entry function ``void OP_kernel(void **args)``.
``args[0]`` points to a table of four pointers: a function for parallel launch, malloc, free, and
one unused pointer. The other elements of ``args`` are the addresses of the inputs and outputs. The
function for parallel launch has the arguments
``(int (*body)(int task, int tasks, void *data), void *data, int tasks)``. The source of this
convention is the machine code of the kernels and of the function that calls them (MindSpore 2.10,
x86-64). A kernel that is compiled with ``--kernel_generator=AKG_V2`` has the entry function
``void OP(void *callback, int *threads, void **args)``.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.ops.call import numpy_dtype

GUARD_BYTES = 4096
GUARD = 0xA5
FILL_BYTE = 0xFF
ALIGNMENT = 64

_BODY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


class _Callbacks(ctypes.Structure):
    _fields_ = [
        ("launch", _LAUNCH),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("spare", ctypes.c_void_p),
    ]


def main(
    arguments: Sequence[str], *, before: Callable[[Mapping[str, Any]], None] | None = None
) -> None:
    """Answers requests until standard input ends.

    `arguments` has two items: the mode (``compiled`` or ``unfused``) and the file descriptor for
    answers. If `before` is given, the function first calls `before` with each request, then answers
    this request.
    """
    mode, descriptor = arguments
    handle = {"compiled": run_compiled, "unfused": run_unfused}[mode]
    with os.fdopen(int(descriptor), "w", buffering=1) as answers:
        for line in sys.stdin:
            try:
                request = json.loads(line)
                if before is not None:
                    before(request)
                answer = handle(request)
            except Exception as error:  # noqa: BLE001 - any framework exception becomes a note
                first = (str(error).strip().splitlines() or [""])[0]
                answer = {"error": f"{type(error).__name__}: {first[:200]}"}
            answers.write(json.dumps(answer) + "\n")


def run_compiled(request: Mapping[str, Any]) -> dict[str, Any]:
    """Calls the kernel of the request once and saves its outputs.

    The item ``unwritten`` of the answer lists the indices of the outputs that the kernel did not
    write. To detect unwritten outputs, all bytes of the output buffers are set to 0xFF (NaN for
    floats) before the call.

    The request has the items ``library`` (path), ``symbol`` (name of the entry function),
    ``convention`` (``akg`` or ``akg_v2``), ``inputs`` (path of an .npz file), ``results`` (path of
    the .npz file to write) and ``outputs``. The item ``outputs`` is a list with an object {bytes,
    target} for each output. ``bytes`` is the size of the output. ``target`` is the index of the
    input that the output overwrites, or null.
    """
    library = ctypes.CDLL(request["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    entry = getattr(library, request["symbol"])
    entry.restype = None
    inputs = [_copy_with_guard(data) for data in load(request["inputs"])]
    outputs = [
        _copy_with_guard(np.full(one["bytes"], FILL_BYTE, np.uint8)) for one in request["outputs"]
    ]
    addresses = [_address(buffer) for buffer in (*inputs, *outputs)]

    table = _Callbacks(launch=_launch, **_memory())
    if request["convention"] == "akg":
        entry((ctypes.c_void_p * (len(addresses) + 1))(ctypes.addressof(table), *addresses))
    else:
        threads = ctypes.c_int(1)
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        entry(ctypes.byref(table), ctypes.byref(threads), pointers)

    if any((buffer[-GUARD_BYTES:] != GUARD).any() for buffer in (*inputs, *outputs)):
        return {"error": "the kernel writes past the end of a tensor"}
    written = [
        (inputs[one["target"]] if one["target"] is not None else buffer)[:-GUARD_BYTES]
        for one, buffer in zip(request["outputs"], outputs, strict=True)
    ]
    save(request["results"], written)
    return {
        "unwritten": [number for number, data in enumerate(written) if (data == FILL_BYTE).all()]
    }


@_LAUNCH
def _launch(body: int, data: int, tasks: int) -> int:
    """Implements the kernel's callback for parallel launch; runs all tasks sequentially."""
    function = _BODY(body)
    tasks = max(tasks, 1)
    for task in range(tasks):
        function(task, tasks, data)
    return 0


def _memory() -> dict[str, Any]:
    libc = ctypes.CDLL(None)
    return {
        "allocate": ctypes.cast(libc.malloc, ctypes.c_void_p).value,
        "release": ctypes.cast(libc.free, ctypes.c_void_p).value,
    }


def _copy_with_guard(data: np.ndarray) -> np.ndarray:
    """Copies `data` to a new buffer with an aligned address, and appends guard bytes to the copy.

    A kernel that writes past the end of the copy changes the guard bytes.
    """
    raw = np.empty(data.size + GUARD_BYTES + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    buffer = raw[start : start + data.size + GUARD_BYTES]
    buffer[: data.size] = data
    buffer[data.size :] = GUARD
    return buffer


def _address(buffer: np.ndarray) -> int:
    return int(buffer.ctypes.data)


def load(path: str | Path) -> list[np.ndarray]:
    """Loads the byte arrays that `save` wrote, in the order of `save`."""
    with np.load(path, allow_pickle=False) as file:
        return [file[f"t{number}"] for number in range(len(file.files))]


def save(path: str | Path, arrays: Sequence[np.ndarray]) -> None:
    """Saves arrays as raw bytes, in order, to the file `path`; replaces the file atomically."""
    raw = {
        f"t{number}": np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for number, array in enumerate(arrays)
    }
    draft = Path(f"{path}.draft.npz")
    np.savez(draft, **raw)
    draft.replace(path)


def run_unfused(request: Mapping[str, Any]) -> dict[str, Any]:
    """Runs the operators of the request one by one in MindSpore and saves the results.

    The request has the items ``nodes`` (list of objects {op, inputs, output, attrs}), ``values``
    (object from name to {shape, dtype, data}), ``inputs`` (path of an .npz file), ``input_names``,
    ``output_names`` and ``results`` (path of the .npz file to write).
    """
    values: Mapping[str, Any] = request["values"]
    known: dict[str, Any] = {}
    for name, raw in zip(request["input_names"], load(request["inputs"]), strict=True):
        known[name] = _tensor(
            raw.view(numpy_dtype(values[name]["dtype"])).reshape(values[name]["shape"]),
            values[name],
        )
    for node in request["nodes"]:
        operands = [
            known[name] if name in known else _Constant(values[name]) for name in node["inputs"]
        ]
        known[node["output"]] = _apply(node["op"], operands, node["attrs"], values[node["output"]])
    save(
        request["results"],
        [_bytes(known[name], values[name]["dtype"]) for name in request["output_names"]],
    )
    return {}


class _Constant:
    """A constant, which an operator reads as a tensor or as Python integers."""

    def __init__(self, value: Mapping[str, Any]):
        self.value = value

    @property
    def tensor(self) -> Any:
        dtype = numpy_dtype(self.value["dtype"])
        return _tensor(
            np.asarray(self.value["data"]).astype(dtype).reshape(self.value["shape"]), self.value
        )

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(number) for number in np.asarray(self.value["data"]).reshape(-1))


def _tensor(array: np.ndarray, value: Mapping[str, Any]) -> Any:
    import mindspore

    if value["dtype"] == "bfloat16":
        return mindspore.Tensor(array.astype(np.float32)).astype(mindspore.bfloat16)
    return mindspore.Tensor(np.ascontiguousarray(array))


def _bytes(tensor: Any, dtype: str) -> np.ndarray:
    array = tensor.float().asnumpy() if dtype == "bfloat16" else tensor.asnumpy()
    return array.astype(numpy_dtype(dtype))


def _apply(
    op: str, operands: Sequence[Any], attrs: Mapping[str, Any], output: Mapping[str, Any]
) -> Any:
    """Runs one MindSpore operator in PyNative mode."""
    import mindspore
    from mindspore import ops

    def tensor(position: int) -> Any:
        operand = operands[position]
        return operand.tensor if isinstance(operand, _Constant) else operand

    def numbers(name: str, position: int) -> tuple[int, ...]:
        found = operands[position].numbers if position < len(operands) else attrs.get(name, ())
        return tuple(found) if isinstance(found, list | tuple) else (found,)

    def number(name: str, position: int, default: int = 0) -> int:
        return next(iter(numbers(name, position)), default)

    def flag(name: str, position: int) -> bool:
        return bool(number(name, position))

    special: Mapping[str, Callable[[], Any]] = {
        "Assign": lambda: tensor(1),
        "Cast": lambda: ops.Cast()(
            tensor(0), getattr(mindspore, _DTYPES.get(output["dtype"], output["dtype"]))
        ),
        "Reshape": lambda: ops.Reshape()(tensor(0), tuple(output["shape"])),
        "ExpandDims": lambda: ops.Reshape()(tensor(0), tuple(output["shape"])),
        "Squeeze": lambda: ops.Reshape()(tensor(0), tuple(output["shape"])),
        "BroadcastTo": lambda: ops.BroadcastTo(tuple(output["shape"]))(tensor(0)),
        "Transpose": lambda: ops.Transpose()(tensor(0), numbers("perm", 1)),
        "Tile": lambda: ops.Tile()(tensor(0), numbers("multiples", 1)),
        "OneHot": lambda: ops.OneHot(number("axis", 4, -1))(
            tensor(0), number("depth", 1), tensor(2), tensor(3)
        ),
        "Gather": lambda: ops.Gather()(tensor(0), tensor(1), number("axis", 2)),
        "CumSum": lambda: ops.CumSum(flag("exclusive", 2), flag("reverse", 3))(
            tensor(0), number("axis", 1)
        ),
        "Concat": lambda: ops.Concat(int(attrs.get("axis", 0)))(
            tuple(tensor(k) for k in range(len(operands)))
        ),
        "AddN": lambda: ops.AddN()([tensor(k) for k in range(len(operands))]),
        "StridedSlice": lambda: ops.StridedSlice(
            *(number(name, 4 + k) for k, name in enumerate(_MASKS))
        )(tensor(0), *(numbers(name, 1 + k) for k, name in enumerate(("begin", "end", "strides")))),
    }
    if op in special:
        return special[op]()
    if op.startswith("Reduce"):
        return getattr(ops, op)(flag("keep_dims", 2))(tensor(0), numbers("axis", 1))
    if op in ("MatMul", "BatchMatMul"):
        product = getattr(ops, op)(flag("transpose_a", 9), flag("transpose_b", 9))(
            tensor(0), tensor(1)
        )
        return ops.Add()(product, tensor(2)) if len(operands) > 2 else product
    return getattr(ops, op)()(*(tensor(position) for position in range(len(operands))))


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_DTYPES = {"bool": "bool_"}


if __name__ == "__main__":
    main(sys.argv[1:])
