"""Lists the names that each module of the CANN toolkit defines.

This module exceeds 500 lines because it is one table of names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from tbe_impl.compat import (
    building,
    convolution_helpers,
    error_manager,
    mindspore_names,
    newer_operations,
    operation_families,
    operator_context,
    operator_helpers,
    para_check,
    platform,
    registration,
    shape_util,
    testing,
    tiling,
    transdata,
    window_sizes,
)
from tbe_impl.compat.auto_tune import AUTO_TUNE
from tbe_impl.compat.classify import classify
from tbe_impl.compat.placeholders import CompatModule, DeviceCode
from tbe_impl.compat.tvm import (
    blocked_images,
    dequantization,
    device_functions,
    image_patches,
    tensor_language,
    topi,
)
from tbe_impl.compat.tvm import scatter as scattering

Names = Mapping[str, Any]
_logger = logging.getLogger("tbe_impl.loading.operator")


def _public_names(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", module.__name__) == module.__name__
        and not isinstance(value, ModuleType)
        and name not in ("annotations", "Any", "Callable", "Sequence")
    }


_CHECKS = {**_public_names(para_check), "NONE_TYPE": type(None)}
_SHAPES = {
    **_public_names(shape_util),
    "variable_shape": operator_context.variable_shape,
    "get_and_check_dtype": para_check.check_dtype,
}
_OPERATION: dict[str, Any] = {
    name: getattr(operator_context, name)
    for name in (
        "add_compile_info compute get_compile_info get_context get_op_mode in_dynamic in_static "
        "is_unify var var_attr"
    ).split()
} | {
    "add_compile_info_inner": operator_context.add_compile_info,
    "var_inner": operator_context.var,
    "var_inner_adaptive": operator_context.var,
    "schedule": operator_context.compute,
    "get_op_context": operator_context.get_context,
    "get_te_var": lambda name: operator_context.get_context().get_var(name),
    "static": operator_context.compute,
    "dynamic": operator_context.compute,
    "in_record": lambda: False,
    **dict.fromkeys(
        "add_build_arg add_exclude_bound_var get_build_args".split(), lambda *_, **__: None
    ),
    **{
        name: registration.FUNCTIONS[name]
        for name in ("register_schedule", "register_tiling_case", "register_build_pointcut")
    },
}
_CONTEXT = {"get_context": operator_context.get_context, "OpContext": operator_context.Context}
_BUILD_CONFIG: dict[str, Any] = {
    "build_config": building.build_config(),
    "get_current_build_config": building.current_build_config,
    "set_current_build_config": building.set_current_build_config,
    "get_default_build_config": lambda key=None: (
        building.default_build_config() if key is None else building.current_build_config(key)
    ),
    "build_config_update": lambda config, key, value: building.build_config(**{key: value}),
    "dynamic_build_config_dict": building.default_build_config(),
    "cce_default_static_build_config": building.default_build_config(),
    "get_L1_info": lambda *_: False,
    "set_L1_info": lambda *_: None,
}
_LOG = {
    name: getattr(_logger, "warning" if name == "warn" else name)
    for name in ("debug", "info", "warn", "error")
} | {"event": _logger.info, "warning": _logger.warning, "write_code": lambda *_: None}
_PLATFORM = {**platform.CONSTANTS, **platform.FUNCTIONS}
_INSTRUCTIONS = dict(platform.INSTRUCTIONS)
_SCHEDULING = {
    "split_schedule_com": building.split_schedule_com,
    "build": building.build,
    "cce_build_code": building.build,
    "add_build_arg": lambda *_: None,
}
_CASTING_NAMES = {
    **_SCHEDULING,
    "check_conv_shape": lambda image, weight, *_, **__: (image, weight),
    **window_sizes.FUNCTIONS,
    **blocked_images.FUNCTIONS,
    "auto_schedule": building.casting_auto_schedule,
    "schedule_cce": building.casting_auto_schedule,
    "classify": classify,
}
_CHECKING_NAMES = {
    **_SCHEDULING,
    **newer_operations.FUNCTIONS,
    **transdata.FUNCTIONS,
    **window_sizes.FUNCTIONS,
    **blocked_images.FUNCTIONS,
    "auto_schedule": building.auto_schedule,
    "classify": classify,
    **{
        name: _OPERATION[name]
        for name in ("var", "var_attr", "compute", "schedule", "add_exclude_bound_var")
    },
    "placeholder": lambda x, name="placeholder", attrs=None: tensor_language.placeholder(
        x["shape"], x["dtype"], name, attrs
    ),
}
_UTIL_NAMES = {
    "shape_to_list": shape_util.shape_to_list,
    "refine_axis": lambda axis, shape: sorted(shape_util.wrap_axes_to_positive(axis, len(shape))),
    "get_const": lambda value: getattr(value, "value", value),
    "get_type_bits": platform.get_bit_len,
    "get_bit_len": platform.get_bit_len,
    "int_ceil_div": shape_util.ceil_div,
    "align": shape_util.align,
    "ceil": shape_util.ceil_div,
    "is_cast_support": lambda source, target: operation_families.can_convert(source, target),
    "get_align_factor": platform.get_align_factor,
    "reuse_input_as_output": building.reuse_input_as_output,
    "DTYPE_BYTE": {
        name: max(platform.get_bit_len(name) // 8, 1) for name in para_check.ALL_DTYPE_LIST
    },
    "CCE_AXIS": SimpleNamespace(),
    "check_input_tensor_shape": shape_util.check_input_tensor_shape,
    "NAME_INDEX": [0],
}
_TVM_FUNCTIONS = {
    **tensor_language.FUNCTIONS,
    **dequantization.FUNCTIONS,
    "extern": device_functions.extern,
    "call_extern": device_functions.call_extern,
    "nd": testing.ARRAYS,
    "testing": testing.COMPARISON_FUNCTIONS,
    "cpu": testing.processor,
    "context": lambda kind="cpu", number=0: testing.processor(number),
    "build": testing.callable_build,
    "lower": building.lower,
    "build_config": building.build_config(),
    "Tensor": tensor_language.Tensor,
    "TVMError": RuntimeError,
    **tensor_language.OPERATION_CLASSES,
    **tensor_language.EXPRESSION_CLASSES,
}
_TVM_CLASSES = {
    **tensor_language.EXPRESSION_CLASSES,
    **tensor_language.OPERATION_CLASSES,
    **tensor_language.EMPTY_CLASSES,
    "Tensor": tensor_language.Tensor,
}
_TVM_TARGET = {
    name: getattr(tensor_language.Target, name)
    for name in ("cce", "create", "Target", "current_target")
}
_FUSION = {
    "fusion_manager": building.FUSION_MANAGER,
    **{
        name: getattr(building.FUSION_MANAGER, name)
        for name in (
            "register",
            "get_build_cfg",
            "set_tik_tensor",
            "set_current_op_pattern",
            "set_op_res",
            "get_fusion_build_cfg",
        )
    },
}


class Mode:
    """Names of patterns. Operator files pass them to ``shape_classifier.classify`` as the mode."""

    NONE, ELEWISE, ELEWISE_WITH_BROADCAST, REDUCE, NORM = (
        "",
        "elewise",
        "broadcast",
        "reduce",
        "norm",
    )


_TIK = {
    "Tik": DeviceCode("te.tik.Tik"),
    **platform.SCOPES,
    "all": tensor_language.all_,
    "any": tensor_language.any_,
}
_TOPI_UTIL = {
    **_CHECKS,
    **_SHAPES,
    **platform.PRODUCTS,
    **device_functions.UTILITIES,
    "axis_transfrom_5d": shape_util.axis_transform_5d,
}

_SCHEDULE_BANK_MODULES = (
    *("te.lang.cce.rl_bank", "te.domain.rl_bank", "tbe.common.rl_bank"),
    "te.lang.cce.rl_bank.rl_bank",
    "te.domain.rl_bank.rl_bank",
    "tbe.common.rl_bank.rl_bank",
)
"""Modules in which operators look up stored schedules. Here every look-up fails."""
_TILING: Names = {
    function.__name__: function
    for function in (
        tiling.gcd,
        tiling.get_block_factor_radical,
        tiling.get_block_factor_conservative,
        tiling.get_ub_factor,
    )
} | {"get_op_impl_mode_enum": lambda *_: 1}


NAMES_BY_MODULE: dict[str, Names] = {
    "te": {},
    "tbe": {},
    "topi": topi.FUNCTIONS,
    "te.lang": {},
    "tbe.common": {},
    "te.op": {**_OPERATION, **registration.FUNCTIONS},
    "te.utils": {},
    "te.utils.para_check": {**_CHECKS, **_SHAPES},
    "te.utils.shape_util": _SHAPES,
    "te.utils.op_utils": {**_CHECKS, **_SHAPES, **_FUSION},
    "te.utils.log": _LOG,
    "te.utils.tbe_log": _LOG,
    "te.utils.cce": {"auto_schedule": building.casting_auto_schedule, "build": building.build},
    "te.utils.error_manager": error_manager.VECTOR_FUNCTIONS,
    "te.utils.error_manager.error_manager_util": error_manager.VECTOR_FUNCTIONS,
    "te.utils.error_manager.error_manager_vector": error_manager.VECTOR_FUNCTIONS,
    "te.utils.error_manager.error_manager_cube": error_manager.CUBE_FUNCTIONS,
    "te.utils.error_manager.error_manager_conv2d": error_manager.CUBE_FUNCTIONS,
    "te.platform.fusion_manager": _FUSION,
    "te.platform.fusion_util": _FUSION,
    "te.platform.insn_cmd": _INSTRUCTIONS,
    "te.platform.operation": _OPERATION,
    "te.platform.op_context": _CONTEXT,
    "te.platform.shape_classifier": {"classify": classify, "Mode": Mode},
    "te.platform.log": _LOG,
    "te.platform.cce_build": _BUILD_CONFIG,
    "te.platform.cce_policy": {**_BUILD_CONFIG, "disableL2": lambda *_: None},
    "te.platform.cce_intrin_md": {
        **_PLATFORM,
        "reset_mask_insn": tensor_language.FUNCTIONS["call_pure_extern"],
    },
    "te.platform.cce_util": {**_PLATFORM, **_UTIL_NAMES},
    "te.tik": _TIK,
    "tbe.tik": _TIK,
    "te.tikcpp": {},
    "tbe.tikcpp": {},
    "te.lang.base": {**_OPERATION, "classify": classify, **registration.FUNCTIONS},
    "te.lang.base.operation": _OPERATION,
    "te.lang.base.operation_impl": _OPERATION,
    "te.lang.base.shape_classifier": {"classify": classify, "Mode": Mode},
    "te.lang.cce.util": _UTIL_NAMES,
    "te.lang.cce.te_compute.util": _UTIL_NAMES,
    "tbe.common.utils": {**_CHECKS, **_SHAPES},
    "tbe.common.utils.para_check": {**_CHECKS, **_SHAPES},
    "tbe.common.utils.shape_util": _SHAPES,
    "tbe.common.utils.log": _LOG,
    "tbe.common.utils.errormgr": error_manager.VECTOR_FUNCTIONS,
    "tbe.common.utils.errormgr.error_manager_util": error_manager.VECTOR_FUNCTIONS,
    "tbe.common.utils.errormgr.error_manager_vector": error_manager.VECTOR_FUNCTIONS,
    "tbe.common.utils.errormgr.error_manager_cube": error_manager.CUBE_FUNCTIONS,
    "tbe.common.utils.op_tiling": {},
    "tbe.common.platform.insn_cmd": _INSTRUCTIONS,
    "tbe.common.context": _CONTEXT,
    "tbe.common.context.op_info": {"OpInfo": operator_context.OperatorInfo},
    "tbe.common.context.op_context": _CONTEXT,
    "tbe.dsl.base": {**_OPERATION},
    "tbe.dsl.base.operation": _OPERATION,
    "tbe.dsl.base.context": _CONTEXT,
    "tbe.dsl.base.shape_classifier": {"classify": classify, "Mode": Mode},
    "tbe.dsl.base.classifier": {"classify": classify},
    "tbe.dsl.classifier": {"classify": classify, "Mode": Mode},
    "tbe.dsl.classifier.shape_classifier": {"classify": classify, "Mode": Mode},
    "tbe.dsl.classifier.elewise_classifier": {
        "ElewiseMode": SimpleNamespace(
            ALL_FUSE="all_fuse", CONST="const", EMPTY="empty", DISABLE_FUSE="disable_fuse"
        )
    },
    "tbe.dsl.static_schedule.split_schedule": {"split_schedule_com": building.split_schedule_com},
    "tbe.dsl.static_schedule.util": _TILING,
    "te.lang.cce.te_schedule.util": _TILING,
    "tbe.dsl.instrinsic.cce_emitinsn_params": {"cceEmitParamsIns": building.INSTRUCTION_PARAMETERS},
    "te.lang.cce.te_schedule.cce_emitinsn_params": {
        "cceEmitParamsIns": building.INSTRUCTION_PARAMETERS
    },
    "topi.scatter": {"Scatter": scattering.Scatter},
    "te.utils.scatter": {"Scatter": scattering.Scatter},
    "topi.tensor_scatter": {"TensorScatter": scattering.TensorScatter},
    **{
        module: {"query_rl_bank": lambda *_, **__: (False, None)}
        for module in _SCHEDULE_BANK_MODULES
    },
    "tbe.common.testing": testing.FUNCTIONS,
    "tbe.common.testing.testing": testing.FUNCTIONS,
    "tbe.common.utils.conv_util": convolution_helpers.UTILITIES,
    "tbe.common.utils.op_util.op_util_conv2d": convolution_helpers.FORWARD_UTILITIES,
    "tbe.dsl.unify_schedule.conv3d_bp_input_tilingcase": {
        "Conv3dBackpropInputBinaryParaProcess": convolution_helpers.VARIABLES
    },
    "tbe.dsl.classifier.conv3d_bp_filter_classifier": {
        "Conv3dBpFilterClassifier": convolution_helpers.Classifier
    },
    "te.lang.cce.te_compute.common": {**_CASTING_NAMES, **image_patches.FUNCTIONS},
    "tbe.dsl.compute.common": {**_CHECKING_NAMES, **_UTIL_NAMES, **image_patches.FUNCTIONS},
    "te.lang.cce.te_compute.cube_util": convolution_helpers.CUBE_UTILITIES,
    "tbe.dsl.compute.cube_util": convolution_helpers.CUBE_UTILITIES,
    "tbe.dsl.classifier.conv_bp_filter_base": {
        "ConvBpFilterBase": convolution_helpers.FilterGradientBase
    },
    "tbe.dsl.classifier.conv2d_bp_filter_classifier": {
        "Conv2dBpFilterClassifier": convolution_helpers.Classifier
    },
    "tbe.dsl.compute.util": _UTIL_NAMES,
    "tbe.dsl.base.expr_compare": {
        "expr_equal": lambda a, b: (
            a is b or bool(not isinstance(a, tensor_language.Expr) and a == b)
        )
    },
    "topi.generic": {"auto_schedule": building.casting_auto_schedule},
    "topi.generic.cce": {"auto_schedule": building.casting_auto_schedule},
    "topi.cce.util": _TOPI_UTIL,
    **{f"topi.cce.{name}": names for name, names in topi.PREBUILT_OPERATORS.items()},
    "tbe.tvm.topi.generic": {"auto_schedule": building.casting_auto_schedule},
    "tbe.tvm.topi.cce.util": _TOPI_UTIL,
    "te.tvm.topi.generic": {"auto_schedule": building.casting_auto_schedule},
    "te.tvm.topi.cce.util": _TOPI_UTIL,
    **{
        f"{root}.{module}": mindspore_names.NAMES
        for root in ("mindspore", "luojianet_ms")
        for module in ("ops.op_info_register", "ops")
    },
}
"""Maps a full module name to a dict of the names that the module defines and their values."""

_TVM_NAMES_BY_MODULE: dict[str, Names] = {
    "": _TVM_FUNCTIONS,
    "api": _TVM_FUNCTIONS,
    "te": _TVM_FUNCTIONS,
    "intrin": _TVM_FUNCTIONS,
    "expr": _TVM_CLASSES,
    "tir": {**_TVM_FUNCTIONS, **_TVM_CLASSES},
    "tir.expr": _TVM_CLASSES,
    "tensor": {
        "Tensor": tensor_language.Tensor,
        "TensorSlice": tensor_language.graph.TensorSlice,
        **tensor_language.OPERATION_CLASSES,
    },
    "te.tensor": {
        "Tensor": tensor_language.Tensor,
        "TensorSlice": tensor_language.graph.TensorSlice,
        **tensor_language.OPERATION_CLASSES,
    },
    "stmt": _TVM_CLASSES,
    "make": _TVM_CLASSES,
    "target": _TVM_TARGET,
    "ir_builder": tensor_language.IR_BUILDER,
    "tir.ir_builder": tensor_language.IR_BUILDER,
    "build_module": {
        "build": testing.callable_build,
        "lower": building.lower,
        "build_config": building.build_config(),
    },
    "driver": {"build": testing.callable_build},
    "driver.build_module": {"build": testing.callable_build},
    "ir": {"Range": tensor_language.Range, "Array": tuple},
    "container": {"Array": tuple},
    "collections": {"Array": tuple},
    "schedule": {"create_schedule": tensor_language.create_schedule},
    "error": {"TVMError": RuntimeError},
    "api_config": {"query_bit_width": lambda: 32},
    "tag": {"tag_scope": tensor_language.tag_scope},
    "topi": topi.FUNCTIONS,
    "cce_build_module": {"build_fatbin": building.build_fatbin},
}

_NAMES_BY_PREFIX: tuple[tuple[str, Names], ...] = (
    ("te.lang.cce", _CASTING_NAMES),
    ("te.lang.dynamic", {**_CASTING_NAMES, "shape_to_list": shape_util.shape_to_list}),
    ("topi.cce", {**_CASTING_NAMES, **_TOPI_UTIL}),
    ("te.platform", {**_PLATFORM, **_BUILD_CONFIG, "fusion_manager": None}),
    ("tbe.common.platform", _PLATFORM),
    ("tbe.common.register", registration.FUNCTIONS),
    ("tbe.common.buildcfg", _BUILD_CONFIG),
    ("tbe.dsl.compute", {**_CHECKING_NAMES, **_UTIL_NAMES}),
    ("tbe.dsl.instrinsic", {**_PLATFORM, **_UTIL_NAMES}),
)
"""Pairs (package, names): the package and every module below it define these names.

