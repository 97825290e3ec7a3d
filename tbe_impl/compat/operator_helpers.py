"""Provides the toolkit's helper modules ``impl.util`` to operator directories that lack them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from tbe_impl.compat.classify import WINDOW_PARAMETERS, classify
from tbe_impl.compat.registration import register_op_compute
from tbe_impl.compat.session import has_unknown_size
from tbe_impl.compat.shape_util import align, ceil_div

PATTERNS = SimpleNamespace(
    NONE="",
    GATHER="gather",
    ELEWISE="elewise",
    ELEWISE_WITH_BROADCAST="broadcast",
    REDUCE="reduce",
    TRANSDATA="transdata",
    NORM="norm",
    TUPLE_REDUCE="tuple_reduce",
    POOLING="pooling",
    POOLING_GRAD_WITH_ARG="pooling_grad_with_arg",
    ASCEND_ANTI_QUANT="anti_quant",
    ASCEND_QUANT="quant",
    SEGMENT="segment",
    SPARSE_APPLY="sparse_apply",
    SORT="sort",
    CONV2D_BP_FILTER="Conv2d_backprop_filter",
)
IMPLEMENTATIONS = SimpleNamespace(
    HIGH_PERFORMANCE="high_performance",
    HIGH_PRECISION="high_precision",
    SUPER_PERFORMANCE="super_performance",
    NORM_CLASS="norm_class",
    SUPPORT_OUT_OF_BOUND_INDEX="support_out_of_bound_index",
    KEEP_FP16="keep_fp16",
)
NORM_PATTERNS = SimpleNamespace(
    REDUCE_AXES_TYPE_KEY="reduce_axes_type",
    PATTERN_NAME="norm",
    REDUCE_UNKNOWN_MODE="unknown",
    BROADCAST_UNKNOWN_MODE="unknown",
    **{
        f"REDUCE_{kind.upper()}_TYPE": {"reduce_axes_type": kind}
        for kind in ("assigned", "any", "single", "after", "before")
    },
    REDUCE_ATTR_IDX="reduce_axis_attr_idx",
    REDUCE_ATTR_NAME="reduce_axis_attr_name",
    REDUCE_ATTR_DTYPE="reduce_axis_attr_dtype",
)
POOLING_PATTERNS = SimpleNamespace(
    GLOBAL_POOLING="global_pooling",
    ACTUAL_WINDOW_ORI_INDICES="actual_window_ori_indices",
    **{name.upper(): name for name in WINDOW_PARAMETERS},
    # IDNEX is misspelled as in the CANN toolkit
    **{f"{name.upper()}_ATTR_IDNEX": f"{name}_attr_index" for name in WINDOW_PARAMETERS},
)
REDUCE_WINDOW = SimpleNamespace(
    **{name: name for name in ("MAX", "MIN", "SUM", "AVG", "GMP", "GAP", "CEIL", "FLOOR")}
)


def register_operator_compute(
    op_type: str, op_mode: str = "dynamic", support_fusion: Any = False, **options: Any
) -> Any:
    """Returns a decorator that registers the compute function of an operator."""
    return register_op_compute(op_type, op_mode, support_fusion, **options)


def is_unknown(given: Any) -> bool:
    """Whether a tensor description, or any description in a list, has an unknown size."""
    return has_unknown_size(given if isinstance(given, (list, tuple)) else [given])


def is_unknown_rank_input(given: Any) -> bool:
    """Whether a tensor description, or any description in a list, has an unknown rank."""
    listed = given if isinstance(given, (list, tuple)) else [given]
    return any(isinstance(item, dict) and list(item.get("shape", ())) == [-2] for item in listed)


def is_dynamic_input(inputs: Sequence[Any]) -> bool:
    """Whether any of the tensor descriptions has an unknown size."""
    return has_unknown_size(inputs)


def _adapter_names(load: Callable[[str], Any]) -> Mapping[str, Any]:
    """Returns a dict from each name that ``impl.util.platform_adapter`` re-exports to its value."""
    common, dsl = load("tbe.common"), load("tbe.dsl")
    utils = load("tbe.common.utils")
    errors = load("tbe.common.utils.errormgr")
    return {
        "tbe": dsl,
        "tvm": load("tbe.tvm"),
        "tik": load("tbe.tik"),
        "tbe_tvm": load("tbe.tvm"),
        "tbe_platform": load("te.platform"),
        "PlatformApi": load("te.platform"),
        "platform": common.platform,
        "platform_info": load("tbe.common.platform.platform_info"),
        "para_check": utils.para_check,
        "shape_util": utils.shape_util,
        "error_manager": errors,
        "log": utils.log,
        "tbe_log": utils.log,
        "error_manager_util": load("tbe.common.utils.errormgr.error_manager_util"),
        "error_manager_vector": load("tbe.common.utils.errormgr.error_manager_vector"),
        "error_manager_cube": load("tbe.common.utils.errormgr.error_manager_cube"),
        "tbe_register": load("tbe.common.register"),
        "register_operator": load("tbe.common.register").register_operator,
        "register_operator_compute": register_operator_compute,
        "tbe_context": load("tbe.common.context"),
        "op_context": load("tbe.common.context.op_context"),
        "operation": load("tbe.dsl.base.operation"),
        "tbe_operation": load("tbe.dsl.base.operation"),
        "add_compile_info": load("tbe.dsl.base.operation").add_compile_info,
        "tbe_build": load("tbe.common.buildcfg"),
        "buildcfg": load("tbe.common.buildcfg"),
        "build_config": load("tbe.common.buildcfg").build_config,
        "get_current_build_config": load("tbe.common.buildcfg").get_current_build_config,
        "classify": classify,
        "tbe_classify": classify,
        "auto_schedule": dsl.auto_schedule,
        "build": dsl.build,
        "tuple_sum": dsl.tuple_sum,
        "OpPatternMode": PATTERNS,
        "OpImplMode": IMPLEMENTATIONS,
        "rl_bank": load("tbe.common.rl_bank.rl_bank"),
        "OpTbeImplMode": SimpleNamespace(TBE_HIGH_PRECISION="high_precision"),
        "TbeContextKey": SimpleNamespace(PATTERN="pattern"),
        "NormPattern": NORM_PATTERNS,
        "tbe_fusion_manager": load("te.platform.fusion_manager").fusion_manager,
        "set_current_compile_soc_info": common.platform.set_current_compile_soc_info,
        "intrinsic_check_support": common.platform.intrinsic_check_support,
        "get_const": load("tbe.dsl.instrinsic.cce_util").get_const,
        "in_record": lambda: False,
        "check_support_block_size_16": lambda: False,
        "check_supported_vcopy": lambda: False,
    }


_COMMON_FUNCTIONS = {
    "is_unknown": is_unknown,
    "is_unknown_rank_input": is_unknown_rank_input,
    "is_dynamic_input": is_dynamic_input,
    "is_unknown_shape_input": is_unknown,
    "ceil": ceil_div,
    "align": align,
}
_CONSTANTS = {
    "DATA_TYPE_FP16": "float16",
    "DATA_TYPE_FP32": "float32",
    "DATA_TYPE_INT32": "int32",
    "DATA_TYPE_INT8": "int8",
    "DATA_TYPE_UINT8": "uint8",
    "DATA_TYPE_INT64": "int64",
    "SHAPE_SIZE_LIMIT": 2**31 - 1,
    "DATA_SIZE_TWO": 2,
    "DATA_SIZE_FOUR": 4,
    "DATA_SIZE_ONE": 1,
    "C0_SIZE": 16,
    "KERNEL_META_DIR": "kernel_meta",
}


def names_of(module: str, load: Callable[[str], ModuleType]) -> Mapping[str, Any]:
    """Returns the names that a module below ``impl`` defines, with their values.

    The result is empty for an unknown module.
    """
    if module == "impl.util.platform_adapter":
        return _adapter_names(load)
    known: dict[str, Mapping[str, Any]] = {
        "impl.util.util_common": _COMMON_FUNCTIONS,
        "impl.util.norm_pattern_adapter": {"NormPattern": NORM_PATTERNS},
        "impl.util.pooling_pattern_adapter": {
            "PoolingPattern": POOLING_PATTERNS,
            "ReduceWindowAttr": REDUCE_WINDOW,
        },
        "impl.constant_util": _CONSTANTS,
        "impl.constant_util_v1": _CONSTANTS,
    }
    return known.get(module, {})
