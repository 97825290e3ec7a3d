"""Implements the registration decorators. A decorator records its arguments in the session."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from tbe_impl.compat.session import Registration, has_session, operator_scope, session
from tbe_impl.dsl.operation import with_name


def record_registration(kind: str, name: str, function: Any, wrapper: Any, **options: Any) -> None:
    """Records a registration in the current session; does nothing if there is no session."""
    if not has_session():
        return
    plain = inspect.unwrap(function)
    code = getattr(plain, "__code__", None)
    session().registrations.append(
        Registration(
            kind,
            name,
            plain,
            wrapper,
            code.co_filename if code else "",
            code.co_firstlineno if code else 0,
            MappingProxyType(options),
        )
    )


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def register_operator(
    op_type: str, pattern: Any = None, trans_bool_to_s8: bool = True, **_: Any
) -> Decorator:
    """Returns a decorator that registers an operator.

    While the operator function runs, the current session stores the operator's type and
    whether the operator's shapes are dynamic.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            with operator_scope((*args, *keywords.values()), op_type):
                return function(*args, **keywords)

        record_registration("register_operator", op_type, function, wrapper, pattern=pattern)
        return wrapper

    return decorate


def register_op_compute(
    op_type: str, op_mode: str = "dynamic", support_fusion: bool = True, **options: Any
) -> Decorator:
    """Returns a decorator that registers the compute function of an operator."""
    return make_decorator("register_op_compute", op_type, op_mode=op_mode, **options)


def register_fusion_compute(op_type: str, *_: Any, **__: Any) -> Decorator:
    """Older name of `register_op_compute`."""
    return make_decorator("register_op_compute", op_type)


def make_decorator(kind: str, name: str, **options: Any) -> Decorator:
    """Returns a decorator that records a registration and wraps the function."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        record_registration(kind, name, function, wrapper, **options)
        return wrapper

    return decorate


def _make_register_function(kind: str) -> Callable[..., Decorator]:
    def register(*names: Any, **options: Any) -> Decorator:
        return make_decorator(kind, str(names[0]) if names else "", **options)

    return with_name(
        register, kind, f"Returns the decorator ``{kind}``, which registers a function."
    )


def _find_wrapper(kind: str, name: str) -> Any:
    matches = [item for item in session().registrations if item.kind == kind and item.name == name]
    return matches[-1].wrapper if matches else None


class OperatorRegistration:
    """A registered function, as returned by ``get_operator`` and ``get_op_compute``."""

    def __init__(self, function: Any):
        self.function = function

    def get_func(self) -> Any:
        """Returns the decorated function."""
        return self.function

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)


def get_operator(op_type: str) -> OperatorRegistration | None:
    """Returns the operator that is registered for an operator type, or None if there is none."""
    found = _find_wrapper("register_operator", op_type)
    return OperatorRegistration(found) if found else None


def get_op_compute(op_type: str, op_mode: str = "dynamic", **_: Any) -> OperatorRegistration | None:
    """Returns the compute function registered for an operator type, or None if there is none."""
    found = _find_wrapper("register_op_compute", op_type)
    return OperatorRegistration(found) if found else None


def get_param_generalization(op_type: str) -> Any:
    """Returns the function from ``register_param_generalization`` for an operator type, or None."""
    return _find_wrapper("register_param_generalization", op_type)


def set_fusion_buildcfg(op_type: str, build_config: Any) -> None:
    """Stores the build options of an operator type."""
    session().build_config.setdefault("_fusion", {})[op_type] = build_config


def get_fusion_buildcfg(op_type: str | None = None) -> Any:
    """Returns the build options of `op_type`.

    If `op_type` is not given, returns a dict from operator type to build options.
    """
    found = session().build_config.get("_fusion", {})
    return found.get(op_type, {}) if op_type else found


FUNCTIONS: dict[str, Any] = {
    "register_operator": register_operator,
    "register_op_compute": register_op_compute,
    "register_fusion_compute": register_fusion_compute,
    "get_operator": get_operator,
    "get_op_compute": get_op_compute,
    "get_param_generalization": get_param_generalization,
    "set_fusion_buildcfg": set_fusion_buildcfg,
    "get_fusion_buildcfg": get_fusion_buildcfg,
    "Operator": OperatorRegistration,
    "OpCompute": OperatorRegistration,
    **{
        kind: _make_register_function(kind)
        for kind in (
            "register_param_generalization register_tune_space register_tune_param_check_supported "
            "register_fusion_pass register_pass_for_fusion register_op_param_pass "
            "register_schedule register_tiling_case register_build_pointcut "
            "register_classify_processor register_variable register_transform_schedule"
        ).split()
    },
}