The names of a module come from the first pair whose package contains the module.
"""


def names_of(module: str) -> Names:
    """Returns the names that a module defines, with their values.

    The result is empty for an unknown module.
    """
    if module in NAMES_BY_MODULE:
        return NAMES_BY_MODULE[module]
    for root in ("te.tvm", "tbe.tvm"):
        if module == root or module.startswith(f"{root}."):
            return _TVM_NAMES_BY_MODULE.get(module[len(root) + 1 :], {})
    if module in ("tbe.dsl", "tbe.dsl.api"):
        return _CHECKING_NAMES
    for prefix, found in _NAMES_BY_PREFIX:
        if module == prefix or module.startswith(f"{prefix}."):
            return {name: value for name, value in found.items() if value is not None}
    return {}


def operation_finder_of(module: str) -> Callable[[str], Any] | None:
    """Returns the function that finds the DSL operations of a module by name.

    Returns None for a module without DSL operations.
    """
    if module.startswith(("te.lang.cce", "te.lang.dynamic", "topi.cce")):
        return operation_families.find_casting_operation
    if module in ("tbe.dsl", "tbe.dsl.api") or module.startswith("tbe.dsl.compute"):
        return operation_families.find_checking_operation
    return None


LAZY_SUBMODULES = {
    "impl": "util",
    "impl.util": "platform_adapter util_common norm_pattern_adapter pooling_pattern_adapter",
    "te": "lang platform tvm utils op tik domain",
    "te.lang": "cce base dynamic",
    "te.lang.cce": "te_compute te_schedule util rl_bank",
    "te.lang.cce.rl_bank": "rl_bank",
    "te.lang.cce.te_compute": "elewise_compute cast_compute broadcast_compute "
    "reduction_compute common util cube_util",
    "te.lang.cce.te_schedule": "cce_schedule",
    "te.platform": (
        "fusion_manager cce_conf cce_params cce_build cce_policy cce_intrin cce_intrin_md "
        "insn_cmd operation cce_util log op_context shape_classifier"
    ),
    "te.utils": "para_check shape_util op_utils error_manager cce log scatter",
    "te.domain": "rl_bank",
    "te.domain.rl_bank": "rl_bank",
    "te.utils.error_manager": "error_manager_util error_manager_vector error_manager_cube",
    "te.lang.base": "operation shape_classifier",
    "tbe": "auto_tune dsl common tvm tik",
    "tbe.dsl": "api base compute classifier instrinsic",
    "tbe.dsl.compute": "common cube_util util",
    "tbe.dsl.base": "operation classifier expr_compare context shape_classifier",
    "tbe.common": "platform register utils context buildcfg rl_bank testing",
    "tbe.common.testing": "testing",
    "tbe.common.platform": "platform_info insn_cmd",
    "tbe.common.utils": "para_check shape_util errormgr log op_tiling const op_util conv_util",
    "tbe.common.utils.op_util": "op_util_conv2d",
    "tbe.common.utils.errormgr": "error_manager_util error_manager_vector error_manager_cube",
    "tbe.common.context": "op_context op_info",
    "tbe.common.buildcfg": "default_buildcfg",
    "tbe.common.register": "register_api",
    "topi": "generic cce scatter tensor_scatter",
    "topi.generic": "cce",
    "topi.cce": "util tf_round tf_tile",
    **{
        f"{root}.tvm": "api expr tir tensor target te build_module driver ir container schedule "
        "intrin make stmt ir_builder topi error collections api_config tag cce_build_module"
        for root in ("te", "tbe")
    },
    **{f"{root}.tvm.tir": "expr ir_builder" for root in ("te", "tbe")},
    **{f"{root}.tvm.te": "tensor" for root in ("te", "tbe")},
    **{f"{root}.tvm.topi": "generic cce" for root in ("te", "tbe")},
    **{f"{root}.tvm.topi.cce": "util" for root in ("te", "tbe")},
}
"""Maps a package to the submodules that it offers as attributes without an explicit import."""


CALLABLE_MODULES = {
    "tbe.dsl.compute": operator_context.compute,
    **{f"{root}.tvm.target": tensor_language.Target() for root in ("te", "tbe")},
    **{f"{root}.tvm.te.compute": tensor_language.compute for root in ("te", "tbe")},
}
"""Maps the name of a callable module to the function that runs when the module is called."""


def make_module(module: str, load: Callable[[str], ModuleType]) -> CompatModule:
    """Creates a module of the CANN toolkit with the names that it defines.

    Args:
        module: full name of the module.
        load: function that imports a module; it is called for submodules on first access.
    """
    if module == AUTO_TUNE.__name__:
        return AUTO_TUNE
    made = CompatModule(module, f"`{module}` as tbe_impl provides it.")
    made.__path__ = []
    names = (
        operator_helpers.names_of(module, load) if module.startswith("impl") else names_of(module)
    )
    made.__dict__.update(names)
    if module in CALLABLE_MODULES:
        made.__dict__["_call"] = CALLABLE_MODULES[module]
    family = operation_finder_of(module)
    children = frozenset(LAZY_SUBMODULES.get(module, "").split())

    def load_attribute(name: str) -> Any:
        found: Any = family(name) if family else None
        if found is None and name in children:
            found = load(f"{module}.{name}")
        if found is not None:
            # cached in the module, which each build creates anew
            made.__dict__[name] = found
        return found

    made.__dict__["_late"] = load_attribute
    if family:
        made.__dict__["_late_names"] = operation_families.operation_names
        made.__dict__["__all__"] = sorted({*names, *operation_families.operation_names()})
    return made
