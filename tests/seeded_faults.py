"""The table of `tests.fault_seeding`: small faults in product code with their test folders."""

from __future__ import annotations

from dataclasses import dataclass

CODEGEN = ("tests/tbe_impl/codegen", "tests/tbe_impl/runtime", "tests/golden_code")
DSL = ("tests/tbe_impl/dsl",)
OPERATORS = ("tests/custom_ops",)
SERVER = ("tests/ms_fusion/kernel_server",)
PRESETS = ("tests/ms_fusion/mindspore/presets",)
ONNX = ("tests/ms_fusion/onnx/fuse",)
CELL = ("tests/ms_fusion/onnx/cell",)
COST = ("tests/ms_fusion/cost", "tests/ms_fusion/rules")
WHY = ("tests/ms_fusion/why_not", "tests/ms_fusion/capture")
REPORT = ("tests/ms_fusion/report",)


@dataclass(frozen=True)
class Fault:
    """A text that occurs once in a file, and a plausible mistake in its place.

    Attributes:
        what: the kind of mistake, in a few words.
        path: the file, from the root of the repository.
        before, after: the text and the mistake.
        rooms: the tests that should detect it, beside those of the file's own room.
    """

    what: str
    path: str
    before: str
    after: str
    rooms: tuple[str, ...]


