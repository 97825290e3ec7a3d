"""Implements the schedule and build functions that operator files call.

A build function compiles nothing; it only records a build request in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbe_impl.chip.auto_schedule import auto_schedule as auto_schedule_of
from tbe_impl.compat.operation_families import cast_back
from tbe_impl.compat.operator_errors import fault
from tbe_impl.compat.registration import make_decorator
from tbe_impl.compat.session import session
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import Tensor


def _create_schedule(outputs: Sequence[Tensor]) -> Any:
    record = session()
    made: Any = auto_schedule_of(list(outputs), chip=record.soc)
    # operators of matrix products read the output tensors from this attribute
    made.cce_special = {
        "tensor_list": (),
        "orign_out_tensor": list(outputs),
        "real_out_tensor": list(outputs),
    }
    record.schedules.append(made)
    return made


def _flatten_outputs(outs: Any) -> list[Tensor]:
    listed = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    flat: list[Tensor] = []
    for item in listed:
        if isinstance(item, (list, tuple)):
            flat += _flatten_outputs(item)
        elif isinstance(item, Tensor):
            flat.append(item)
        elif item is not None:
            raise fault(
                "E90001",
                f"auto_schedule takes the output tensors, but got {type(item).__name__}",
                detailed_cause=type(item).__name__,
            )
    if not flat:
        raise fault("E90001", "auto_schedule takes at least one output tensor, but got none")
    return flat


def auto_schedule(outs: Any, option: Any = None) -> Any:
    """``tbe.dsl.auto_schedule``: returns a schedule for the output tensors `outs`."""
    return _create_schedule(_flatten_outputs(outs))


def casting_auto_schedule(outs: Any, option: Any = None) -> Any:
    """``te.lang.cce.auto_schedule``: returns a schedule for the output tensors `outs`.

    The function first casts the outputs back to the dtype of one input. `cast_back` describes how
    this input is selected.
    """
    outputs = _flatten_outputs(outs)
    real = cast_back(outputs)
    record = session()
    for given, kept in zip(outputs, real, strict=True):
        if given is not kept:
            record.cast_outputs[id(given)] = kept
            record.keepalive.append(given)
    return _create_schedule(real)


def split_schedule_com(
    data: Any, split_dim: Any, shape_list: Any, tensor_list: Any
) -> tuple[Any, list[Any]]:
    """Returns a pair: a schedule for the outputs of a split, and the tensors of the kernel."""
    return _create_schedule(_flatten_outputs(tensor_list)), [data, *tensor_list]


def build(sch: Any, config_map: Any = None, *_: Any, **more: Any) -> None:
    """Records a build request (``tbe.dsl.build``, ``cce_build_code``).

    Args:
        sch: the schedule, or a list of schedules for a dynamic operator.
        config_map: a dict with ``name``, ``tensor_list`` and build options. As in ``tvm.build``,
            the list of tensors may be passed instead of the dict. In this case, the next positional
            argument is the target, and ``kernel_name``, ``name`` and ``attrs`` may be given as
            keyword arguments.
    """
    if isinstance(config_map, (list, tuple)):
        options = dict(more.pop("attrs", None) or {})
        if "kernel_name" in more:
            options["name"] = more.pop("kernel_name")
        config_map = {**options, "tensor_list": config_map}
    config = {**(config_map or {}), **more}
    schedules = list(sch) if isinstance(sch, (list, tuple)) else [sch]
    tensors = config.get("tensor_list")
    if not tensors:
        raise fault(
            "E90001", "a build needs a config with tensor_list", detailed_cause="tensor_list"
        )
    name = str(config.get("name", "kernel"))
    variants = tensors if _is_nested(tensors) and len(schedules) > 1 else [tensors]
    if len(schedules) > 1 and len(variants) != len(schedules):
        raise fault(
            "E90001",
            f"{len(schedules)} schedules were built with {len(variants)} lists of tensors",
            detailed_cause="tensor_list",
        )
    rest = {key: value for key, value in config.items() if key not in ("name", "tensor_list")}
    for schedule, listed in zip(schedules, variants, strict=True):
        session().record_build(name, listed, schedule, rest)


def _is_nested(tensors: Any) -> bool:
    return all(isinstance(item, (list, tuple)) for item in tensors)


def tvm_build(
    sch: Any = None,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    name: str = "default_function",
    rules: Any = None,
    binds: Any = None,
    evaluates: Any = None,
    **more: Any,
) -> Any:
    """Records a build request (``tvm.build``, ``build_module.build``)."""
    current = {
        key: value for key, value in session().build_config.items() if not key.startswith("_")
    }
    options = {**current, **more, "target": target}
    if binds:
        options["binds"] = binds
    return session().record_build(name, args, sch, options)


def build_fatbin(
    configs: Sequence[Any],
    schedules: Sequence[Any],
    arguments: Sequence[Sequence[Any]],
    keys: Sequence[int],
    name: str,
) -> None:
    """Records one build request for each tiling of a kernel.

    Operator files of 2021 call this function for dynamic operators.

    Args:
        configs: the build options of each tiling; unused here.
        schedules: one schedule per tiling.
        arguments: the kernel arguments of each tiling: symbolic sizes, tile factors and tensors.
            Only the tensors are used here.
        keys: one key per tiling; the device uses the key to select the tiling. Unused here.
        name: name of the kernel.
    """
    for schedule, listed in zip(schedules, arguments, strict=True):
        tensors = [item for item in listed if isinstance(item, Tensor)]
        session().record_build(name, tensors, schedule, {})


def lower(*_: Any, **__: Any) -> str:
    """Returns a text with the source location of the call; nothing is lowered here.

    In the CANN toolkit, this function returns the lowered schedule as text.
    """
    return f"lowered at {user_location()}"


class build_config:
    """Context manager that sets build options during its ``with`` block.

    Both ``with build_config:`` and ``with build_config(option=…):`` are permitted.
    """

    def __init__(self, **options: Any):
        self.options = options

    def __call__(self, **options: Any) -> build_config:
        return build_config(**options)

    def __enter__(self) -> build_config:
        found = session().build_config
        self.before = {key: found[key] for key in self.options if key in found}
        found.update(self.options)
        return self

    def __exit__(self, *_: Any) -> None:
        found = session().build_config
        for key in self.options:
            found.pop(key, None)
        found.update(self.before)

    def __getitem__(self, key: str) -> Any:
        return current_build_config(key)


_DEFAULT_CONFIG: Mapping[str, Any] = {
    "double_buffer_non_reuse": True,
    "bool_storage_as_1bit": True,
    "enable_L1_fusion": 0,
    "l2_mode": 0,
    "L1_fusion": False,
    "dynamic_shape": False,
    "dump_cce_code": False,
    "save_temp_cce_file": False,
    "parse_ddr_args": False,
    "tik": False,
    "sync_mode": 2,
    "debug_message": False,
    "enable_vector_2x": False,
    "kernel_meta_parent_dir": ".",
    "status_check": False,
    "fusion_build_config": {},
    "generalize_config": None,
    "tir.op_debug_config": [],
    "op_debug_config": [],
    "out_of_order": False,
    "enable_deterministic_mode": 0,
    "l1_fusion_option": False,
    "sch_tir_opt": False,
}


def current_build_config(key: str = "") -> Any:
    """Returns the value of a build option.

    If no value was set, the result is the default of the option. For an option without a default,
    the result is None.

    If `key` is ``all`` or empty, returns a dict of all build options.
    """
    if key in ("", "all"):
        return {**_DEFAULT_CONFIG, **session().build_config}
    return session().build_config.get(key, _DEFAULT_CONFIG.get(key))


def set_current_build_config(key: str, value: Any) -> None:
    """Sets the build option `key` for later builds."""
    session().build_config[key] = value


def default_build_config(*_: Any) -> dict[str, Any]:
    """Returns the default build options."""
    return dict(_DEFAULT_CONFIG)


class FusionManager:
    """``fusion_manager``: registers compute functions; all other methods have no effect here."""

    def register(self, register_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Returns a decorator that registers a compute function under `register_name`."""
        return make_decorator("fusion_manager.register", register_name)

    def get_build_cfg(self, *_: Any) -> str:
        """Returns ``enable``, because kernels are always built."""
        return "enable"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith(
            ("set_", "clear_", "init_", "save_", "add_", "get_", "reset_", "has_", "check_")
        ):
            return lambda *_, **__: None
        raise AttributeError(name)


