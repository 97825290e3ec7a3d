"""Defines the record of an operator: its formula, its costs, and its treatment by fusion."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import msgspec

from ms_fusion.ops.call import Call, Formula

FLOATS = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
UNSIGNED_INTEGERS = frozenset({"uint8", "uint16", "uint32", "uint64"})
INT32 = frozenset({"int32"})
SINGLE_AND_HALF = frozenset({"float32", "float16"})
SINGLE_HALF_AND_INT32 = SINGLE_AND_HALF | INT32
CAST_FROM_FLOAT = frozenset({"float16", "float32", "float64", "int32", "int64"})
"""Target dtypes for which a fused Cast of floats has the same results as MindSpore's Cast.

For other target dtypes the results differ for NaN, inf and out-of-range values.
"""
ROOT_STEPS = 15
"""Cost of a square root, in vector steps; `ms_fusion.devices` measures the time of a step by it."""
EXP_CAUTION = "its exponential is exact to 3e-4 only"
LoweringRule = Callable[[Any], Any]
"""Function from an `ms_fusion.ops.call.Call` with symbolic tensors to the result's DSL tensor."""


class Trait(enum.Flag):
    """Yes-or-no properties of an operator.

    Attributes:
        NONE: no property.
        VIEW: changes only the shape. Outside of a fused kernel, the operator moves no bytes and
            launches no kernel.
        BOOKKEEPING: a framework node that computes nothing and launches no kernel.
        CONTROL: a control-flow operator, which calls another graph.
        RANDOM: the results are random and differ in each run.
        COMMUTATIVE: the two operands may be swapped.
        CORRECTLY_ROUNDED: the result is correctly rounded. Fusion therefore changes the result only
            if the compiler contracts the operator with another one (turns a product and a sum into
            one fused multiply-add).
        REDUCTION: sums or compares along axes.
        ROW_REDUCTION: needs a whole row before it produces a result.
        MATRIX_UNIT: runs on the device's matrix unit.
        CONVOLUTION: a 2-D convolution or one of its gradients.
        POOLING: has windows that may overlap.
        DATA_MOVEMENT: moves elements to other positions.
        ONEDNN: our kernels call oneDNN to compute the operator.
        HAS_LIBRARY_KERNEL: MindSpore has a library kernel for the operator, and fuses it only if a
            flag such as `--enable_cluster_ops` names it.
        IN_PLACE: the operator overwrites an input.
        FLOAT32_ONLY_ON_CPU: MindSpore has no float64 kernel for the operator on CPU. MindSpore
            casts float64 inputs to float32, and the result back to float64.
        NO_CPU_KERNEL: MindSpore has no kernel for the operator on CPU. MindSpore raises an error
            before it forms groups, so no flag fuses the operator on CPU.
        ANY_LAYOUT: an elementwise operator or a reduction that our generator can build for NCHW and
            NHWC images.
        LIMITED_DOMAIN: returns NaN for operands outside a limited range, for example below 0.
        FORWARDING: returns its operands, or a view of them, unchanged.
        PRECISE_ON_ACCELERATORS: the preset `precise` fuses the operator on GPU and Ascend, since
            the operator is correctly rounded and never contracted. The effect was not measured,
            since no such device was available.
        NON_NEGATIVE: the result is never negative.
        KEEPS_NON_NEGATIVE: the result is non-negative if the first input is non-negative.
        KEEPS_ALL_NON_NEGATIVE: the result is non-negative if all inputs are non-negative.
        IDENTITY_ON_NON_NEGATIVE: the result equals the first input if this input is non-negative.
        LINEAR: linear in one operand if the other operands are constants.
        FLAG_INPUT: has a flag as its third input. MindSpore's JSON of a fused kernel does not
            contain the value of this flag.
    """

    NONE = 0
    VIEW = enum.auto()
    BOOKKEEPING = enum.auto()
    CONTROL = enum.auto()
    RANDOM = enum.auto()
    COMMUTATIVE = enum.auto()
    CORRECTLY_ROUNDED = enum.auto()
    REDUCTION = enum.auto()
    ROW_REDUCTION = enum.auto()
    MATRIX_UNIT = enum.auto()
    CONVOLUTION = enum.auto()
    POOLING = enum.auto()
    DATA_MOVEMENT = enum.auto()
    ONEDNN = enum.auto()
    HAS_LIBRARY_KERNEL = enum.auto()
    IN_PLACE = enum.auto()
    FLOAT32_ONLY_ON_CPU = enum.auto()
    NO_CPU_KERNEL = enum.auto()
    LINEAR = enum.auto()
    FLAG_INPUT = enum.auto()
    ANY_LAYOUT = enum.auto()
    LIMITED_DOMAIN = enum.auto()
    FORWARDING = enum.auto()
    PRECISE_ON_ACCELERATORS = enum.auto()
    NON_NEGATIVE = enum.auto()
    KEEPS_NON_NEGATIVE = enum.auto()
    KEEPS_ALL_NON_NEGATIVE = enum.auto()
    IDENTITY_ON_NON_NEGATIVE = enum.auto()


