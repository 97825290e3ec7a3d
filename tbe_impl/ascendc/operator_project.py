"""Reads the JSON file of an operator project: the names and dtypes of inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tbe_impl.ascendc.kernel_source import read_text
from tbe_impl.errors import InputError, pluralize

DTYPES = {
    "fp16": "float16",
    "float16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "float32": "float32",
    "double": "float64",
    "float64": "float64",
    "bool": "bool",
    **{f"{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""Maps the name of a dtype in a project file to the NumPy dtype."""


class _Parameter(msgspec.Struct, frozen=True):
    name: str
    type: list[str] | str = []
    param_type: str = "required"


class _Attribute(msgspec.Struct, frozen=True):
    name: str
    default_value: Any = None


class _Operator(msgspec.Struct, frozen=True):
    op: str
    input_desc: list[_Parameter] = []
    output_desc: list[_Parameter] = []
    attr: list[_Attribute] = []


@dataclass(frozen=True)
class OperatorProject:
    """An operator of a project.

    Attributes:
        operator: name of the operator.
        dtypes: maps the name of each array (inputs first, then outputs) to its permitted NumPy
            dtypes.
            There is one dtype for each variant of the operator. Empty if all dtypes are permitted.
        inputs: number of inputs.
        attributes: names of the operator's attributes.
    """

    operator: str
    dtypes: Mapping[str, tuple[str, ...]]
    inputs: int
    attributes: tuple[str, ...]

    def check(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, Any],
        place: str,
    ) -> dict[str, str]:
        """Checks the dtypes of a call.

        Returns a dict from the name of each array to its dtype. `inputs` and `outputs` are the
        dtypes in parameter order.

        Raises:
            InputError: there are too many arrays, no variant of the operator has these dtypes, or
                an attribute is unknown.
        """
        names = list(self.dtypes)
        given = dict(zip(names[: self.inputs], inputs, strict=False))
        given |= dict(zip(names[self.inputs :], outputs, strict=False))
        if len(inputs) > self.inputs or len(outputs) > len(names) - self.inputs:
            raise InputError(
                f"{self.operator} has {pluralize(self.inputs, 'input')} and "
                f"{pluralize(len(names) - self.inputs, 'output')}",
                place=place,
                got=f"{len(inputs)} and {len(outputs)}",
            )
        unknown = sorted(set(attributes) - set(self.attributes))
        if unknown:
            raise InputError(
                f"{self.operator} has no attribute {unknown[0]}",
                place=place,
                expected=", ".join(self.attributes) or "none",
            )
        variants = max((len(one) for one in self.dtypes.values()), default=0)
        fits = any(
            all(self._is_permitted(name, dtype, number) for name, dtype in given.items())
            for number in range(max(variants, 1))
        )
        if not fits:
            raise InputError(
                f"{self.operator} has no variant with these dtypes",
                place=place,
                expected="; ".join(
                    f"{name}: {', '.join(types)}" for name, types in self.dtypes.items() if types
                ),
                got=", ".join(f"{name} {dtype}" for name, dtype in given.items()),
            )
        return given

    def _is_permitted(self, name: str, dtype: str, variant: int) -> bool:
        types = self.dtypes[name]
        return not types or dtype == types[min(variant, len(types) - 1)]


def read_operator_project(path: Path, kernel: str) -> OperatorProject:
    """Reads a project file; the kernel function name `kernel` selects one of several operators.

    Raises:
        InputError: the file is not a project file, has no operator for `kernel`, or contains an
            unknown dtype.
    """
    text = read_text(path)
    decoder = msgspec.json.Decoder(list[_Operator] | _Operator)
    try:
        raw = decoder.decode(text.encode("utf-8", "surrogateescape"))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(
            "the file is not an operator project",
            place=str(path),
            got=str(error),
            expected='[{"op": NAME, …}]',
        ) from error
    operators = raw if isinstance(raw, list) else [raw]
    plain = kernel.replace("_", "").lower()
    fitting = [one for one in operators if one.op.lower() == plain] or operators
    if len(fitting) != 1:
        raise InputError(
            f"no operator of the project fits the kernel {kernel}",
            place=str(path),
            expected=", ".join(one.op for one in operators) or "an operator",
        )
    chosen = fitting[0]
    parameters = [*chosen.input_desc, *chosen.output_desc]
    return OperatorProject(
        chosen.op,
        {one.name: _dtypes(one, path) for one in parameters},
        len(chosen.input_desc),
        tuple(one.name for one in chosen.attr),
    )


def _dtypes(parameter: _Parameter, path: Path) -> tuple[str, ...]:
    written = [parameter.type] if isinstance(parameter.type, str) else parameter.type
    names = [part.strip().lower() for one in written for part in one.split(",") if part.strip()]
    unknown = [name for name in names if name not in DTYPES]
    if unknown:
        raise InputError(
            f"unknown dtype of {parameter.name}",
            place=str(path),
            expected=", ".join(DTYPES),
            got=repr(unknown[0]),
        )
    return tuple(DTYPES[name] for name in names)
