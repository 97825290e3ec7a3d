"""Fast call path: calls the kernel of a single-kernel graph without MindSpore's executor.

For a small net, MindSpore's overhead per call takes as long as the computation. The overhead takes
several times longer if other code has evicted the data of the net from the processor's caches.

A graph is equivalent to its kernel under four conditions:

- Each kernel input is an argument or a parameter of the net.
- Each kernel output is a result of the net.
- The graph has the kernel's operators and no others.
- All operators are pure.

This module first observes one call through MindSpore: the address of each kernel buffer shows which
tensor of the net the buffer contains. Then the module calls the kernel directly with the same
inputs. If the kernel's results have the same bits as MindSpore's results, later calls of the net
run the kernel directly.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ms_fusion.graph import DTYPE_BYTES
from ms_fusion.kernel_server import launch_log
from ms_fusion.kernel_server.launch_log import watch_launches
from ms_fusion.mindspore.flags import own_generator_flags
from ms_fusion.mindspore.state import mindspore_state
from ms_fusion.ops import operators_with, selections, table
from ms_fusion.ops.op_info import Trait
from ms_fusion.readers.composite import CompositeKernel, parse_kernel
from tbe_impl.errors import FusionError

__all__ = ["DirectKernel", "find_direct_kernel", "watch_launches"]

FORWARDING_OPERATORS = operators_with(Trait.FORWARDING)
"""Operators that only forward their operands."""
PURE_OPERATORS = selections.CPU_CLUSTER_OPS | frozenset(own_generator_flags.CLUSTERED_OPERATORS)
"""Operators whose results depend only on their inputs.

They have the same name in a graph of MindSpore and in the description of a kernel.
"""
EXPANSIONS: Mapping[str, tuple[str, ...]] = table(lambda operator: operator.mindspore.expansion)
"""Other pure operators, each mapped to the basic operators into which MindSpore expands it.

MindSpore expands these operators before clustering.
"""
SCALAR_BYTES = 16
"""Upper bound of the size of a scalar, in bytes."""
DUMP_VARIABLE = "MINDSPORE_DUMP_CONFIG"
"""Environment variable that makes MindSpore dump the tensors of its kernels."""
MAX_OUTPUT_ARRAYS = 4
"""Maximum number of cached output arrays for each result of the net.

A caller in a loop holds a few results at a time and releases the oldest ones. The arrays are freed
only with the net, since another thread may still read one of them.
"""
OutputArray = tuple[np.ndarray, int]
"""A NumPy array that receives a result of the kernel, and its address."""


class KernelParameter(NamedTuple):
    """A net parameter that the kernel reads, and the parameter's address in MindSpore's launch."""

    parameter: Any
    address: int


class KernelResult(NamedTuple):
    """Shape and dtype of a result of the net, and a pool of arrays that can hold this result."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    arrays: list[OutputArray]