class WorkRule(enum.Enum):
    """The rule by which `ms_fusion.cost.work` counts bytes and FLOPs of an operator."""

    UNKNOWN = "estimate: reads its inputs, writes its outputs, one FLOP per output element"
    NONE = "nothing"
    ELEMENTWISE = "`flops` per output element"
    SUM = "one FLOP per output element and further input"
    ASSIGN = "`flops` per element of the overwritten first input"
    FIRST_INPUT = "reads only the first input, no FLOPs"
    REDUCTION = "one FLOP per input element, and `flops` per output element"
    PER_INPUT_ELEMENT = "`flops` per element of the first input"
    MATRIX_PRODUCT = "2 m n k FLOPs"
    CONVOLUTION = "2 FLOPs per output element and weight of its channel"
    CONVOLUTION_INPUT_GRADIENT = "as the convolution; the first input is the gradient"
    CONVOLUTION_WEIGHT_GRADIENT = "as the convolution; the output is the gradient of the weight"
    POOLING = "one FLOP per window element and output element"
    OPTIMIZER = "`flops` per element of the weight; overwrites the inputs `overwrites`"
    GATHER = "reads the indices and the selected rows"
    FILL = "writes only"
    SLICE = "reads only the selected elements"
    DATA_MOVEMENT = "reads its inputs, writes its outputs, no FLOPs"


class Cluster(enum.Enum):
    """Condition under which MindSpore clusters an operator (puts it into a fused subgraph) on CPU.

    Attributes:
        NEVER: never.
        BY_DEFAULT: even without a flag.
        BY_DEFAULT_FOR_MINDSPORE: even without a flag, but only for MindSpore's own kernel
            generator.
        BY_FLAG: if `--enable_cluster_ops` names the operator. MindSpore's own generator can build
            it.
        BY_FLAG_FOR_OTHERS: if `--enable_cluster_ops` names the operator. MindSpore's own generator
            cannot build it. For some of these operators, no generator can.
        BY_DEFAULT_FOR_OTHERS: even without a flag, but only for kernel generators other than
            MindSpore's.
    """

    NEVER = enum.auto()
    BY_DEFAULT = enum.auto()
    BY_DEFAULT_FOR_MINDSPORE = enum.auto()
    BY_FLAG = enum.auto()
    BY_FLAG_FOR_OTHERS = enum.auto()
    BY_DEFAULT_FOR_OTHERS = enum.auto()


FOR_OTHER_GENERATORS = frozenset({Cluster.BY_FLAG_FOR_OTHERS, Cluster.BY_DEFAULT_FOR_OTHERS})


class Expand(enum.Enum):
    """Condition under which MindSpore expands an operator into basic operators on CPU.

    Attributes:
        NEVER: never.
        BY_DEFAULT: even without a flag.
        BY_FLAG: if `--enable_expand_ops` names the operator.
        BY_FLAG_FOR_OURS: if `--enable_expand_ops` names the operator. Our presets (named sets of
            MindSpore's fusion flags) name the operator if our own generator builds the kernels.
    """

    NEVER = enum.auto()
    BY_DEFAULT = enum.auto()
    BY_FLAG = enum.auto()
    BY_FLAG_FOR_OURS = enum.auto()


