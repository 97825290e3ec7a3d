"""Builds one kernel: its description in; its library and MindSpore's record of it out."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ms_fusion.accuracy.formulas import numpy_dtype
from ms_fusion.accuracy.replay import replay
from ms_fusion.formats.composite import Composite, parse_kernel
from ms_fusion.graph import Graph
from ms_fusion.kernel_server import compile_cache, plan_choice
from ms_fusion.kernel_server.compile_cache import Row
from ms_fusion.kernel_server.composite_lowering import Group, translate
from ms_fusion.kernel_server.entry import entry
from ms_fusion.kernel_server.float64_operators import in_float64
from ms_fusion.kernel_server.publishing import is_name, publish
from ms_fusion.kernel_server.sequence_assembly import compile_own, needs_library
from ms_fusion.kernel_server.stubs import stub
from ms_fusion.ledger import Build, BuildStep
from tbe_impl import compat, environment
from tbe_impl.codegen.program import write_laid_out
from tbe_impl.errors import CompileError, FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime import compiler

log = logging.getLogger("ms_fusion")
ALLOCATED_BEHIND = 16
"""Bytes from a line of the cache to where MindSpore's tensors begin: it calls `malloc`, which keeps a note before each block."""


class AkgV2Driver:
    """What MindSpore's own compile server makes for each fused kernel.

    Args:
        input_file: the kernel's description, ``OP.info``.
        output_dir: where ``OP.so`` and ``OP.json`` go.
        bisheng_tools_dir, dynamic_shape: not used; sizes that are not known are refused.
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
        """Builds it.

        Raises:
            RuntimeError: it cannot be built; MindSpore may split the group then.
        """
        text = self.input_file.read_text("utf-8")
        try:
            build(text, self.output_dir)
        except FusionError as error:
            stand_in(text, self.output_dir, str(error))
            raise RuntimeError(str(error)) from error


def build(text: str, directory: Path) -> None:
    """Builds the kernel of a description, and puts it where MindSpore looks for it; what it became is kept as an answer.

    Raises:
        FusionError: as `library`; `ParseError` for a text that is no kernel.
    """
    kernel = parse_kernel(text, file="the kernel's description")
    started, compiled, key = time.perf_counter(), compiler.count_made(), compile_cache.key_of(text)
    made = library(kernel)
    seconds = round(time.perf_counter() - started, 3)
    publish(
        made.built,
        kernel.name,
        directory,
        Build(made.steps, seconds, compiler.count_made() == compiled),
    )
    if made.lasting:
        compile_cache.remember(text, key, made.built, made.steps, made.row)


def stand_in(text: str, directory: Path, why: str) -> None:
    """Puts in the place of a kernel that could not be built one that is computed by its formulas, in the process that calls it.

    MindSpore takes some groups back and dies of others. One with an operator that has no formula for these inputs is left to it.

    Args:
        why: what stood in the way.

    Raises:
        ParseError, CompileError, MissingError: that cannot be done either.
    """
    kernel = parse_kernel(text, file="the kernel's description")
    if not is_name(kernel.name) or not _has_formulas(kernel.graph):
        return
    steps = (BuildStep("numpy", tuple(node.op for node in kernel.graph)),)
    built = compiler.build(_stub(kernel), symbols=(kernel.name,))
    publish(built, kernel.name, directory, Build(steps, why=why))


def _has_formulas(graph: Graph) -> bool:
    """Whether NumPy computes it: tried before anybody calls it, since a call that fails ends the process."""
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


def _stub(kernel: Composite) -> str:
    return stub(kernel.name, len(kernel.graph.inputs) + len(kernel.graph.outputs))


class Made(NamedTuple):
    """A compiled kernel.

    Attributes:
        built: its library, which exports a function of the kernel's name.
        steps: for the ledger.
        row: what it calls, where it is a stub.
        lasting: whether it would come out so again: not where the compiler failed, or the row is no function in C.
    """

    built: Path
    steps: tuple[BuildStep, ...]
    row: Row | None = None
    lasting: bool = True


def library(kernel: Composite) -> Made:
    """The compiled kernel, from the cache or made now.

    Raises:
        InputError: something in it is not built; CompileError, MissingError: the compiler.
    """
    if not is_name(kernel.name):
        raise InputError("the kernel's name is no name in C", got=repr(kernel.name[:80]))
    if needs_library(kernel.graph):
        # what cannot be built is known here, not at the first call
        ours = compile_own(kernel)
        built = compiler.build(_stub(kernel), symbols=(kernel.name,))
        return Made(built, ours.steps, ours.row, lasting=ours.row is not None)
    with compat.installed(soc="cpu"):
        graph = in_float64(kernel.graph)
        group = translate(replace(kernel, graph=graph))
        own = plan_choice.plain(group, graph.inputs)
        try:
            return _compiled(group, graph, plan_choice.chosen(own, group, graph))
        except CompileError as error:
            log.info("kernel %s is cut into its operators: %s", kernel.name, error)
            return _compiled(group, graph, plan_choice.apart(own, group, graph))._replace(
                lasting=False
            )


def _compiled(group: Group, graph: Graph, own: Kernel) -> Made:
    """It, made as the options of `own` say, for tensors as MindSpore allocates them."""
    own = replace(own, options=replace(own.options, offset=ALLOCATED_BEHIND))
    program, layout = write_laid_out(
        group.results, group.inputs, name=group.name, options=own.options
    )
    source = program.source + entry(group, program, layout, own.threads or environment.threads())
    steps = (BuildStep("c", tuple(node.op for node in graph), len(layout.nests)),)
    return Made(
        compiler.build(source, options=own.options.compiler_options(), symbols=(group.name,)), steps
    )
