"""Arithmetic of one, two and three operands, and rounding.

This module exceeds 500 lines because the records of the arithmetic operators belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ms_fusion.ops.call import (
    Array,
    Call,
    binary,
    fold,
    is_float,
    nary,
    numpy_dtype,
    unary,
)
from ms_fusion.ops.dsl_rules import dsl_operation
from ms_fusion.ops.late_imports import dsl, np
from ms_fusion.ops.op_info import (
    CAST_FROM_FLOAT,
    CLUSTERED_BY_DEFAULT,
    CLUSTERED_BY_DEFAULT_ON_ASCEND,
    CLUSTERED_BY_FLAG,
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    ELEMENTWISE,
    FLOATS,
    INTEGERS,
    ROOT_STEPS,
    SINGLE_AND_HALF,
    SINGLE_HALF_AND_INT32,
    UNSIGNED_INTEGERS,
    Advice,
    Cluster,
    Expand,
    MindSporeFusion,
    MindSporeGenerator,
    OnnxOperator,
    OpInfo,
    Trait,
    VerifiedFlag,
    WorkRule,
    elementwise,
)
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from ms_fusion.graph import Node


def _divide(x: Array, y: Array) -> Array:
    """Computes x / y; an integer quotient is truncated toward zero, and is 0 if y = 0."""
    if x.dtype.kind not in "iu":
        return np.true_divide(x, y)
    safe = np.where(y == 0, 1, y)
    quotient = np.floor_divide(x, safe)
    truncated = quotient + ((np.remainder(x, safe) != 0) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, 0, truncated).astype(x.dtype)


def _floor_divide(x: Array, y: Array) -> Array:
    return (
        np.floor(np.true_divide(x, y))
        if x.dtype.kind == "f"
        else np.floor_divide(x, np.where(y == 0, 1, y))
    )


def _floor_modulo(x: Array, y: Array) -> Array:
    """Computes the remainder with the sign of the divisor."""
    return np.mod(x, y) if x.dtype.kind == "f" else np.mod(x, np.where(y == 0, 1, y))


def _modulo(x: Array, y: Array) -> Array:
    """Computes the remainder with the sign of the dividend, as in C and in MindSpore 2.10."""
    return np.fmod(x, y) if x.dtype.kind == "f" else np.fmod(x, np.where(y == 0, 1, y))


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(np.asarray(y) < 0):
        return np.power(x.astype(np.float64), y).astype(x.dtype)
    return np.power(x, y)


def _cast(call: Call) -> Array:
    """Casts to the dtype of the result; casts from float to integer truncate toward zero."""
    source, name = call.inputs[0], call.output.dtype
    if name == "bool":
        return source != 0
    if is_float(name):
        return source.astype(numpy_dtype(name)).astype(call.dtype)
    return (
        np.trunc(source).astype(np.int64).astype(name)
        if source.dtype.kind == "f"
        else source.astype(name)
    )


def _bias_add(call: Call) -> Array:
    """Adds the bias along the channel axis, which is axis 1, or the last axis for NHWC."""
    source, bias = call.inputs[:2]
    behind = source.ndim - 1 - bias_axis(call.node, source.ndim)
    return source + (bias.reshape((-1,) + (1,) * behind) if behind else bias)


def bias_axis(node: Node, ndim: int) -> int:
    return ndim - 1 if ndim <= 2 or "NHWC" in str(node.attr("data_format")) else 1


def _cast_factor(x: Array, factor: Any) -> Any:
    """Returns `factor`; casts it to the dtype of `x` if `x` is integer or bool.

    MindSpore casts the factor in the same way.
    """
    return factor.astype(x.dtype) if x.dtype.kind in "iub" else factor


def _subtract_scaled(x: Array, y: Array, factor: Any) -> Any:
    """Computes x − factor · y; for bool `x`, returns whether this difference is nonzero."""
    away = _cast_factor(x, factor) * y
    return x != away if x.dtype == bool else x - away


def _hypotenuse(x: Array, y: Array) -> Any:
    """Computes √(x² + y²) without overflow of the squares."""
    large, small = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    share = small / np.where(large == 0, 1 + 0 * large, large)
    return np.where(np.isinf(large), large, large * np.sqrt(1 + share * share))


def _lower_divide(call: Call) -> Any:
    x, y = call.inputs
    whole = all(item.dtype.kind in "iub" for item in call.inputs)
    return x.astype(np.float32) / y.astype(np.float32) if whole else x / y


def _lower_power(call: Call) -> Any:
    """Computes a power; powers of integers wrap around.

    For a negative exponent −n, a power of integers is the quotient 1 / xⁿ, truncated to an integer.
    If x = 0 and the exponent is negative, the result is the least integer, as in MindSpore.
    """
    x, y = call.inputs
    power = np.power(x, y)
    is_wide_integer = x.dtype.kind == y.dtype.kind == "i" and x.dtype.itemsize > 2
    if not is_wide_integer or (isinstance(y, np.ndarray) and (y >= 0).all()):
        return power
    return np.where((x == 0) & (y < 0), np.iinfo(x.dtype).min, power)


def _quotient_from_onnx(call: Call) -> Call:
    if all(item.dtype.kind != "f" for item in call.inputs):
        raise InputError("quotients of integers are not lowered", place=call.node.name)
    return call


def _modulo_from_onnx(call: Call) -> Call:
    """Rewrites ONNX's Mod as Mod for floats or if the attribute `fmod` is set, else as FloorMod.

    The remainder of Mod has the sign of the dividend. The remainder of FloorMod has the sign of the
    divisor.
    """
    is_floating = call.inputs[0].dtype.kind == "f"
    return call.in_form(op="Mod" if call.flag("fmod") or is_floating else "FloorMod")


OPERATORS = (
    elementwise(
        "Abs",
        onnx=("Abs",),
        formula=unary(np.abs),
        traits=Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS
        | Trait.NON_NEGATIVE
        | Trait.IDENTITY_ON_NON_NEGATIVE,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(precise=True),
    ),
    elementwise(
        "Neg",
        onnx=("Neg",),
        formula=unary(np.negative),
        traits=Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS
        | Trait.LINEAR,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(
            wrong="of uint32 gives 0", wrong_for=lambda source, _: source in UNSIGNED_INTEGERS
        ),
    ),
    elementwise(
        "Sign",
        onnx=("Sign",),
        formula=unary(np.sign),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT,
        mindspore=CLUSTERED_BY_FLAG,
        mindspore_generator=MindSporeGenerator(
            not_auto="a comparison with the sign of NaN differs", for_speed=True
        ),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "Square",
        formula=unary(np.square),
        traits=Trait.ANY_LAYOUT,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT),
        mindspore_generator=MindSporeGenerator(
            inaccurate_expansion=(
                "a float16 result becomes float32 where the kernel has several results"
            )
        ),
        whole=True,
    ),
    elementwise(
        "Sqrt",
        onnx=("Sqrt",),
        formula=unary(np.sqrt),
        traits=Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.LIMITED_DOMAIN
        | Trait.PRECISE_ON_ACCELERATORS
        | Trait.KEEPS_NON_NEGATIVE,
        flops=4,
        steps=ROOT_STEPS,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(
            crashes=True, crash_dtypes=INTEGERS | {"bool"}, precise=True
        ),
    ),
    elementwise(
        "Rsqrt",
        formula=unary(lambda x: 1 / np.sqrt(x)),
        lowering=dsl_operation(dsl.vrsqrt),
        traits=Trait.ANY_LAYOUT | Trait.LIMITED_DOMAIN,
        flops=4,
        steps=26,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "Reciprocal",
        onnx=("Reciprocal",),
        formula=unary(lambda x: 1 / x),
        traits=Trait.ANY_LAYOUT,
        flops=4,
        steps=12,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(
            wrong="of integers gives 0",
            wrong_for=lambda source, _: source in INTEGERS,
            inaccurate=(
                "of integers gives 0 (of floats it is right, and 1/x stays fusible as RealDiv)"
            ),
        ),
    ),
    elementwise(
        "Inv",
        formula=unary(lambda x: 1 / x),
        flops=4,
        steps=12,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "Floor",
        onnx=("Floor",),
        formula=unary(np.floor),
        traits=Trait.CORRECTLY_ROUNDED | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "Ceil",
        onnx=("Ceil",),
        formula=unary(np.ceil),
        traits=Trait.CORRECTLY_ROUNDED,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, ascend_level=0),
        advice=Advice(
            rewriting="-ops.floor(-x)",
            rewriting_operators=("Neg", "Floor"),
        ),
    ),
    elementwise(
        "Trunc",
        formula=unary(np.trunc),
        traits=Trait.CORRECTLY_ROUNDED,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, ascend_level=0),
    ),
    elementwise(
        "Round",
        formula=unary(np.rint),
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT),
        mindspore_generator=MindSporeGenerator(
            crashes=True,
            unsafe=(
                "MindSpore's own generator cannot build it; every kernel with it would fall apart"
            ),
        ),
    ),
    elementwise(
        "Rint",
        onnx=("Round",),
        formula=unary(np.rint),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "Cast",
        onnx=("Cast",),
        formula=_cast,
        lowering=lambda call: call.inputs[0].astype(numpy_dtype(call.output.dtype)),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        flops=0,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(
            wrong="float64 to float16 gives garbage",
            wrong_for=lambda source, target: (
                (source == "float64" and target == "float16")
                or (source in FLOATS and target not in CAST_FROM_FLOAT)
            ),
            refusal="NaN, inf and what does not fit come out differently",
            unsafe=(
                "a cast to float16 next to one that MindSpore inserts by itself cannot be built "
                "(mixed precision)"
            ),
        ),
    ),
    elementwise(
        "Add",
        onnx=("Add",),
        formula=binary(np.add),
        traits=Trait.COMMUTATIVE
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.KEEPS_ALL_NON_NEGATIVE,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "Sub",
        onnx=("Sub",),
        formula=binary(np.subtract),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "Mul",
        onnx=("Mul",),
        formula=binary(np.multiply),
        traits=Trait.COMMUTATIVE
        | Trait.LINEAR
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS
        | Trait.KEEPS_ALL_NON_NEGATIVE,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "Div",
        onnx=(OnnxOperator("Div", _quotient_from_onnx),),
        formula=binary(_divide),
        lowering=_lower_divide,
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.LINEAR,
        flops=4,
        steps=12,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source in INTEGERS,
            refusal="a division of integers by 0 ends the process",
            auto_cluster="0.5 → 0.5 ULP; NaN/0 is NaN as it should be (unfused: inf)",
        ),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "RealDiv",
        formula=binary(_divide),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.LINEAR,
        flops=4,
        steps=12,
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT, ascend_level=0, becomes="Div"),
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source in INTEGERS,
            refusal="a division of integers by 0 ends the process",
        ),
    ),
    elementwise(
        "FloorDiv",
        formula=binary(_floor_divide),
        flops=4,
        steps=60,
        mindspore=CLUSTERED_BY_FLAG,
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source in INTEGERS,
            refusal="a division of integers by 0 ends the process",
            auto_cluster="exact",
        ),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "Mod",
        onnx=(OnnxOperator("Mod", _modulo_from_onnx),),
        formula=binary(_modulo),
        flops=4,
        steps=60,
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT),
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source in INTEGERS,
            refusal="a division of integers by 0 ends the process",
            inaccurate="a division of integers by 0 ends the process",
        ),
    ),
    elementwise(
        "FloorMod",
        formula=binary(_floor_modulo),
        flops=4,
        steps=60,
        mindspore=CLUSTERED_BY_FLAG,
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source == "float16" or source in INTEGERS,
            refusal="0.29 off in float16; a division of integers by 0 ends the process",
            not_auto="float16 is 0.29 off; a division of integers by 0 ends the process",
        ),
        advice=Advice(cluster_flag=VerifiedFlag()),
    ),
    OpInfo("DivNoNan", work=WorkRule.ELEMENTWISE, flops=4, steps=12),
    OpInfo("TruncateDiv", work=WorkRule.ELEMENTWISE, flops=4, steps=60),
    *(
        OpInfo(name, batch=ELEMENTWISE)
        for name in """DivMod AddScalar SubScalar PowScalarTensor PowTensorScalar Clamp ClampScalar
        ClampTensor BitwiseAnd BitwiseOr BitwiseXor Identity Threshold""".split()
    ),
    elementwise(
        "Pow",
        onnx=("Pow",),
        formula=binary(_power),
        lowering=_lower_power,
        traits=Trait.ANY_LAYOUT | Trait.LIMITED_DOMAIN,
        flops=21,
        steps=120,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(crashes=True, crash_dtypes=INTEGERS),
    ),
    elementwise(
        "Maximum",
        onnx=("Max",),
        formula=fold(np.maximum),
        traits=Trait.COMMUTATIVE
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "Minimum",
        onnx=("Min",),
        formula=fold(np.minimum),
        traits=Trait.COMMUTATIVE
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS
        | Trait.KEEPS_ALL_NON_NEGATIVE,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    OpInfo(
        "Fmax",
        formula=nary(
            lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y)))
        ),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "Fmin",
        formula=nary(
            lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y)))
        ),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "SquaredDifference",
        formula=binary(lambda x, y: np.square(x - y)),
        traits=Trait.ANY_LAYOUT,
        flops=2,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS, basics=2),
        mindspore_generator=MindSporeGenerator(auto_expand="1.9 → 1.9 ULP"),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    OpInfo(
        "AddN",
        onnx=("Sum",),
        formula=fold(np.add),
        traits=Trait.COMMUTATIVE,
        work=WorkRule.SUM,
        batch=ELEMENTWISE,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=2),
    ),
    OpInfo("Mean", onnx=("Mean",), formula=lambda call: fold(np.add)(call) / len(call.inputs)),
    OpInfo(
        "Addcmul",
        formula=nary(lambda x, y, z, factor: x + _cast_factor(x, factor) * y * z),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(
            rewriting="x + y * z * value",
            rewriting_operators=("Mul", "Add"),
        ),
    ),
    OpInfo(
        "Addcdiv",
        formula=nary(lambda x, y, z, factor: x + _cast_factor(x, factor) * y / z),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AddExt",
        formula=nary(lambda x, y, factor: x + _cast_factor(x, factor) * y),
        batch=ELEMENTWISE,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(rewriting="ops.add(x, y)", rewriting_operators=("Add",)),
    ),
    OpInfo(
        "SubExt",
        formula=nary(_subtract_scaled),
        batch=ELEMENTWISE,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(rewriting="ops.sub(x, y)", rewriting_operators=("Sub",)),
    ),
    OpInfo(
        "Lerp",
        formula=nary(lambda x, y, weight: x + weight * (y - x)),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(
            rewriting="x + (y - x) * weight",
            rewriting_operators=("Sub", "Mul", "Add"),
        ),
    ),
    OpInfo("Adds", mindspore=MindSporeFusion(expansion=("Add",))),
    OpInfo("Subs", mindspore=MindSporeFusion(expansion=("Sub",))),
    OpInfo("Muls", batch=ELEMENTWISE, mindspore=MindSporeFusion(expansion=("Mul",))),
    OpInfo("Divs", batch=ELEMENTWISE, mindspore=MindSporeFusion(expansion=("Div",))),
    OpInfo("Pows", mindspore=MindSporeFusion(expansion=("Pow",))),
    elementwise(
        "BiasAdd",
        formula=_bias_add,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, expansion=("Add",), becomes="Add"),
    ),
    OpInfo(
        "Hypot",
        formula=nary(_hypotenuse),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(
            rewriting="ops.sqrt(x * x + y * y)",
            rewriting_operators=("Mul", "Add", "Sqrt"),
        ),
    ),
    elementwise(
        "LogAddExp",
        formula=binary(np.logaddexp),
        traits=Trait.NO_CPU_KERNEL,  # `ops.logaddexp` consists of basic operators
        flops=24,
    ),
    OpInfo(
        "SqrtGrad",
        formula=nary(lambda y, dy: dy / (y + y)),
        traits=Trait.ANY_LAYOUT,
        work=WorkRule.ELEMENTWISE,
        flops=5,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=2),
        mindspore_generator=MindSporeGenerator(
            inaccurate_expansion=(
                "a float16 result becomes float32 where the kernel has several results"
            )
        ),
        whole=True,
    ),
    OpInfo(
        "RsqrtGrad",
        formula=nary(lambda y, dy: dy * -0.5 * (y * y * y)),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    *(
        OpInfo(
            name,
            work=WorkRule.ELEMENTWISE,
            flops=2,
            mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=3),
        )
        for name in "MaximumGrad MinimumGrad".split()
    ),
)