class DirectKernel:
    """A kernel that is equivalent to a graph of MindSpore and is called instead of the graph.

    Args:
        launch: the recorded launch of the kernel by MindSpore.
        sources: for each kernel input, the tensor of the net that is passed as this input. The
            entry is the index of an argument of the net's call, or a `KernelParameter`.
        results: for each kernel output, the corresponding result of the net.
        order: for each result of the net, the index of the corresponding kernel output, or None if
            the net returns a single tensor.

    Attributes:
        is_outdated: whether a parameter has moved to another address. This object can then not be
            used any more. MindSpore executes the next calls, until a new object is created with the
            new address.
    """

    def __init__(
        self,
        launch: launch_log.Launch,
        sources: Sequence[int | KernelParameter],
        results: Sequence[KernelResult],
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
        # This skips the Python wrapper, which is needed only for non-contiguous arrays.
        self._tensor: Any = super(Tensor, Tensor).from_numpy  # type: ignore[misc]
        self._profiler = ProfilerInterface
        self._wait = api._pynative_executor._executor.sync

    def __call__(self, args: Sequence[Any]) -> Any:
        """Runs the kernel on `args`, the arguments of the net; returns the net's results.

        The tensors in `args` must have the shapes of the recorded launch. Returns None if MindSpore
        has to execute the call instead. This is so if MindSpore's profiler is initialized, a
        parameter has moved, or an argument is not contiguous.
        """
        if self._profiler.is_initialized:
            return None
        # After the wait all arguments are computed, and no pending kernel still reads an array that
        # this call may reuse.
        self._wait()
        places = []
        for source in self._sources:
            if isinstance(source, KernelParameter):
                if source.parameter.data_ptr() != source.address:
                    self.is_outdated = True
                    return None
                places.append(source.address)
                continue
            if not args[source].is_contiguous():
                return None
            places.append(args[source].data_ptr())
        arrays = [_take_array(result) for result in self._results]
        places += [address for _, address in arrays]
        self._kernel(None, self._offered, self._buffers(*places))
        made = [self._tensor(array) for array, _ in arrays]
        return made[0] if self._order is None else tuple(made[number] for number in self._order)


def _take_array(result: KernelResult) -> OutputArray:
    """Returns an unused array from the pool of output arrays of `result`, or a new array.

    An array is in use as long as a tensor, a view or another NumPy array uses the array's memory.
    Each of these objects holds a reference to the array.
    """
    found = _find_free(result.arrays, UNUSED_REFERENCES)
    if found is not None:
        return found
    array = np.empty(result.shape, result.dtype)
    address = array.ctypes.data
    if len(result.arrays) < MAX_OUTPUT_ARRAYS:
        result.arrays.append((array, address))
    # The tuple is a new one, so that it holds a reference of its own to the array.
    return array, address


def _find_free(arrays: Sequence[OutputArray], references: int) -> OutputArray | None:
    for array, address in arrays:
        # a concurrent caller holds a reference as well
        if sys.getrefcount(array) == references:
            return array, address
    return None


UNUSED_REFERENCES = next(number for number in range(1, 9) if _find_free([(np.empty(0), 0)], number))
"""Reference count that `_find_free` sees for an array that only the pool holds."""


def find_direct_kernel(
    cell: Any, phase: str, args: Sequence[Any], result: Any, seen: Sequence[launch_log.Launch]
) -> DirectKernel | None:
    """Returns the kernel that is equivalent to a graph, or None if no kernel is equivalent.

    Args:
        cell: the Cell that was called, which is the whole net.
        phase: the name under which MindSpore stores the graph.
        args: arguments of the net's last call; all are tensors.
        result: the result of the last call.
        seen: the kernel launches that were recorded during the last call.
    """
    if len(seen) != 1 or os.environ.get(DUMP_VARIABLE):
        return None
    (launch,) = seen
    kernel = _read_description(launch.name)
    if kernel is None or len(launch.buffers) != len(kernel.graph.inputs) + len(
        kernel.graph.outputs
    ):
        return None
    found = _match_by_address(cell, args, result, launch, kernel)
    if found is None or not _is_whole_graph(phase, kernel, cell, args):
        return None
    again = found(args)
    return found if again is not None and _has_same_bits(again, result) else None


def _match_by_address(
    cell: Any, args: Sequence[Any], result: Any, launch: launch_log.Launch, kernel: CompositeKernel
) -> DirectKernel | None:
    """Matches the buffers of a kernel launch to arguments, parameters and results by address.

    Returns None if two of these tensors have the same address, or if a buffer is not exactly the
    memory of one of these tensors.
    """
    from mindspore import Tensor

    graph = kernel.graph
    sizes = [_size_bytes(kernel, name) for name in (*graph.inputs, *graph.outputs)]
    inputs, outputs = np.split(np.array(launch.buffers, np.uint64), [len(graph.inputs)])
    results = result if type(result) is tuple else (result,)
    if not all(type(one) is Tensor for one in results):
        return None
    parameters = [one for one in cell.get_parameters() if not one.has_init]
    known = _index_by_address((*args, *parameters))
    made = _index_by_address(results)
    if known is None or made is None or len(made) != len(outputs) or known.keys() & made.keys():
        return None
    sources: list[int | KernelParameter] = []
    for place, size in zip(map(int, inputs), sizes, strict=False):
        number = known.get(place)
        if number is None or not _is_whole((*args, *parameters)[number], size):
            return None
        if number < len(args):
            sources.append(number)
        else:
            sources.append(KernelParameter(parameters[number - len(args)], place))
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
        found.append(KernelResult(tuple(results[number].shape), dtype, []))
        order[number] = output
    return DirectKernel(
        launch,
        sources,
        found,
        None if results is not result else [order[number] for number in range(len(results))],
    )


def _index_by_address(tensors: Sequence[Any]) -> Mapping[int, int] | None:
    """Returns a dict from a tensor's address to its index, or None if two addresses are equal."""
    found = {tensor.data_ptr(): number for number, tensor in enumerate(tensors)}
    return found if len(found) == len(tensors) else None


def _is_whole(tensor: Any, size: int | None) -> bool:
    return size is not None and 0 < size == tensor.nbytes and bool(tensor.is_contiguous())


def _size_bytes(kernel: CompositeKernel, name: str) -> int | None:
    value = kernel.graph.values[name]
    sizes = [size for size in value.shape if isinstance(size, int)]
    known = len(sizes) == len(value.shape) and value.dtype in DTYPE_BYTES
    return math.prod(sizes) * DTYPE_BYTES[value.dtype] if known else None


def _numpy_dtype(tensor: Any) -> np.dtype[Any] | None:
    """Returns the NumPy dtype of a tensor, or None if NumPy has no equivalent dtype.

    A NumPy dtype is equivalent if `Tensor.from_numpy` converts it back to the dtype of the tensor.
    For example, the result is None for bfloat16.
    """
    from mindspore import Tensor

    dtype = tensor.asnumpy().dtype
    try:
        back = Tensor.from_numpy(np.empty(0, dtype)).dtype
    except TypeError:
        return None
    return dtype if back is tensor.dtype else None


def _read_description(name: str) -> CompositeKernel | None:
    """Reads MindSpore's composite JSON of a kernel; returns None if it is unreadable."""
    file = mindspore_state.kernel_directory() / mindspore_state.KERNELS / f"{name}.info"
    try:
        return parse_kernel(file.read_text("utf-8"), file=file.name)
    except (OSError, FusionError):
        return None


def _is_whole_graph(phase: str, kernel: CompositeKernel, cell: Any, args: Sequence[Any]) -> bool:
    """Returns whether a graph has exactly the kernel's operators, and all these operators are pure.

    A constant tensor of the graph could have the same address as an argument or a parameter. A
    buffer at this address could then be either of the two, so the result is False. The result is
    also False if the graph reads a parameter that is not a parameter of `cell`.
    """
    from mindspore._c_expression import GraphExecutor_
    from mindspore.train import anf_ir_pb2

    model = anf_ir_pb2.ModelProto()
    model.ParseFromString(GraphExecutor_.get_instance().get_func_graph_proto(phase, "anf_ir"))
    graph, registered = model.graph, list(cell.get_parameters())
    # A call of another graph, for example a branch, has no operator type, and so it is not pure.
    names = [node.op_type for node in graph.node if node.op_type not in FORWARDING_OPERATORS]
    if any(name not in PURE_OPERATORS and name not in EXPANSIONS for name in names):
        return False
    wanted = Counter(one for name in names for one in EXPANSIONS.get(name, (name,)))
    if wanted != Counter(node.op for node in kernel.graph if node.op not in FORWARDING_OPERATORS):
        return False
    # A constant tensor may have the address of an argument or a parameter. This is impossible for a
    # scalar if all arguments and parameters are larger than a scalar.
    constant = max((_size_of_tensors(one.value) for one in graph.const_vals), default=0)
    least = min((one.nbytes for one in (*args, *registered)), default=0)
    if constant > 1 or (constant and least <= SCALAR_BYTES):
        return False
    return {one.name for one in graph.parameters[len(args) :]} <= {one.name for one in registered}


def _size_of_tensors(value: Any) -> int:
    """Returns the element count of the largest tensor in a constant, or 0 without tensors.

    A constant may be a nested tuple that contains tensors.
    """
    own = math.prod(value.tensor_val.dims) if value.HasField("tensor_val") else 0
    return max([own, *map(_size_of_tensors, value.values)])


def _has_same_bits(one: Any, other: Any) -> bool:
    pairs = zip(*(item if type(item) is tuple else (item,) for item in (one, other)), strict=True)
    return all(np.array_equal(_bytes_of(first), _bytes_of(second)) for first, second in pairs)


def _bytes_of(tensor: Any) -> np.ndarray:
    return np.frombuffer(tensor.asnumpy(), np.uint8)
