"""Emits the C entry function of a kernel; MindSpore calls the generated code through it.

MindSpore 2.10 calls ``void NAME(void *callback, int *threads, void **buffers)``. The array
`buffers` contains the addresses of the inputs, then the addresses of the outputs. The entry
function ignores `callback` and `threads`, because the kernel uses our own thread pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from ms_fusion.kernel_server.stubs import akg_entry_alias, launch_report, subnormals
from ms_fusion.lowering.composite_lowering import LoweredGroup, size_bytes
from tbe_impl.codegen.planning.partition import may_overwrite
from tbe_impl.codegen.program import Layout, Program
from tbe_impl.dsl.tensor import Tensor


def emit_entry(group: LoweredGroup, program: Program, layout: Layout, threads: int) -> str:
    """Returns the C code of the entry function that MindSpore calls.

    In the C file, this code must follow the code of `program`.
    """
    count = len(group.inputs)
    known = {id(tensor) for tensor in group.inputs}
    places, after, made, missing = [], [], [], []
    for number, (tensor, targets) in enumerate(zip(group.results, group.places, strict=True)):
        first, *others = targets
        source = f"all[{first}]"
        if first < count and not may_overwrite(group.inputs[first], tensor, layout.nests, known):
            size = size_bytes(tensor)
            made.append(f"void *beside{number} = aligned_alloc(64, {(size + 127) // 64 * 64});")
            missing.append(f"!beside{number}")
            after.append(f"memcpy(all[{first}], beside{number}, {size});")
            source = f"beside{number}"
        after += [f"memcpy(all[{other}], {source}, {size_bytes(tensor)});" for other in others]
        places.append(source)
    frees = [f"free(beside{n});" for n in range(len(places)) if places[n] == f"beside{n}"]
    inputs = [f"all[{_index(group.inputs, tensor)}]" for tensor in program.inputs]
    outputs = [places[_index(group.results, tensor)] for tensor in program.outputs]
    written = {place for targets in group.places for place in targets if place >= count}
    declared, noted = launch_report(group.name, count + len(written))
    lines = [
        declared,
        f"void {group.name}(void *callback, int *offered, void **all) {{",
        "(void)callback; (void)offered;",
        noted,
        *made,
        "const unsigned long floats = keep_subnormals();",
        f"void *buffers[] = {{{', '.join([*inputs, *outputs])}}};",
        f"if ({' || '.join([*missing, ''])}{program.symbol}(buffers, 0, {threads})) {{",
        f'fprintf(stderr, "ms_fusion: {group.name} ran out of memory\\n"); abort(); }}',
        "restore_subnormals(floats);",
        *after,
        *frees,
        "}",
        *akg_entry_alias(group.name),
    ]
    return (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        + subnormals()
        + "\n".join(lines)
        + "\n"
    )


def _index(tensors: Sequence[Tensor], wanted: Tensor) -> int:
    return next(number for number, tensor in enumerate(tensors) if tensor is wanted)
