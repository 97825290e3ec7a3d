"""Fast call path: calls the kernel of a graph that is one kernel, without MindSpore's executor.

MindSpore takes as long for a call of a net as a small net takes to be computed, and where a net has moved more bytes than the
caches hold, several times that. What there is to know of a call is what the kernel was called with: when each of its inputs is an
argument or a parameter of the net, and each of its outputs is a result, and the graph has its operators and no others, of which none
changes anything, then the kernel is the graph. It is found so from a call that MindSpore makes, tried once beside it, and used when
both give the same bits.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ms_fusion import operators
from ms_fusion.formats.composite import Composite, parse_kernel
from ms_fusion.graph import DTYPE_BYTES
from ms_fusion.kernel_server import launch_log
from ms_fusion.kernel_server.launch_log import watched
from ms_fusion.presets import mindspore_state, own_generator_flags
from tbe_impl.errors import FusionError

__all__ = ["Direct", "direct", "watched"]

PASSED_ON = frozenset(
    "Depend Load MakeTuple TupleGetItem UpdateState Reshape ExpandDims Squeeze Flatten".split()
)
"""Operators that hand on what they get."""
PURE = operators.CPU_CLUSTERED | frozenset(own_generator_flags.CLUSTERED)
"""Operators of which each result follows from its inputs, and which change nothing; a kernel has them by the same name."""
SPELLED_OUT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Adds": ("Add",),
        "Subs": ("Sub",),
        "Muls": ("Mul",),
        "Divs": ("Div",),
        "Pows": ("Pow",),
        "BiasAdd": ("Add",),
        "ReLU": ("Maximum",),
        "SiLU": ("Sigmoid", "Mul"),
        "SumExt": ("ReduceSum",),
        "Softmax": ("ReduceMax", "Sub", "Exp", "ReduceSum", "RealDiv"),
        "LayerNorm": (
            "ReduceSum",
            "Mul",
            "Sub",
            "Mul",
            "ReduceSum",
            "Mul",
            "Add",
            "Rsqrt",
            "Mul",
            "Mul",
            "Add",
        ),
    }
)
"""Others of that kind, and what MindSpore makes of them before there are kernels."""
SCALAR_BYTES = 16
"""No number has more."""
DUMPS = "MINDSPORE_DUMP_CONFIG"
"""Has MindSpore write down what its kernels compute."""
KEPT_OUTPUTS = 4
"""Arrays at most that are kept for one result, made when all others are held: who calls in a loop holds one, or some, gives one back
and gets another, of which the memory is there. None goes while the net lives: another thread may be looking at it."""
Made = tuple[np.ndarray, int]
"""An array and its address."""


class Parameter(NamedTuple):
    """A parameter of the net that the kernel reads, and where it lay."""

    parameter: Any
    address: int


class Result(NamedTuple):
    """A result of the net, and arrays for it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    arrays: list[Made]


class Direct:
    """The kernel that is a graph.

    Args:
        launch: how MindSpore called it.
        sources: of each of its inputs the number of an argument, or a parameter.
        results: of each of its outputs the result of the net.
        order: of each result of the net the number of the output; None where the net has one that is no tuple.

    Attributes:
        is_outdated: a parameter was moved: MindSpore makes the next calls, of which one shows whether it reads it where it is now.
    """

    def __init__(
        self,
        launch: launch_log.Launch,
        sources: Sequence[int | Parameter],
        results: Sequence[Result],
        order: Sequence[int] | None,
    ):
        from mindspore import Tensor
        from mindspore.graph import api
        from mindspore.profiler.profiler_interface import ProfilerInterface

        self._kernel, self._sources = launch.kernel, sources
        self._results, self._order = results, order
        self._buffers = ctypes.c_void_p * len(launch.buffers)
        self._threads = ctypes.c_int(1)
        self._offered = ctypes.addressof(self._threads)
        self.is_outdated = False
        # without what their Python makes of arrays that are not whole
        self._tensor: Any = super(Tensor, Tensor).from_numpy  # type: ignore[misc]
        self._profiler = ProfilerInterface
        self._wait = api._pynative_executor._executor.sync

    def __call__(self, args: Sequence[Any]) -> Any:
        """The results for tensors of the types and shapes that it was found with; None where MindSpore has to make the call."""
        if self._profiler.is_initialized:
            return None
        # of what is on its way nobody reads an array any more that is written to again, and all arguments are there
        self._wait()
        places = []
        for source in self._sources:
            if isinstance(source, Parameter):
                if source.parameter.data_ptr() != source.address:
                    self.is_outdated = True
                    return None
                places.append(source.address)
                continue
            if not args[source].is_contiguous():
                return None
            places.append(args[source].data_ptr())
        arrays = [_array(result) for result in self._results]
        places += [address for _, address in arrays]
        self._kernel(None, self._offered, self._buffers(*places))
        made = [self._tensor(array) for array, _ in arrays]
        return made[0] if self._order is None else tuple(made[number] for number in self._order)


