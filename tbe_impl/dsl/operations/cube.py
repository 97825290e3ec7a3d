"""DSL operations of the matrix unit: matrix products, plain or blocked, single or batched."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array
from tbe_impl.dsl.expr import Const, Expr, const
from tbe_impl.dsl.layouts import BLOCK, from_nz, from_zn, to_nz
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_tensor, may_equal
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import (
    DslCall,
    Tensor,
    as_shape,
    compute,
    fresh_name,
    library_stage,
    shape_text,
)
from tbe_impl.errors import InputError

FORMATS = ("ND", "FRACTAL_NZ", "FRACTAL_Z")


def _check_format(word: str, tensor: Tensor, given: Any, argument: str) -> str:
    text = str(given).upper().replace("FRACTAL_ZN_RNN", "FRACTAL_Z")
    text = "FRACTAL_NZ" if text == "FRACTAL" else "ND" if text in ("NHWC", "NCHW") else text
    if text not in FORMATS:
        raise InputError(
            f"{word}: unknown {argument}",
            place=str(user_location()),
            expected=" or ".join(FORMATS),
            got=repr(given),
        )
    least = 2 if text == "ND" else 4
    if tensor.ndim < least and not (text == "ND" and tensor.ndim == 1):
        raise InputError(
            f"{word}: {tensor.name} is not a matrix in {text}",
            place=str(user_location()),
            expected=f"{least} axes or more",
            got=shape_text(tensor.shape),
        )
    return text


def _matrix_shape(shape: tuple[Expr, ...], layout: str, *, transposed: bool) -> tuple[Expr, ...]:
    if layout == "ND":
        lead, rows, columns = (
            shape[:-2],
            shape[-2] if len(shape) > 1 else const(1),
            shape[-1],
        )
    else:
        lead, (c1, r1, r0, c0) = shape[:-4], shape[-4:]
        rows, columns = r1 * r0, c1 * c0
        if layout == "FRACTAL_Z":
            rows, columns = columns, rows
    return (*lead, columns, rows) if transposed else (*lead, rows, columns)


def _to_matrix(x: Array, layout: str, *, transposed: bool) -> Array:
    if x.ndim == 1:
        x = x[None, :]
    made = {"ND": lambda a: a, "FRACTAL_NZ": from_nz, "FRACTAL_Z": from_zn}[layout](x)
    return np.swapaxes(made, -1, -2) if transposed else made


def _build_product(
    word: str,
    a: Tensor,
    b: Tensor,
    *,
    trans_a: Any,
    trans_b: Any,
    format_a: Any,
    format_b: Any,
    dst_dtype: Any,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    bias: Tensor | None = None,
    format_out: Any = None,
    batches: Any = None,
) -> Tensor:
    """Builds the stage alpha · a · b + beta · bias.

    If `bias` is a row and beta is 0, beta is treated as 1.

    `batches` is passed to `_broadcast_batches`.
    """
    first, second = check_tensor(word, a, "tensor_a"), check_tensor(word, b, "tensor_b")
    first, second = _broadcast_batches(word, first, second, batches or (None, None))
    layouts = (
        _check_format(word, first, format_a, "format_a"),
        _check_format(word, second, format_b, "format_b"),
    )
    # CANN operators invert the flag of a matrix in FRACTAL_NZ before the call
    turned = [
        bool(flag) != (layout == "FRACTAL_NZ")
        for flag, layout in zip((trans_a, trans_b), layouts, strict=True)
    ]
    left = _matrix_shape(first.shape, layouts[0], transposed=turned[0])
    right = _matrix_shape(second.shape, layouts[1], transposed=turned[1])
    if not may_equal(left[-1], right[-2]):
        raise InputError(
            f"{word}: the matrices do not fit",
            place=str(user_location()),
            expected=f"{left[-1]} rows in {second.name}, as many as {first.name} has columns",
            got=f"{right[-2]} ({shape_text(first.shape)} in {layouts[0]}, "
            f"{shape_text(second.shape)} in {layouts[1]})",
            remedy="Look at trans_a and trans_b; in FRACTAL_NZ they are the other way round",
        )
    lead = _broadcast_batch_shape(word, left[:-2], right[:-2])
    blocked = "NZ" in str(format_out).upper() if format_out else "ND" not in layouts
    rows, columns = left[-2], right[-1]
    shape = (*lead, rows, columns)
    if blocked:
        shape = (
            *lead,
            (columns + BLOCK - 1) // BLOCK,
            (rows + BLOCK - 1) // BLOCK,
            const(BLOCK),
            const(BLOCK),
        )
    extra = [item for item in (alpha, beta, bias) if isinstance(item, Tensor)]
    parameters = {
        "layouts": layouts,
        "turned": tuple(turned),
        "blocked": blocked,
        "alpha": "tensor" if isinstance(alpha, Tensor) else float(alpha),
        "beta": "tensor" if isinstance(beta, Tensor) else float(beta),
        "bias": None if bias is None else "tensor",
    }
    use = DslCall("matmul", (first, second, *extra), parameters)
    (made,) = library_stage(fresh_name(word), [as_shape(shape)], [dst_dtype], use, tag="matmul")
    return made


def _broadcast_batches(
    word: str, first: Tensor, second: Tensor, batches: tuple[Any, Any]
) -> tuple[Tensor, Tensor]:
    """Broadcasts the batches of two batched matrices against each other.

    In each tensor, the first axis merges all batch axes. The function returns both tensors
    unchanged if the sizes of the merged axes are unknown.

    Args:
        word: name of the DSL operation, for messages.
        first, second: the batched matrices.
        batches: for each tensor, the sizes of the batch axes before the merge. If an entry is None,
            the attribute ``ori_batch_shape`` of the tensor's operation is used instead.
    """
    own = [
        _batch_sizes(given, tensor) for given, tensor in zip(batches, (first, second), strict=True)
    ]
    if None in own:
        return first, second
    rank = max(len(sizes or ()) for sizes in own)
    filled = [(1,) * (rank - len(sizes or ())) + tuple(sizes or ()) for sizes in own]
    try:
        whole = tuple(int(size) for size in np.broadcast_shapes(*filled))
    except ValueError:
        raise InputError(
            f"{word}: the batches differ",
            place=str(user_location()),
            expected=f"{own[0]} ({first.name})",
            got=f"{own[1]} ({second.name})",
        ) from None
    return _broadcast_batch(first, filled[0], whole), _broadcast_batch(second, filled[1], whole)


def _batch_sizes(given: Any, tensor: Tensor) -> tuple[int, ...] | None:
    """Returns the batch sizes that were merged into the first axis of a tensor.

    Returns None if these sizes are unknown, or if their product is not the size of the first axis.
    """
    sizes = given if given is not None else tensor.op.attrs.get("ori_batch_shape")
    if sizes is None or any(
        isinstance(size, Expr) and not isinstance(size, Const) for size in sizes
    ):
        return None
    known = tuple(int(size.value) if isinstance(size, Const) else int(size) for size in sizes)
    batch = tensor.shape[0]
    is_merged = tensor.ndim in (3, 5) and isinstance(batch, Const) and batch.value == prod(known)
    return known if is_merged else None


def _broadcast_batch(tensor: Tensor, own: tuple[int, ...], whole: tuple[int, ...]) -> Tensor:
    """Broadcasts the merged batch axis of a tensor from the batch sizes `own` to `whole`.

    Returns the tensor itself if `own` equals `whole`, or if its batch is a single matrix.
    """
    if own == whole or prod(own) == 1:
        return tensor

    def body(number: Expr, *index: Expr) -> Expr:
        at: Any = const(0)
        for axis, size in enumerate(own):
            if size != 1:
                at = at * size + number // prod(whole[axis + 1 :]) % size
        return tensor(at, *index)

    return compute((prod(whole), *tensor.shape[1:]), body, fresh_name("batches"))


def _broadcast_batch_shape(
    word: str, one: tuple[Expr, ...], other: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    length = max(len(one), len(other))
    padded = [(const(1),) * (length - len(lead)) + lead for lead in (one, other)]
    made = []
    for x, y in zip(*padded, strict=True):
        if not (is_one(x) or is_one(y) or may_equal(x, y)):
            raise InputError(
                f"{word}: the batches differ",
                place=str(user_location()),
                expected=shape_text(one),
                got=shape_text(other),
            )
        made.append(y if is_one(x) else x)
    return tuple(made)


def _matmul(
    a: Array,
    b: Array,
    *rest: Array,
    layouts: Any,
    turned: Any,
    blocked: bool,
    alpha: Any,
    beta: Any,
    bias: Any,
) -> Array:
    more = iter(rest)
    scale = next(more).reshape(()) if alpha == "tensor" else alpha
    weight = next(more).reshape(()) if beta == "tensor" else beta
    added = next(more) if bias else None
    x, y = (
        _to_matrix(a, layouts[0], transposed=turned[0]),
        _to_matrix(b, layouts[1], transposed=turned[1]),
    )
    if x.dtype.kind in "iub":
        x, y = x.astype(np.int32), y.astype(np.int32)
    found = np.matmul(x, y)
    if scale != 1:
        found = found * scale
    if added is not None:
        if added.ndim >= 4 and blocked:
            added = from_nz(added)
        plain_row = added.ndim == 1 or added.shape[-2] == 1
        # a row bias is padded to whole blocks
        added = added[..., : found.shape[-1]] if plain_row else added
        found = found + added * (1 if plain_row and weight == 0 else weight)
    return to_nz(found) if blocked else found


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    trans_a: bool = False,
    trans_b: bool = False,
    format_a: str = "ND",
    format_b: str = "ND",
    alpha_num: Any = 1.0,
    beta_num: Any = 0.0,
    dst_dtype: str = "float16",
    tensor_bias: Tensor | None = None,
    quantize_params: Any = None,
    format_out: Any = None,
    compress_index: Any = None,
    attrs: Any = None,
    kernel_name: str = "MatMul",
    **_: Any,
) -> Tensor:
    """Computes alpha · a · b + beta · bias.

    Args:
        tensor_a, tensor_b: matrices, or batches of matrices.
        trans_a, trans_b: whether to transpose the matrix. For a matrix in FRACTAL_NZ the flag has
            the opposite meaning, as in CANN.
        format_a, format_b: ``ND``, ``FRACTAL_NZ`` (N1, M1, M0, N0) or ``FRACTAL_Z``
            (K1, N1, N0, K0).
        alpha_num: factor of the product.
        beta_num: factor of the bias; if the bias is a row, 0 is treated as 1.
        dst_dtype: dtype of the result. Products are accumulated in float32, or in int32 for integer
            matrices.
        tensor_bias: a row or a matrix that is added to the product.
        format_out: ``FRACTAL_NZ`` or ``ND``. The default is ``FRACTAL_NZ`` if both matrices are in
            a block layout, else ``ND``.
    """
    return _build_product(
        "matmul",
        tensor_a,
        tensor_b,
        trans_a=trans_a,
        trans_b=trans_b,
        format_a=format_a,
        format_b=format_b,
        dst_dtype=dst_dtype,
        alpha=alpha_num,
        beta=beta_num,
        bias=tensor_bias,
        format_out=format_out,
        batches=_batch_options(attrs),
    )


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    trans_a: bool = False,
    trans_b: bool = False,
    format_a: str = "ND",
    format_b: str = "ND",
    dst_dtype: str = "float16",
    tensor_bias: Tensor | None = None,
    format_out: Any = None,
    **_: Any,
) -> Tensor:
    """Computes a · b for every matrix of a batch; the arguments are those of `matmul`."""
    return _build_product(
        "batch_matmul",
        tensor_a,
        tensor_b,
        trans_a=trans_a,
        trans_b=trans_b,
        format_a=format_a,
        format_b=format_b,
        dst_dtype=dst_dtype,
        bias=tensor_bias,
        format_out=format_out,
    )


def gemm(tensor_a: Tensor, tensor_b: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """Computes alpha · a · b + beta · c.

    The function has two signatures. The first signature is ``gemm(a, b, para_dict)`` with the keys
    alpha, beta, trans_a, trans_b, format_a, format_b, dst_dtype, tensor_c and format_out. The
    second signature is ``gemm(a, b, alpha, beta, trans_a, trans_b, format_a, format_b, dst_dtype,
    tensor_bias, …)``.
    """
    if args and isinstance(args[0], Mapping):
        options = dict(args[0])
    elif isinstance(keywords.get("para_dict"), Mapping):
        options = dict(keywords["para_dict"])
    else:
        names = (
            "alpha",
            "beta",
            "trans_a",
            "trans_b",
            "format_a",
            "format_b",
            "dst_dtype",
            "tensor_c",
        )
        aliases = {"tensor_alpha": "alpha", "tensor_beta": "beta", "tensor_bias": "tensor_c"}
        options = dict(zip(names, args, strict=False))
        options |= {aliases.get(name, name): value for name, value in keywords.items()}
    alpha, beta = options.get("alpha"), options.get("beta")
    return _build_product(
        "gemm",
        tensor_a,
        tensor_b,
        trans_a=options.get("trans_a", False),
        trans_b=options.get("trans_b", False),
        format_a=options.get("format_a") or "ND",
        format_b=options.get("format_b") or "ND",
        dst_dtype=options.get("dst_dtype") or "float16",
        alpha=_scalar_factor(alpha, 1.0),
        beta=_scalar_factor(beta, 0.0 if alpha is None else 1.0),
        bias=options.get("tensor_c"),
        format_out=options.get("format_out"),
        batches=_batch_options(options),
    )


def _batch_options(options: Any) -> tuple[Any, Any]:
    """Returns the options ``batch_shape_a`` and ``batch_shape_b``; a missing option is None."""
    given = options if isinstance(options, Mapping) else {}
    return given.get("batch_shape_a"), given.get("batch_shape_b")


def _scalar_factor(value: Any, default: float) -> Any:
    if value is None:
        return default
    return value.value if isinstance(value, Const) else value


OPERATIONS = (
    DslOperation("matmul", matmul, _matmul, "mmad"),
    DslOperation("batch_matmul", batch_matmul),
    DslOperation("gemm", gemm),
)
