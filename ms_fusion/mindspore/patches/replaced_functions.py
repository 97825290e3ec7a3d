"""Lists the functions of MindSpore that we replace, with the file and time of the replacement.

`docs/mindspore_patches.md` is generated from this table. A test compares the table with the
functions that are replaced in a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ms_fusion import ops


@dataclass(frozen=True)
class Replacement:
    """A function, method or attribute of MindSpore that is replaced or added.

    Attributes:
        name: qualified name, which begins with the defining module.
        file: our source file that defines the replacement.
        why: purpose of the replacement.
    """

    name: str
    file: str
    why: str


FIRST_PRESET = (
    "replaced by the first `enable()`, `fusion()`, `explain()` or `patch(net)`, until the process "
    "ends; the replacements have no effect without a preset"
)
LOCK = (
    "replaced by the first `enable(lock=True)`, until the process ends; "
    "each call checks whether the lock is on"
)
WARNING = "replaced by `enable()` in PyNative mode, until the first Cell is called"
COMPILATION = (
    "replaced during each compilation for our generator; restored when the compilation ends, also "
    "if it ends with an error"
)
IMPORT = (
    "replaced when `custom_ops` and MindSpore are both imported (in either order), until the "
    "process "
    "ends; not replaced with `MS_FUSION=off`"
)
OPERATORS = (
    "replaced when an operator of `custom_ops` is first imported as MindSpore's primitive, until "
    "the "
    "process ends"
)
PATCHED_NETS = (
    "replaced by the first `custom_ops.patch(net)`, until the process ends; for nets that are not "
    "patched, the replacement calls MindSpore's own function"
)
COMPILE_SERVER = "replaced in the process of the compile server, until it ends"

CELL = "mindspore.nn.cell.Cell"
GRAPH_EXECUTOR = "mindspore._c_expression.GraphExecutor_"
JIT_EXECUTOR = "mindspore._c_expression.JitExecutor_"
PYNATIVE_EXECUTOR = "mindspore.graph.api._PyNativeExecutor"
PRIMITIVE = "mindspore.ops.primitive.PrimitiveWithInfer"
PARSER_TABLE = "mindspore.graph._parse.resources.convert_object_map"

_SCOPES = "ms_fusion/mindspore/presets/scopes.py"
_PYNATIVE = "ms_fusion/mindspore/presets/pynative.py"
_LOCK = "ms_fusion/mindspore/state/call_lock.py"
_CALLS = "ms_fusion/mindspore/calls/fast_call_path.py"
_BATCH_NORM = "ms_fusion/mindspore/patches/batch_norm.py"
_HOOK = "custom_ops/tbe_bridge/mindspore_hook.py"
_SERVER = "ms_fusion/compile_server/serve.py"


def _list_source_expansions() -> Iterator[Replacement]:
    """Lists the functions and Cells that `source_expansions` replaces."""
    file = "ms_fusion/mindspore/patches/source_expansions.py"
    for operator in ops.OPERATORS.values():
        expansion = operator.mindspore.source_expansion
        if expansion is None:
            continue
        function = expansion.function
        yield Replacement(
            f"{PARSER_TABLE}[{function.rpartition('.')[2]}]",
            file,
            f"expands `{function}` to basic operators",
        )
        for name, _ in expansion.cells:
            cell = name.replace("mindspore.nn.", "mindspore.nn.layer.activation.")
            yield Replacement(f"{cell}.construct", file, f"expands `{name}` to basic operators")
            yield Replacement(
                f"{cell}.construct_of_mindspore", file, "added: the original `construct`"
            )
            yield Replacement(
                f"{cell}.scalar_argument", file, f"added: the scalar argument of {operator.name}"
            )


REPLACED: dict[str, tuple[Replacement, ...]] = {
    FIRST_PRESET: (
        Replacement(
            f"{GRAPH_EXECUTOR}.compile", _SCOPES, "adds flags, lock and retry to a compilation"
        ),
        Replacement(f"{JIT_EXECUTOR}.compile", _SCOPES, "the same for `@ms.jit`"),
        Replacement(
            f"{GRAPH_EXECUTOR}.generate_arguments_key",
            _SCOPES,
            "adds the flags in force to the key of compiled graphs",
        ),
        Replacement(f"{JIT_EXECUTOR}.generate_arguments_key", _SCOPES, "the same for `@ms.jit`"),
        Replacement(f"{PYNATIVE_EXECUTOR}.grad", _PYNATIVE, "compiles gradients under the flags"),
        Replacement(f"{PYNATIVE_EXECUTOR}.grad_jit", _PYNATIVE, "the same for `@ms.jit`"),
        Replacement(
            "mindspore.ops.composite.base._pynative_func_grad_forward",
            _PYNATIVE,
            "ends the recording if the computation of a gradient fails",
        ),
        Replacement(f"{CELL}.__call__", _CALLS, "calls a graph of one kernel directly"),
        Replacement(f"{CELL}._check_construct_args", _CALLS, "looks up the signature only once"),
        Replacement(f"{CELL}.__setattr__", _CALLS, "sets plain attributes directly"),
        Replacement(f"{CELL}._predict", _CALLS, "finds the graph of the flags in force"),
        Replacement(f"{CELL}.compile_and_run", _CALLS, "runs the graph of a repeated call"),
        Replacement(f"{CELL}.compile_phase", _CALLS, "sets the phase of all Cells at once"),
    ),
    LOCK: (
        Replacement(f"{CELL}.__call__", _LOCK, "serialises calls from several threads"),
        Replacement("mindspore.graph.api._JitExecutor.__call__", _LOCK, "the same for `@ms.jit`"),
    ),
    WARNING: (Replacement(f"{CELL}.__call__", _PYNATIVE, "names the net that is not compiled"),),
    COMPILATION: (
        Replacement(
            "mindspore.nn.layer.normalization._BatchNorm.construct",
            _BATCH_NORM,
            "expands batch normalisation to basic operators",
        ),
        Replacement(
            "mindspore.nn.layer.normalization._BatchNorm.construct_of_mindspore",
            _BATCH_NORM,
            "added: the original `construct`, for inputs that are not expanded",
        ),
        Replacement(f"{PARSER_TABLE}[batch_norm]", _BATCH_NORM, "the same for `ops.batch_norm`"),
        Replacement(
            f"{PARSER_TABLE}[batch_norm_ext]",
            _BATCH_NORM,
            "the same for `mindspore.mint.nn.functional.batch_norm`",
        ),
        Replacement(
            f"{PARSER_TABLE}[pad]",
            "ms_fusion/mindspore/patches/padding.py",
            "replaces `mindspore.ops.pad`, whose gradient is wrong in MindSpore 2.10",
        ),
        Replacement(
            "mindspore.nn.layer.activation.LeakyReLU.bprop",
            "ms_fusion/mindspore/patches/leaky_relu.py",
            "added: computes the gradient from the result, which keeps one array, not three",
        ),
        *_list_source_expansions(),
    ),
    IMPORT: (
        Replacement(
            f"{PRIMITIVE}.__setattr_flag__",
            _HOOK,
            "added: MindSpore's parser calls `_clone` only if a primitive has this attribute",
        ),
        Replacement(
            f"{PRIMITIVE}._clone",
            _HOOK,
            "replaces a primitive that has a registered TBE function; the replacement runs this "
            "function on CPU",
        ),
        Replacement(f"{PRIMITIVE}.check_elim", _HOOK, "the same in PyNative mode"),
        Replacement(
            "mindspore.ops.op_info_register.Oplib",
            _HOOK,
            "records the registrations of TBE functions",
        ),
        Replacement(
            "mindspore.ops.operations.custom_ops.Custom._update_func_imply_path",
            _HOOK,
            "finds the file of a TBE function without running it",
        ),
    ),
    OPERATORS: (
        Replacement(
            f"{PYNATIVE_EXECUTOR}.set_mixed_precision_type",
            "custom_ops/core/pynative_fast_path.py",
            "counts Cells with mixed precision, because the fast path is off inside them",
        ),
    ),
    PATCHED_NETS: (
        Replacement(
            "mindspore.train.amp._auto_mixed_precision_rewrite",
            "custom_ops/patching/mixed_precision.py",
            "applies level O1 of `ms.amp` to a patched net",
        ),
    ),
    COMPILE_SERVER: (
        Replacement("AkgBuilderBase.compile", _SERVER, "builds each kernel in a separate process"),
        Replacement(
            "AkgBuilderBase.accept_json", _SERVER, "refuses kernels that MindSpore builds wrongly"
        ),
    ),
}
"""Maps a description of a period to the functions that are replaced in this period."""


def page() -> str:
    """Returns the content of `docs/mindspore_patches.md`."""
    parts = [
        "# Functions of MindSpore that are replaced",
        "",
        "This page is generated from `ms_fusion/mindspore/patches/replaced_functions.py`. In cases "
        "to which a replacement does",
        "not apply, it calls MindSpore's own function. A function that another package has already "
        "replaced is left unchanged or",
        "wrapped. With `MS_FUSION=off`, `enable()` and the import of `custom_ops` replace nothing.",
    ]
    for when, replacements in REPLACED.items():
        parts += [
            "",
            f"## {when[0].upper()}{when[1:]}",
            "",
            "| function | replaced in | purpose |",
            "|---|---|---|",
        ]
        parts += [f"| `{one.name}` | `{one.file}` | {one.why} |" for one in replacements]
    return "\n".join(parts) + "\n"