class Split(enum.Flag):
    """Properties of an operator that limit the neighbours with which MindSpore fuses it.

    The properties were measured on MindSpore 2.10. MindSpore's split pass divides a fused subgraph
    into kernels after the operator's expansion into basic operators.

    Attributes:
        NONE: none of these properties.
        ENDS_IN_REDUCTION: the expansion ends in a reduction, which is not fused with a consumer.
        BEGINS_WITH_REDUCTION: the expansion begins with a reduction and ends elementwise.
        ENDS_IN_BROADCAST: the expansion ends in a broadcast, which is not fused with a reduction.
        OPAQUE: the operator is not fused with any operator, since it moves elements or accumulates
            elements one by one.
    """

    NONE = 0
    ENDS_IN_REDUCTION = enum.auto()
    BEGINS_WITH_REDUCTION = enum.auto()
    ENDS_IN_BROADCAST = enum.auto()
    OPAQUE = enum.auto()


class SourceExpansion(msgspec.Struct, frozen=True, kw_only=True):
    """Expansion of an operator with a scalar argument into basic operators.

    MindSpore cannot cluster an operator with a scalar argument, since MindSpore's description of a
    kernel lacks the scalar. Our presets (named sets of MindSpore's fusion flags) therefore expand
    the operator while MindSpore parses a net.

    Attributes:
        formula: function of (x, scalar) that MindSpore parses. In its code, the name `np` stands
            for `mindspore.ops`, which has functions such as `where`, `abs`, `exp` and `maximum`
            under NumPy's names.
        function: qualified name of MindSpore's function that takes (x, scalar) and calls this
            operator.
        cells: a pair for each of MindSpore's Cells with this operator: the qualified name of the
            Cell, and the attribute path of the scalar in an instance.
        least_scalar: smallest scalar for which the operator is expanded.
    """

    formula: Callable[[Any, Any], Any]
    function: str
    cells: tuple[tuple[str, str], ...]
    least_scalar: float = 0.0


class MindSporeFusion(msgspec.Struct, frozen=True, kw_only=True):
    """The treatment of an operator by MindSpore's fusion passes, measured on MindSpore 2.10 on CPU.

    Attributes:
        cluster: condition under which the operator is clustered (put into a fused subgraph) on CPU.
        cluster_level: lowest `--fusion_ops_level` at which the operator is clustered on CPU by
            default.
        expand: condition under which the operator is expanded on CPU.
        ascend_level: lowest `--fusion_ops_level` at which the operator is clustered on Ascend by
            default, according to MindSpore's source. None if the operator is never clustered by
            default.
        basics: number of basic operators after expansion.
        expansion: types of the basic operators into which MindSpore expands the operator before
            clustering. Empty if these types are not known, or if the operator's result does not
            depend on its inputs alone.
        split: properties that limit the neighbours with which the operator can be in one kernel.
        constants: indices of the inputs that must be constants, such as axes and shapes.
        expands_float16: whether the operator is expanded in float16.
        ignores_expand_flag: whether MindSpore leaves the operator unexpanded although a flag such
            as `--enable_expand_ops` names it.
        becomes: operator type into which MindSpore's simplification may change the operator; empty
            if the type is never changed.
        source_expansion: expansion by our presets when MindSpore parses a net, or None if our
            presets do not expand the operator.
    """

    cluster: Cluster = Cluster.NEVER
    cluster_level: int = 0
    expand: Expand = Expand.NEVER
    ascend_level: int | None = None
    basics: int = 1
    expansion: tuple[str, ...] = ()
    split: Split = Split.NONE
    constants: tuple[int, ...] = ()
    expands_float16: bool = True
    ignores_expand_flag: bool = False
    becomes: str = ""
    source_expansion: SourceExpansion | None = None


CLUSTERED_BY_DEFAULT = MindSporeFusion(cluster=Cluster.BY_DEFAULT, ascend_level=0)
"""An operator that MindSpore clusters by default, on CPU and on Ascend."""
CLUSTERED_BY_DEFAULT_ON_ASCEND = MindSporeFusion(cluster=Cluster.BY_FLAG, ascend_level=0)
"""An operator that MindSpore clusters by default on Ascend, and on CPU if a flag names it."""
CLUSTERED_BY_FLAG = MindSporeFusion(cluster=Cluster.BY_FLAG)
"""An operator that MindSpore clusters on CPU if a flag names it, for any generator."""
CLUSTERED_BY_FLAG_FOR_OTHERS = MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS)
"""An operator clustered on CPU if a flag names it, but not for MindSpore's own generator."""


