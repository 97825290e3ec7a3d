"""Builds a kernel from its composite JSON; writes a library and a JSON file for MindSpore."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ms_fusion.accuracy.replay import replay
from ms_fusion.graph import Graph
from ms_fusion.kernel_server import compile_cache
from ms_fusion.kernel_server.compile_cache import StoredSequence
from ms_fusion.kernel_server.entry import emit_entry
from ms_fusion.kernel_server.publishing import is_c_identifier, publish
from ms_fusion.kernel_server.sequence_assembly import compile_own, has_library_operators
from ms_fusion.kernel_server.stubs import stub
from ms_fusion.ledger import Build, BuildStep
from ms_fusion.lowering import plan_choice
from ms_fusion.lowering.composite_lowering import LoweredGroup, lower_composite
from ms_fusion.lowering.float64_operators import widen_to_float64
from ms_fusion.ops.call import numpy_dtype
from ms_fusion.readers.composite import CompositeKernel, parse_kernel
from tbe_impl import compat, environment
from tbe_impl.codegen.program import write_program_and_layout
from tbe_impl.errors import CompileError, FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime import compiler

log = logging.getLogger("ms_fusion")
MALLOC_OFFSET_BYTES = 16
"""Offset in bytes of MindSpore's tensors from the start of a cache line.

