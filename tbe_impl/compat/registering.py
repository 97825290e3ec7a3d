"""Decorators by which operator files announce what they hold; each leaves a record in the session."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from tbe_impl.compat.session import Registration, has_session, running, session


def record(kind: str, name: str, function: Any, wrapper: Any, **options: Any) -> None:
    """Notes one registration; in a program of a user's, outside of every session, there is nobody to note it for."""
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
    """Announces an operator; while it runs, its type and whether its shapes are dynamic are known."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            with running((*args, *keywords.values()), op_type):
                return function(*args, **keywords)

        record("register_operator", op_type, function, wrapper, pattern=pattern)
        return wrapper

    return decorate


def register_op_compute(
    op_type: str, op_mode: str = "dynamic", support_fusion: bool = True, **options: Any
) -> Decorator:
    """Announces the compute function of an operator."""
    return _plain("register_op_compute", op_type, op_mode=op_mode, **options)


def register_fusion_compute(op_type: str, *_: Any, **__: Any) -> Decorator:
    """The older name of `register_op_compute`."""
    return _plain("register_op_compute", op_type)


def _plain(kind: str, name: str, **options: Any) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        record(kind, name, function, wrapper, **options)
        return wrapper

    return decorate


def _recording(kind: str) -> Callable[..., Decorator]:
    def register(*names: Any, **options: Any) -> Decorator:
        return _plain(kind, str(names[0]) if names else "", **options)

    register.__name__ = kind
    register.__doc__ = f"Announces a function by the decorator ``{kind}``."
    return register


def _found(kind: str, name: str) -> Any:
    matches = [item for item in session().registrations if item.kind == kind and item.name == name]
    return matches[-1].wrapper if matches else None


class Operator:
    """What ``get_operator`` gives back."""

    def __init__(self, function: Any):
        self.function = function

    def get_func(self) -> Any:
        """The function that files call."""
        return self.function

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)


def get_operator(op_type: str) -> Operator | None:
    """The operator registered under that type, None when there is none."""
    found = _found("register_operator", op_type)
    return Operator(found) if found else None


def get_op_compute(op_type: str, op_mode: str = "dynamic", **_: Any) -> Operator | None:
    """The compute function registered under that type, None when there is none."""
    found = _found("register_op_compute", op_type)
    return Operator(found) if found else None


def get_param_generalization(op_type: str) -> Any:
    """The function registered by ``register_param_generalization``, None when there is none."""
    return _found("register_param_generalization", op_type)


def set_fusion_buildcfg(op_type: str, build_config: Any) -> None:
    """Notes options of an operator type."""
    session().build_config.setdefault("_fusion", {})[op_type] = build_config


def get_fusion_buildcfg(op_type: str | None = None) -> Any:
    """Options noted for an operator type."""
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
    "Operator": Operator,
    "OpCompute": Operator,
    **{
        kind: _recording(kind)
        for kind in (
            "register_param_generalization register_tune_space register_tune_param_check_supported register_fusion_pass "
            "register_pass_for_fusion register_op_param_pass register_schedule register_tiling_case register_build_pointcut "
            "register_classify_processor register_variable register_transform_schedule"
        ).split()
    },
}