def _array(result: Result) -> Made:
    """One that nobody else has: whoever has a tensor of it, a view of that or its NumPy array, holds a reference."""
    found = _free(result.arrays, NOBODYS)
    if found is not None:
        return found
    array = np.empty(result.shape, result.dtype)
    address = array.ctypes.data
    if len(result.arrays) < KEPT_OUTPUTS:
        result.arrays.append((array, address))
    # another pair than the one that is kept, so that it is a reference too
    return array, address


def _free(arrays: Sequence[Made], references: int) -> Made | None:
    for array, address in arrays:
        # whoever asks at the same time has a reference as well
        if sys.getrefcount(array) == references:
            return array, address
    return None


NOBODYS = next(number for number in range(1, 9) if _free([(np.empty(0), 0)], number))
"""References to an array that is only in the list, as they are counted there."""


def direct(
    cell: Any, phase: str, args: Sequence[Any], result: Any, seen: Sequence[launch_log.Launch]
) -> Direct | None:
    """What stands for a graph; None where it is more than a kernel, or does more.

    Args:
        cell: the net.
        phase: MindSpore's name for the graph.
        args: tensors that it was just called with.
        result: what came of that.
        seen: launches meanwhile.
    """
    if len(seen) != 1 or os.environ.get(DUMPS):
        return None
    (launch,) = seen
    kernel = _description(launch.name)
    if kernel is None or len(launch.buffers) != len(kernel.graph.inputs) + len(
        kernel.graph.outputs
    ):
        return None
    found = _matched(cell, args, result, launch, kernel)
    if found is None or not _is_all(phase, kernel, cell, args):
        return None
    again = found(args)
    return found if again is not None and _same_bits(again, result) else None


def _matched(
    cell: Any, args: Sequence[Any], result: Any, launch: launch_log.Launch, kernel: Composite
) -> Direct | None:
    """By the addresses that the kernel was called with."""
    from mindspore import Tensor

    graph = kernel.graph
    sizes = [_bytes(kernel, name) for name in (*graph.inputs, *graph.outputs)]
    inputs, outputs = np.split(np.array(launch.buffers, np.uint64), [len(graph.inputs)])
    results = result if type(result) is tuple else (result,)
    if not all(type(one) is Tensor for one in results):
        return None
    parameters = [one for one in cell.get_parameters() if not one.has_init]
    known = _by_address((*args, *parameters))
    made = _by_address(results)
    if known is None or made is None or len(made) != len(outputs) or known.keys() & made.keys():
        return None
    sources: list[int | Parameter] = []
    for place, size in zip(map(int, inputs), sizes, strict=False):
        number = known.get(place)
        if number is None or not _is_whole((*args, *parameters)[number], size):
            return None
        if number < len(args):
            sources.append(number)
        else:
            sources.append(Parameter(parameters[number - len(args)], place))
    found, order = [], {}
    for output, (place, size) in enumerate(
        zip(map(int, outputs), sizes[len(inputs) :], strict=True)
    ):
        number = made.get(place)
        if number is None or not _is_whole(results[number], size):
            return None
        dtype = _numpy_dtype(results[number])
        if dtype is None:
            return None
        found.append(Result(tuple(results[number].shape), dtype, []))
        order[number] = output
    return Direct(
        launch,
        sources,
        found,
        None if results is not result else [order[number] for number in range(len(results))],
    )


