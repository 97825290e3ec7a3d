"""Records calls of ``mindspore.ops.op_info_register`` if MindSpore is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tbe_impl.compat.registration import make_decorator

_DTYPES = {
    "BOOL": "bool",
    "I8": "int8",
    "U8": "uint8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "BF16": "bfloat16",
    "None": "",
}
_FORMATS = {
    "Default": "DefaultFormat",
    "5HD": "NC1HWC0",
    "FracZ": "FRACTAL_Z",
    "FracNZ": "FRACTAL_NZ",
    "None": "",
}


class _DataTypes(type):
    def __getattr__(cls, name: str) -> tuple[str, str]:
        dtype, _, layout = name.partition("_")
        if dtype not in _DTYPES:
            raise AttributeError(name)
        return _DTYPES[dtype], _FORMATS.get(layout, layout)


class DataType(metaclass=_DataTypes):
    """Pairs of dtype and format: ``DataType.F16_Default`` is ``("float16", "DefaultFormat")``."""


class RegisterInformation:
    """Records the arguments of a call chain ``TBERegOp("Name").fusion_type(…).input(…)``."""

    def __init__(self, op_name: str = ""):
        self.op_name = op_name
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def note(*values: Any, **keywords: Any) -> RegisterInformation:
            self.calls.append((name, (*values, *keywords.values())))
            return self

        return note

    def get_op_info(self) -> RegisterInformation:
        """Ends the call chain and returns this object."""
        return self


def op_info_register(info: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that records the operator and wraps its function."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(info, "op_name", None) or function.__name__
        wrapper = make_decorator("op_info_register", str(name), info=info)(function)
        wrapper.operator_info = info  # type: ignore[attr-defined]
        return wrapper

    return decorate


def custom_info_register(*infos: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Calls `op_info_register` with the first of `infos`.

    Files of operators for ``ops.Custom`` call this function.
    """
    return op_info_register(infos[0] if infos else None)


NAMES: dict[str, Any] = {
    "op_info_register": op_info_register,
    "custom_info_register": custom_info_register,
    "DataType": DataType,
    **dict.fromkeys(
        "TBERegOp AiCPURegOp CpuRegOp AkgAscendRegOp AkgGpuRegOp CustomRegOp".split(),
        RegisterInformation,
    ),
}