MindSpore allocates tensors with `malloc`, which writes a header before each block of memory.
"""


class AkgV2Driver:
    """Builds one kernel for MindSpore's own compile server.

    MindSpore's server creates an `AkgV2Driver` for each fused kernel. Our compile server does not
    use this class, but calls the functions `build` and `stand_in`.

    Args:
        input_file: file ``OP.info`` with the kernel's description.
        output_dir: directory into which ``OP.so`` and ``OP.json`` are written.
        bisheng_tools_dir, dynamic_shape: ignored. Kernels with dynamic shapes are always rejected.
    """

    def __init__(
        self,
        input_file: str,
        output_dir: str,
        bisheng_tools_dir: str = "",
        dynamic_shape: bool = False,
    ):
        self.input_file, self.output_dir = Path(input_file), Path(output_dir)

    def compile(self) -> None:
        """Builds the kernel in `output_dir`; after a failure, creates a substitute by `stand_in`.

        Raises:
            RuntimeError: the build failed, even if there is a substitute. MindSpore may then run
                the kernel's operators one by one.
        """
        text = self.input_file.read_text("utf-8")
        try:
            build(text, self.output_dir)
        except FusionError as error:
            stand_in(text, self.output_dir, str(error))
            raise RuntimeError(str(error)) from error


def build(text: str, directory: Path) -> None:
    """Builds a kernel from its description; writes the kernel to `directory` and the compile cache.

    Raises:
        FusionError: any error that `compile_kernel` raises.
        ParseError: `text` is not a kernel description.
    """
    kernel = parse_kernel(text, file="the kernel's description")
    started, compiled, key = (
        time.perf_counter(),
        compiler.count_compiled_libraries(),
        compile_cache.key_of(text),
    )
    made = compile_kernel(kernel)
    seconds = round(time.perf_counter() - started, 3)
    publish(
        made.built,
        kernel.name,
        directory,
        Build(made.steps, seconds, compiler.count_compiled_libraries() == compiled),
    )
    if made.lasting:
        compile_cache.remember(text, key, made.built, made.steps, made.row)


def stand_in(text: str, directory: Path, why: str) -> bool:
    """Creates a slow substitute for a kernel that could not be built.

    The substitute is a small library, a stub. The stub computes each operator of the kernel by a
    NumPy formula, in the process that calls the kernel. Without the stub, MindSpore would run the
    operators of some kernels one by one, but would crash for other kernels.

    Returns:
        True if the stub was created. False if an operator has no formula for its inputs, or if the
        kernel's name is not a C identifier.

    Args:
        text: the kernel's description.
        directory: directory that MindSpore searches for the kernel's library.
        why: the reason why the build failed, for the report of `explain`.

    Raises:
        ParseError, CompileError, MissingError: the stub cannot be built.
    """
    kernel = parse_kernel(text, file="the kernel's description")
    if not is_c_identifier(kernel.name) or not _has_formulas(kernel.graph):
        return False
    steps = (BuildStep("numpy", tuple(node.op for node in kernel.graph)),)
    built = compiler.build(_stub(kernel), symbols=(kernel.name,))
    publish(built, kernel.name, directory, Build(steps, why=why))
    return True


def _has_formulas(graph: Graph) -> bool:
    """Returns whether the NumPy formulas of the operators can compute the graph.

    A formula that fails during a later call would end the user's process. So the function evaluates
    the formulas on zeros beforehand.
    """
    values = [graph.values[name] for name in graph.inputs]
    try:
        replay(
            graph,
            {
                one.name: np.zeros(tuple(map(int, one.shape)), numpy_dtype(one.dtype))
                for one in values
            },
        )
    except (FusionError, TypeError, ValueError):
        return False
    return True


def _stub(kernel: CompositeKernel) -> str:
    return stub(kernel.name, len(kernel.graph.inputs) + len(kernel.graph.outputs))


class BuiltKernel(NamedTuple):
    """A compiled kernel.

    Attributes:
        built: library that exports a C function with the kernel's name.
        steps: descriptions of the compiled parts of the kernel, for the report of `explain`.
        row: if the library is a stub (`ms_fusion.kernel_server.stubs`), the sequence of kernels
            that the stub calls; else None.
        lasting: whether the result may be cached. `lasting` is False in two cases. In the first
            case, compilation with the chosen options failed and other options were used. In the
            second case, the kernel sequence cannot be stored.
    """

    built: Path
    steps: tuple[BuildStep, ...]
    row: StoredSequence | None = None
    lasting: bool = True


def compile_kernel(kernel: CompositeKernel) -> BuiltKernel:
    """Compiles a kernel, or reuses its compiled code from the kernel cache.

    Raises:
        InputError: an operator, dtype or shape is not supported.
        CompileError, MissingError: the compiler fails or is missing.
    """
    if not is_c_identifier(kernel.name):
        raise InputError("the kernel's name is not a name in C", got=repr(kernel.name[:80]))
    if has_library_operators(kernel.graph):
        # Compiling now reports errors to the compile server instead of at the first call.
        steps, row = compile_own(kernel)
        built = compiler.build(_stub(kernel), symbols=(kernel.name,))
        return BuiltKernel(built, steps, row, lasting=row is not None)
    with compat.installed(soc="cpu"):
        graph = widen_to_float64(kernel.graph)
        group = lower_composite(replace(kernel, graph=graph))
        own = plan_choice.default_kernel(group, graph.inputs)
        try:
            return _compile_group(group, graph, plan_choice.choose_options(own, group, graph))
        except CompileError as error:
            log.info("kernel %s is split into one nest per operator: %s", kernel.name, error)
            return _compile_group(
                group, graph, plan_choice.split_per_operator(own, group, graph)
            )._replace(lasting=False)


def _compile_group(group: LoweredGroup, graph: Graph, own: Kernel) -> BuiltKernel:
    """Compiles a group of fused operators with the options and the thread count of `own`.

    The code assumes the alignment of MindSpore's buffers (`MALLOC_OFFSET_BYTES`).
    """
    own = replace(own, options=replace(own.options, offset=MALLOC_OFFSET_BYTES))
    program, layout = write_program_and_layout(
        group.results, group.inputs, name=group.name, options=own.options
    )
    source = program.source + emit_entry(
        group, program, layout, own.threads or environment.threads()
    )
    steps = (BuildStep("c", tuple(node.op for node in graph), len(layout.nests)),)
    return BuiltKernel(
        compiler.build(source, options=own.options.compiler_options(), symbols=(group.name,)), steps
    )