FAULTS = (
    # tbe_impl: the code generator
    Fault(
        "wrong tail of a vector loop",
        "tbe_impl/codegen/passes/vector_tails.py",
        "rest = () if is_whole else mask_lanes(whole, loop.rest_count)",
        "rest = () if is_whole else whole",
        CODEGEN,
    ),
    Fault(
        "streaming head counts elements, not bytes",
        "tbe_impl/codegen/nest_writer.py",
        'ir.op("div", ir.Cast(ir.INDEX, behind), ir.Int(size))',
        "ir.Cast(ir.INDEX, behind)",
        CODEGEN,
    ),
    Fault(
        "saturation forgotten",
        "tbe_impl/codegen/include/vector_convert.h",
        "return i32_select(x >= 0x1p31f, i32_splat(INT32_MAX), y);",
        "return y;",
        CODEGEN,
    ),
    Fault(
        "NaN converted to the lowest integer",
        "tbe_impl/codegen/include/vector_convert.h",
        "i32v y = __builtin_convertvector(x, i32v) & (x == x);",
        "i32v y = __builtin_convertvector(x, i32v);",
        CODEGEN,
    ),
    Fault(
        "hull of a tile too small",
        "tbe_impl/codegen/tiles.py",
        "one.size + Poly.from_int(most - least))",
        "one.size)",
        CODEGEN,
    ),
    Fault(
        "row maxima without NaN checks where they are shown",
        "tbe_impl/codegen/passes/row_maxima.py",
        "        and _is_summed(body, body.source, uses)\n",
        "",
        CODEGEN,
    ),
    Fault(
        "running sum along another axis",
        "tbe_impl/codegen/scans.py",
        "shape[axis : axis + 1], shape[axis + 1 :]",
        "shape[axis + 1 : axis + 2], shape[axis + 1 :]",
        CODEGEN,
    ),
    Fault(
        "−0 lost in a running sum",
        "tbe_impl/codegen/scans.py",
        'neutral = -0.0 if tag[0] == "f" and not begins else begins',
        "neutral = begins",
        CODEGEN,
    ),
    Fault(
        "scatter counts one axis less",
        "tbe_impl/codegen/scatter.py",
        "lead = use.rows.ndim - result.ndim + 1",
        "lead = use.rows.ndim - result.ndim",
        CODEGEN,
    ),
    Fault(
        "loop pieces exchanged at a split index",
        "tbe_impl/codegen/planning/index_ranges.py",
        'settles = condition.op == "or"',
        'settles = condition.op == "and"',
        CODEGEN,
    ),
    Fault(
        "stale cache key: flags are no part",
        "tbe_impl/runtime/compiler.py",
        "source=digest, headers=_headers(), compiler=compiler.identity, flags=flags",
        "source=digest, headers=_headers(), compiler=compiler.identity, flags=()",
        ("tests/tbe_impl/codegen", "tests/tbe_impl/runtime/test_store.py"),
    ),
    Fault(
        "last row of an edge written twice",
        "tbe_impl/codegen/passes/streaming_store_edges.py",
        'ir.op("lt", ir.op("add", number, Int(1)), rows.end, kind=FLAG)',
        'ir.op("lt", number, rows.end, kind=FLAG)',
        CODEGEN,
    ),
    # tbe_impl: DSL, interpreter, cache, loading
    Fault(
        "rounding to the device forgotten",
        "tbe_impl/interpreter/evaluate.py",
        'if self.rounding != "float64" or not is_float(dtype):',
        "if not is_float(dtype):",
        ("tests/tbe_impl/codegen", *DSL),
    ),
    Fault(
        "remainder of integers in float32",
        "tbe_impl/dsl/operations/elementwise.py",
        'if x.dtype in ("float64", "int64", "uint64", "int32", "uint32") else "float32"',
        'if x.dtype in ("float64", "int64", "uint64") else "float32"',
        DSL,
    ),
    Fault(
        "gradient of a maximum of a row goes to nobody",
        "tbe_impl/autodiff/stage_adjoints.py",
        'if body.op == "sum":',
        'if body.op in ("sum", "max"):',
        DSL,
    ),
    Fault(
        "negative slice step ends one early",
        "tbe_impl/dsl/operations/ext_arrays.py",
        "high = (size if step > 0 else -1) if last is None else last",
        "high = (size if step > 0 else 0) if last is None else last",
        DSL,
    ),
    Fault(
        "gather reads behind the end",
        "tbe_impl/dsl/operations/indexing.py",
        'holds = make_binary("and", place >= 0, place < size)',
        'holds = make_binary("and", place >= 0, place <= size)',
        DSL,
    ),
    Fault(
        "segment with a number too large is counted",
        "tbe_impl/dsl/operations/segments.py",
        "inside = (numbers >= 0) & (numbers < count)",
        "inside = (numbers >= 0) & (numbers <= count)",
        DSL,
    ),
    Fault(
        "buffers on chip are never too large",
        "tbe_impl/chip/auto_schedule.py",
        "if not too_large or (more == cut_at and not merge):",
        "if True:",
        DSL,
    ),
    Fault(
        "cache entry of a group that may write",
        "tbe_impl/runtime/store_entry.py",
        "if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):",
        "if status.st_mode & stat.S_IWOTH:",
        ("tests/tbe_impl/runtime/test_store.py",),
    ),
    Fault(
        "hash of an entry without its content",
        "tbe_impl/runtime/store_entry.py",
        "digest = hashlib.sha256(content)",
        "digest = hashlib.sha256(content[:0])",
        ("tests/tbe_impl/runtime/test_store.py",),
    ),
    Fault(
        "size of the store forgets an entry",
        "tbe_impl/runtime/store_size.py",
        "return sum(map(int, lines))",
        "return sum(map(int, lines[1:]))",
        ("tests/tbe_impl/runtime/test_store_size.py", "tests/tbe_impl/runtime/test_store.py"),
    ),
    Fault(
        "classify: axis counted from the wrong end",
        "tbe_impl/compat/shape_util.py",
        "return axis % rank",
        "return axis",
        ("tests/tbe_impl/compat", "tests/tbe_impl/operator_files"),
    ),
    Fault(
        "missing lock around the installed names",
        "tbe_impl/compat/install.py",
        "        if _depth > 1:",
        "        if _depth > 0:",
        ("tests/tbe_impl/compat",),
    ),
    # custom_ops
    Fault(
        "slope of Swish without its factor",
        "custom_ops/operators/swish.py",
        "return dsl.cast_to(dsl.vmul(g, swish_slope(a, beta)), x.dtype)",
        "return dsl.cast_to(dsl.vmul(g, swish_slope(a)), x.dtype)",
        OPERATORS,
    ),
    Fault(
        "attribute of an operator is ignored",
        "custom_ops/operators/swish.py",
        "    (a,) = widen_inputs(x)\n    return dsl.cast_to(swish(a, beta), promote_dtype(x))",
        "    (a,) = widen_inputs(x)\n    return dsl.cast_to(swish(a, 1.0), promote_dtype(x))",
        OPERATORS,
    ),
    Fault(
        "broadcast axis missed",
        "custom_ops/core/pointwise.py",
        "if axis < lacking or (",
        "if axis <= lacking or (",
        OPERATORS,
    ),
    Fault(
        "height of a convolution off by one",
        "custom_ops/onednn/geometry.py",
        "height = (self.x[2] + above + below - self.reach[0]) // self.stride[0] + 1",
        "height = (self.x[2] + above - self.reach[0]) // self.stride[0] + 1",
        ("tests/custom_ops/onednn", "tests/custom_ops/operators"),
    ),
    Fault(
        "dropout keeps what it should drop",
        "custom_ops/operators/bias_dropout_add.py",
        "if not 0 <= dropped < 1:",
        "if not 0 <= dropped <= 1:",
        OPERATORS,
    ),
    Fault(
        "NMS drops boxes that overlap as much as allowed",
        "custom_ops/operators/nms.py",
        "gone = common / ops.masked_fill(union, union == 0, 1.0) > iou_threshold",
        "gone = common / ops.masked_fill(union, union == 0, 1.0) >= iou_threshold",
        ("tests/custom_ops/operators",),
    ),
    Fault(
        "memory of a chain reused too early",
        "tbe_impl/runtime/sequence.py",
        "if offset + held_bytes <= begin:",
        "if offset <= begin:",
        OPERATORS,
    ),
    # ms_fusion: reading, cost, reasons, report
    Fault(
        "error names the line before",
        "ms_fusion/readers/composite.py",
        'line = data.count(b"\\n", 0, at) + 1',
        'line = data.count(b"\\n", 0, at)',
        ("tests/ms_fusion/readers",),
    ),
    Fault(
        "bytes of a scalar counted",
        "ms_fusion/cost/work.py",
        "for value in values if value.elements > 1)",
        "for value in values if value.elements > 0)",
        COST,
    ),
    Fault(
        "an assignment reads what it overwrites",
        "ms_fusion/cost/work.py",
        'read = rest if node.op == "Assign" else (target, *rest)',
        "read = (target, *rest)",
        COST,
    ),
    Fault(
        "one launch too many is saved",
        "ms_fusion/cost/benefit.py",
        "launches = sum(work.launches for work in apart) - 1",
        "launches = sum(work.launches for work in apart)",
        (*COST, *ONNX),
    ),
    Fault(
        "wrong reason for a transpose",
        "ms_fusion/why_not/splitter.py",
        'code = "splitter-transpose" if node.op == "Transpose" else "splitter-opaque"',
        'code = "splitter-opaque"',
        WHY,
    ),
    Fault(
        "size limit off by one",
        "ms_fusion/why_not/splitter.py",
        "if total > pair.given.limit:",
        "if total >= pair.given.limit:",
        WHY,
    ),
    Fault(
        "a name ends the script element",
        "ms_fusion/report/html.py",
        "text = text.replace(character, escape)",
        "text = text.replace(character, character)",
        REPORT,
    ),
    Fault(
        "units in the last place of the wrong dtype",
        "ms_fusion/accuracy/ulp.py",
        '"bfloat16": (7, -126, 127)',
        '"bfloat16": (10, -126, 127)',
        ("tests/ms_fusion/accuracy",),
    ),
    # ms_fusion: kernels inside MindSpore, presets
    Fault(
        "a kernel's name becomes C unchecked",
        "ms_fusion/kernel_server/publishing.py",
        "return bool(name) and set(name) <= SYMBOL_CHARACTERS and not name[0].isdigit()",
        "return bool(name) and not name[0].isdigit()",
        SERVER,
    ),
    Fault(
        "an output overwrites an input that is read later",
        "ms_fusion/kernel_server/sequence_assembly.py",
        "target in later or not may_overwrite(",
        "not may_overwrite(",
        ("tests/ms_fusion/lowering",),
    ),
    Fault(
        "integer quotient cut to an integer",
        "ms_fusion/lowering/composite_lowering.py",
        'node.op == "Div"\n        and node.outputs[0]',
        'node.op == "RealDiv"\n        and node.outputs[0]',
        ("tests/ms_fusion/kernel_server",),
    ),
    Fault(
        "window one place too far",
        "ms_fusion/ops/pooling_lowering.py",
        "inside = place - window * where.strides[number] < where.spans[number]",
        "inside = place - window * where.strides[number] <= where.spans[number]",
        ("tests/ms_fusion/lowering",),
    ),
    Fault(
        "precise preset hands over to our generator",
        "ms_fusion/mindspore/presets/generator_choice.py",
        'if wanted and preset == "precise"\n',
        'if wanted and preset == "basic"\n',
        PRESETS,
    ),
    Fault(
        "a failing operator is tried again",
        "ms_fusion/mindspore/presets/compile_retry.py",
        "if not operator or operator in attempt.out or len(attempt.out) == MAX_EXCLUDED:",
        "if not operator or len(attempt.out) == MAX_EXCLUDED:",
        PRESETS,
    ),
    Fault(
        "samples along the batch axis mixed",
        "ms_fusion/mindspore/specialize/batch_axis.py",
        "return item.axis < begin % len(operator.shapes[0])",
        "return item.axis <= begin % len(operator.shapes[0])",
        ("tests/ms_fusion/mindspore/specialize",),
    ),
    # ms_fusion: ONNX
    Fault(
        "padding on the wrong side",
        "ms_fusion/ops/onnx_windows.py",
        'if mode == "SAME_UPPER" else (more, less)',
        'if mode == "SAME_LOWER" else (more, less)',
        ONNX,
    ),
    Fault(
        "slope of a leaky ReLU dropped",
        "ms_fusion/ops/activations.py",
        "return np.where(x < 0, x * slope, x)",
        "return np.where(x < 0, x, x)",
        ONNX,
    ),
    Fault(
        "groups that share an operator are both chosen",
        "ms_fusion/onnx/fuse/selection.py",
        "rest[number] = rest[number + 1] + worth[items[number]]",
        "rest[number] = worth[items[number]]",
        ONNX,
    ),
    Fault(
        "beta of Gemm dropped",
        "ms_fusion/onnx/cell/functions.py",
        "found = found + (c if beta == 1.0 else c * beta)",
        "found = found + c",
        CELL,
    ),
    Fault(
        "softmax of an old model over one axis",
        "ms_fusion/onnx/cell/operators.py",
        "if use.version < 13 and axis != use.rank() - 1:",
        "if use.version < 11 and axis != use.rank() - 1:",
        CELL,
    ),
)