def _by_address(tensors: Sequence[Any]) -> Mapping[int, int] | None:
    """Address → number of the tensor there; None where two lie at the same."""
    found = {tensor.data_ptr(): number for number, tensor in enumerate(tensors)}
    return found if len(found) == len(tensors) else None


def _is_whole(tensor: Any, size: int | None) -> bool:
    return size is not None and 0 < size == tensor.nbytes and bool(tensor.is_contiguous())


def _bytes(kernel: Composite, name: str) -> int | None:
    value = kernel.graph.values[name]
    sizes = [size for size in value.shape if isinstance(size, int)]
    known = len(sizes) == len(value.shape) and value.dtype in DTYPE_BYTES
    return math.prod(sizes) * DTYPE_BYTES[value.dtype] if known else None


def _numpy_dtype(tensor: Any) -> np.dtype[Any] | None:
    """None for what a NumPy array cannot be made a tensor of, such as bfloat16."""
    from mindspore import Tensor

    dtype = tensor.asnumpy().dtype
    try:
        back = Tensor.from_numpy(np.empty(0, dtype)).dtype
    except TypeError:
        return None
    return dtype if back is tensor.dtype else None


def _description(name: str) -> Composite | None:
    """What MindSpore wrote down of a kernel."""
    file = mindspore_state.kernel_directory() / mindspore_state.KERNELS / f"{name}.info"
    try:
        return parse_kernel(file.read_text("utf-8"), file=file.name)
    except (OSError, FusionError):
        return None


def _is_all(phase: str, kernel: Composite, cell: Any, args: Sequence[Any]) -> bool:
    """Whether a graph has the operators of the kernel and no others, all of them pure, and no tensor that could be taken for another."""
    from mindspore._c_expression import GraphExecutor_
    from mindspore.train import anf_ir_pb2

    model = anf_ir_pb2.ModelProto()
    model.ParseFromString(GraphExecutor_.get_instance().get_func_graph_proto(phase, "anf_ir"))
    graph, registered = model.graph, list(cell.get_parameters())
    # what calls another graph, such as a branch, has no type
    names = [node.op_type for node in graph.node if node.op_type not in PASSED_ON]
    if any(name not in PURE and name not in SPELLED_OUT for name in names):
        return False
    wanted = Counter(one for name in names for one in SPELLED_OUT.get(name, (name,)))
    if wanted != Counter(node.op for node in kernel.graph if node.op not in PASSED_ON):
        return False
    # a tensor among the constants may lie where an argument or a parameter does, but for a number beside larger ones
    constant = max((_size_of_tensors(one.value) for one in graph.const_vals), default=0)
    least = min((one.nbytes for one in (*args, *registered)), default=0)
    if constant > 1 or (constant and least <= SCALAR_BYTES):
        return False
    return {one.name for one in graph.parameters[len(args) :]} <= {one.name for one in registered}


def _size_of_tensors(value: Any) -> int:
    """The most elements of a tensor in a constant; 0 where there is none."""
    own = math.prod(value.tensor_val.dims) if value.HasField("tensor_val") else 0
    return max([own, *map(_size_of_tensors, value.values)])


def _same_bits(one: Any, other: Any) -> bool:
    pairs = zip(*(item if type(item) is tuple else (item,) for item in (one, other)), strict=True)
    return all(np.array_equal(_bytes_of(first), _bytes_of(second)) for first, second in pairs)


def _bytes_of(tensor: Any) -> np.ndarray:
    return np.frombuffer(tensor.asnumpy(), np.uint8)