FUSION_MANAGER = FusionManager()


class InstructionParameters:
    """Stores parameters of device instructions by key in the current session."""

    def get_param(self, key: str) -> Any:
        """Returns the parameter that is stored under `key`, or None if there is none."""
        return self._notes().get(key)

    def insert_param(self, key: str, value: Any) -> None:
        """Stores `value` under `key`."""
        self._notes()[key] = value

    insert_param_with_penetration = insert_param

    def del_param(self, key: str) -> None:
        """Removes the parameter that is stored under `key`, if there is one."""
        self._notes().pop(key, None)

    def clear_param(self) -> None:
        """Removes all parameters."""
        self._notes().clear()

    def _notes(self) -> dict[str, Any]:
        return session().build_config.setdefault("_instructions", {})


INSTRUCTION_PARAMETERS = InstructionParameters()


def reuse_input_as_output(output_buffer: Any, input_buffer: Any, kernel_name: str) -> None:
    """Records that the device computes `output_buffer` in place, in the array of `input_buffer`.

    On the CPU, the record has no effect, because every output has its own array.

    Raises:
        OperatorError: an input is already recorded for `output_buffer`.
    """
    key = f"InputReuseDict_{kernel_name}"
    known = dict(INSTRUCTION_PARAMETERS.get_param(key) or {})
    if output_buffer in known:
        name = getattr(output_buffer, "name", output_buffer)
        raise fault(
            "E90001",
            f"two results are written over {name}",
            detailed_cause="Cannot assign two inputs to one output",
        )
    INSTRUCTION_PARAMETERS.insert_param(key, {**known, output_buffer: input_buffer})
