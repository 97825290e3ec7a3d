"""Implements the commands `ms-fusion ascendc`: only converts arguments to calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ms_fusion.cli.command_support import Group
from ms_fusion.cli.tbe import json_option
from tbe_impl.errors import InputError

FILE_BYTES_MAX = 16 << 20


@click.group(cls=Group)
def ascendc() -> None:
    """Run Ascend C kernels on the CPU; no Ascend device and no CANN are needed."""


@ascendc.command("run")
@click.argument("kernel", metavar="KERNEL.cpp", type=click.Path(path_type=Path))
@click.option(
    "--function",
    metavar="NAME",
    help="Kernel function to run; NAME<float> instantiates a template.  [default: the only kernel "
    "function in the file]",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="SPEC",
    help="Shape and dtype of an input (8x2048:float16), or a .npy file. Repeat the option for each "
    "input, in the order of the kernel's parameters.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="SPEC",
    help="Shape and dtype of an output, or a .npy file with its initial values. Repeat the option "
    "for each output, in the order of the kernel's parameters.",
)
@click.option(
    "--host",
    type=click.Path(path_type=Path),
    metavar="HOST.cpp|PROJECT.json",
    help="Host file of the operator: its tiling function computes the tiling data for the given "
    "shapes. Or the JSON file of an operator project, which declares dtypes and attributes.",
)
@click.option(
    "--tiling",
    multiple=True,
    metavar="NAME=VALUE,…|FILE.json",
    help="Values of fields of the tiling structure.",
)
@click.option(
    "--tiling-key",
    type=int,
    default=0,
    help="Tiling key that TILING_KEY_IS tests; the tiling function of --host sets it, too.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a scalar parameter of the kernel.",
)
@click.option(
    "--attr",
    "attributes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of an operator attribute that the tiling function of --host reads.",
)
@click.option(
    "--blocks",
    type=click.IntRange(min=1, max=1024),
    help="Number of cores.  [default: the number that the tiling function sets, otherwise all "
    "vector cores of the chip]",
)
@click.option(
    "--workspace",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Size of the workspace in global memory.  [default: 16 MiB, or more if the tiling "
    "function requests more]",
)
@click.option(
    "--define",
    "defines",
    multiple=True,
    metavar="NAME=VALUE",
    help="Preprocessor macro for the kernel and the host file.",
)
@click.option(
    "--include",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory of included headers. Headers in the directories around the kernel are found "
    "without this option.",
)
@click.option("--soc", default="Ascend910B1", show_default=True, help="Chip to model.")
@click.option(
    "--check",
    metavar="FORMULA",
    help='Expected value of the outputs as a formula of the inputs x0, x1, …: "x0 + x1". Separate '
    "the formulas of several outputs by commas.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the outputs, one .npy file each.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the random input arrays."
)
@json_option
def run_command(
    kernel: Path, check: str | None, save: Path | None, as_json: bool, **options: Any
) -> int:
    """Run a kernel on random or given inputs and check it against the rules of the chip.

    Exit code: 0 no errors, and the outputs match --check; 1 a check or the formula failed; 2 an
    argument is invalid, or the kernel does not compile.
    """
    if check is not None:
        with _place_of_formula():
            from tbe_impl.cli.formula_text import parse_formula

            parse_formula(check)
    request = build_request(kernel, **options)
    if save is not None and save.exists() and not save.is_dir():
        raise InputError("--save needs a directory", place=str(save), got="a file")
    from ms_fusion.report import ascendc_text
    from ms_fusion.report.operator_text import to_json_text
    from tbe_impl.ascendc.launch import CrashError
    from tbe_impl.cli.ascendc_commands import run_ascendc

    try:
        with _place_of_formula():
            found = run_ascendc(request, check=check, save=save)
    except CrashError as error:
        click.echo(f"{kernel}: error: {error}", err=True)
        return 1
    if as_json:
        click.echo(to_json_text(found, exit_code=found.exit_code))
    else:
        ascendc_text.print_run(found)
    return found.exit_code


@ascendc.command("apis")
@json_option
def apis_command(as_json: bool) -> None:
    """List the Ascend C names that the host model implements."""
    from ms_fusion.report import ascendc_text
    from tbe_impl.ascendc.api_names import list_apis

    found = list_apis()
    if as_json:
        click.echo(json.dumps({one.name: list(one.names) for one in found}, indent=2))
    else:
        ascendc_text.print_apis(found)


def build_request(kernel: Path, **options: Any) -> Any:
    """Converts the command-line options into an `AscendcRequest`.

    Raises:
        InputError: an option is malformed, or a file is missing.
    """
    from ms_fusion.cli.tbe_request import description_of
    from tbe_impl.soc import find_soc

    for place in (kernel, options["host"]):
        if place is not None and not place.is_file():
            raise InputError("no such file", place=str(place))
    for place in options["include"]:
        if not place.is_dir():
            raise InputError("no such directory", place=f"--include {place}")
    try:
        find_soc(options["soc"])
    except InputError as error:
        error.place = f"--soc {options['soc']}"
        raise
    inputs = tuple(description_of(text) for text in options.pop("inputs"))
    outputs = tuple(description_of(text, option="--output") for text in options.pop("outputs"))
    if not outputs:
        raise InputError(
            "the kernel has no output",
            place="--output",
            expected="one for each tensor that the kernel writes, such as --output 8x2048:float16",
        )
    tiling = parse_tiling(options.pop("tiling"))
    arguments = _pairs(options.pop("arguments"), "--arg")
    attributes = _pairs(options.pop("attributes"), "--attr")
    from tbe_impl.cli.ascendc_commands import AscendcRequest

    return AscendcRequest(
        kernel,
        inputs=inputs,
        outputs=outputs,
        tiling=tiling,
        arguments=arguments,
        attributes=attributes,
        **options,
    )


@contextmanager
def _place_of_formula() -> Iterator[None]:
    """Context manager: in an error about a formula, names `--check` instead of `--formula`."""
    try:
        yield
    except InputError as error:
        if error.place == "--formula":
            error.place = "--check"
        raise


def parse_tiling(texts: Sequence[str]) -> dict[str, Any]:
    """Parses the values of ``--tiling``; returns a dict from the name of a field to its value.

    Each of `texts` is a list of fields such as ``a=1,b=2``, or the name of a JSON file. The text
    ``a=1,2,3`` is one field, whose value is an array.

    Raises:
        InputError: a text has another form, or the JSON file does not contain an object of numbers.

    >>> parse_tiling(["a=1,2,3,b=0.5"])
    {'a': '1,2,3', 'b': '0.5'}
    """
    found: dict[str, Any] = {}
    for text in texts:
        if text.endswith(".json"):
            found.update(_read_json(Path(text)))
            continue
        name = ""
        for part in text.split(","):
            left, sign, value = part.partition("=")
            if sign:
                name = left.strip()
                found[name] = value.strip()
            elif name and part.strip():
                found[name] += f",{part.strip()}"
            else:
                raise InputError(
                    "this is not tiling data",
                    place=f"--tiling {text}",
                    expected="NAME=VALUE,… or FILE.json",
                    got=repr(part),
                )
    return found


def _read_json(path: Path) -> dict[str, Any]:
    place = f"--tiling {path}"
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise InputError("the file is too large", place=place)
        raw = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", place=place) from error
    except (ValueError, RecursionError) as error:
        raise InputError("the file is not JSON", place=place, got=str(error)) from error
    if not isinstance(raw, dict):
        raise InputError(
            "the file contains no JSON object", place=f"--tiling {path}", got=type(raw).__name__
        )
    return dict(_flat("", raw, path))


def _flat(prefix: str, value: dict[str, Any], path: Path) -> list[tuple[str, Any]]:
    """Flattens nested objects; returns (dotted name, value) for each field."""
    found: list[tuple[str, Any]] = []
    for name, one in value.items():
        if isinstance(one, dict):
            found += _flat(f"{prefix}{name}.", one, path)
        elif isinstance(one, (int, float)) or (
            isinstance(one, list) and all(isinstance(item, (int, float)) for item in one)
        ):
            found.append((f"{prefix}{name}", one))
        else:
            raise InputError(
                f"the tiling field {prefix}{name} is not a number",
                place=f"--tiling {path}",
                expected="a number or a list of numbers",
                got=repr(one),
            )
    return found


def _pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier() or name in found:
            raise InputError(
                "given twice" if name in found else "not of the form NAME=VALUE",
                place=f"{option} {text}",
            )
        found[name] = value
    return found