class MindSporeGenerator(msgspec.Struct, frozen=True, kw_only=True):
    """The treatment of an operator by MindSpore's own kernel generator on CPU, measured on 2.10.

    `auto`, `basic`, `aggressive` and `precise` are presets (named sets of MindSpore's fusion
    flags). To cluster an operator means to put it into a fused subgraph. A string attribute is
    empty if it does not apply to the operator.

    Attributes:
        crashes: whether the generator crashes on the operator.
        crash_dtypes: dtypes for which the generator crashes on the operator. Empty if the generator
            crashes for all dtypes, or for no dtype. The dtype bfloat16 crashes the generator with
            every operator.
        wrong: description of the error in the generator's results.
        wrong_for: function of two dtypes: the dtype in which the operator computes, and the dtype
            of the result. The function returns whether the results are wrong, so that the kernel
            must be refused. None if no kernel is refused.
        refusal: reason that is reported if the kernel is refused. If `refusal` is empty, `wrong` is
            reported.
        unsafe: reason why no preset clusters this operator, which MindSpore clusters by default.
        inaccurate: reason why `auto` and `basic` do not cluster this operator, which MindSpore
            clusters by default.
        inaccurate_expansion: reason why `auto` and `basic` do not expand this operator, which
            MindSpore expands by default.
        auto_cluster: measurement that shows why `auto` clusters this operator, which MindSpore does
            not cluster by default.
        auto_expand: measurement that shows why `auto` expands this operator, which MindSpore does
            not expand by default.
        not_auto: reason why `auto` neither clusters nor expands this operator, although flags for
            this exist.
        for_speed: whether `aggressive` clusters or expands the operator in spite of `not_auto`.
        precise: whether `precise` clusters the operator on CPU, since the fused result has the same
            bits as the unfused result.
    """

    crashes: bool = False
    crash_dtypes: frozenset[str] = frozenset()
    wrong: str = ""
    wrong_for: Callable[[str, str], bool] | None = None
    refusal: str = ""
    unsafe: str = ""
    inaccurate: str = ""
    inaccurate_expansion: str = ""
    auto_cluster: str = ""
    auto_expand: str = ""
    not_auto: str = ""
    for_speed: bool = False
    precise: bool = False


class VerifiedFlag(msgspec.Struct, frozen=True):
    """The verified effect of a flag by which an operator is fused, with MindSpore's own generator.

    Attributes:
        dtypes: dtypes for which the flag was verified.
        takes_producer: whether the operator then fuses with its producer.
        takes_consumer: whether the operator then fuses with its consumer.
        caution: warning that a suggestion of the flag contains; empty if there is none.
    """

    dtypes: frozenset[str] = frozenset({"float32"})
    takes_producer: bool = True
    takes_consumer: bool = True
    caution: str = ""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of the flags or of the model by which an operator is fused, verified on small nets.

    Attributes:
        cluster_flag: verified effect of adding the operator to `--enable_cluster_ops`, or None if
            this is not suggested.
        expand_flag: verified effect of adding the operator to `--enable_expand_ops`, or None if
            this is not suggested.
        no_flag: reason why no flag is suggested, although MindSpore has a flag; empty if there is
            no such reason.
        rewriting: equivalent expression with basic operators; empty if there is none.
        rewriting_operators: types of the operators in `rewriting`.
        caution: remark about the inaccuracy of the fused operator; empty if there is no remark.
            Each suggestion for the operator contains the remark.
    """

    cluster_flag: VerifiedFlag | None = None
    expand_flag: VerifiedFlag | None = None
    no_flag: str = ""
    rewriting: str = ""
    rewriting_operators: tuple[str, ...] = ()
    caution: str = ""


class Batch(enum.Enum):
    """The way in which an operator keeps the samples of a batch separate.

    `ms_fusion.mindspore.specialize` contains the rule for each member.
    """

    ELEMENTWISE = enum.auto()
    ALONG_AXES = enum.auto()
    IMAGE = enum.auto()
    RESHAPE = enum.auto()
    TRANSPOSE = enum.auto()
    MATRIX_PRODUCT = enum.auto()
    MATRIX_PRODUCT_WITHOUT_FLAGS = enum.auto()
    DENSE = enum.auto()
    BATCH_NORM = enum.auto()
    LAYER_NORM = enum.auto()
    LAYER_NORM_OF_SHAPE = enum.auto()
    LAST_AXIS = enum.auto()
    CONCAT = enum.auto()
    STACK = enum.auto()
    GATHER = enum.auto()
    EMBEDDING = enum.auto()
    STRIDED_SLICE = enum.auto()
    TILE = enum.auto()
    FILL = enum.auto()
    ONE_HOT = enum.auto()


class BatchRule(msgspec.Struct, frozen=True):
    """The rule that decides whether the batch of an operator's inputs may be padded.

    Attributes:
        kind: member of `Batch` that selects the rule.
        axis: for `Batch.ALONG_AXES`, name and default of the attribute with the axes. In graphs of
            newer MindSpore versions, input 1 has the axes.
        sizes: indices of the inputs with sizes as values, such as the target shape of a
            BroadcastTo. These sizes may depend on the batch size. An operator with such an input
            may create a batch although no input has a batch axis. All samples of this batch are
            equal.
    """

    kind: Batch
    axis: tuple[str, Any] = ("axis", None)
    sizes: frozenset[int] = frozenset()


class OnnxOperator(msgspec.Struct, frozen=True):
    """An operator type of ONNX's own domain that corresponds to a record.

    Attributes:
        name: operator type in ONNX.
        adapter: function that rewrites a `Call`. The given `Call` has ONNX's inputs and attributes;
            the new `Call` has the inputs and attributes of the record. None if ONNX and the record
            have the same inputs and attributes. The operator type of the new `Call` may select
            another record. The function raises `InputError` for a call that a generated kernel
            cannot compute.
    """

    name: str
    adapter: Callable[[Call], Call] | None = None


class OpInfo(msgspec.Struct, frozen=True):
    """The record of one operator type.

    Attributes:
        name: operator type in MindSpore's graphs and in composite JSON.
        onnx: the corresponding operator types of ONNX that a generated kernel may contain. If the
            ONNX operator has the same inputs and attributes as the record, the item is a string.
            Otherwise the item is an `OnnxOperator`.
        formula: NumPy formula that defines the operator in float64, or None if there is none.
        lowering: rule that lowers the operator to DSL operations. None if `formula` is traced
            instead. A rule exists only if it results in better code than tracing `formula`.
        traits: yes-or-no properties of the operator.
        work: rule by which bytes and FLOPs are counted.
        flops: FLOPs per element; `work` defines which elements are counted. None if `work` does not
            use `flops`.
        steps: vector steps per element in our generated kernels.
        overwrites: indices of the inputs that an optimizer overwrites.
        batch: rule by which the operator keeps the samples of a batch separate, or None if the
            operator may mix samples.
        mindspore: treatment of the operator by MindSpore's fusion passes.
        mindspore_generator: treatment of the operator by MindSpore's own kernel generator.
        whole: whether MindSpore passes the operator to our generator unexpanded, although MindSpore
            could expand it. The expansion would compute in float32 and return float32.
        excluded: reason why the operator is never clustered for our generator; empty if it may be
            clustered.
        advice: changes of the flags or of the model by which the operator is fused.
    """

    name: str
    onnx: tuple[str | OnnxOperator, ...] = ()
    formula: Formula | None = None
    lowering: LoweringRule | None = None
    traits: Trait = Trait.NONE
    work: WorkRule = WorkRule.UNKNOWN
    flops: int | None = None
    steps: int = 1
    overwrites: tuple[int, ...] = ()
    batch: BatchRule | None = None
    mindspore: MindSporeFusion = MindSporeFusion()
    mindspore_generator: MindSporeGenerator = MindSporeGenerator()
    whole: bool = False
    excluded: str = ""
    advice: Advice = Advice()

    @property
    def lowering_rule(self) -> LoweringRule | None:
        """The rule that lowers the operator: `lowering`, or `formula` if `lowering` is None."""
        return self.lowering or self.formula


ELEMENTWISE = BatchRule(Batch.ELEMENTWISE)


def elementwise(name: str, *, flops: int = 1, **fields: Any) -> OpInfo:
    """Returns the record of an elementwise operator whose operands broadcast.

    Args:
        flops: FLOPs per output element: 1 for a single instruction, 4 for a division or root, 10
            for an exponential.
        fields: further fields of `OpInfo`.
    """
    return OpInfo(name, work=WorkRule.ELEMENTWISE, flops=flops, batch=ELEMENTWISE, **fields)
