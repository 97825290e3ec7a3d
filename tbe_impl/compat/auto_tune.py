"""``tbe.auto_tune``: whether building an operator tunes its kernel, and within which limits."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from tbe_impl.compat.placeholders import CompatModule
from tbe_impl.dsl.location import here
from tbe_impl.errors import InputError

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"tuning_step": 1000, "seconds": 60.0, "verbose": True}
)
"""The keys of ``auto_tune.config``, and what holds where they are not given."""

KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "tuning_step": ((int,), "a positive whole number"),
    "seconds": ((int, float), "a positive number"),
    "verbose": ((bool,), "True or False"),
}
"""What the values of each key may be."""


class AutoTune(CompatModule):
    """The module ``tbe.auto_tune``, one for the whole process.

    Attributes:
        enable: whether building an operator measures variants of its kernel and keeps the fastest.
        config: ``tuning_step``: measurements at most (1000); ``seconds``: time at most for a kernel
            (60); ``verbose``: whether a terminal shows a progress bar (True).
    """

    enable: bool
    config: dict[str, Any]

    def __init__(self) -> None:
        super().__init__("tbe.auto_tune", "Whether building an operator tunes its kernel.")
        self.enable, self.config = False, {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "enable":
            if not isinstance(value, bool):
                raise _wrong("enable", "True or False", value)
        elif name == "config":
            value = {**DEFAULTS, **_checked(value)}
        elif not name.startswith("_"):
            raise _unknown(f"auto_tune.{name}", name, ("enable", "config"))
        super().__setattr__(name, value)

    def limits(self) -> Mapping[str, Any] | None:
        """What ``config`` says, complete; None when tuning is not enabled.

        Raises:
            InputError: a value that was written into ``config`` is wrong.
        """
        return {**DEFAULTS, **_checked(self.config)} if self.enable else None


def _checked(config: Any) -> Mapping[str, Any]:
    if not isinstance(config, Mapping):
        raise _wrong("config", f"a dict with {', '.join(DEFAULTS)}", config)
    for key, value in config.items():
        if key not in DEFAULTS:
            raise _unknown("auto_tune.config", str(key), DEFAULTS)
        kinds, expected = KINDS[key]
        if type(value) not in kinds or (key != "verbose" and not value > 0):
            raise _wrong(f"config[{key!r}]", expected, value)
    return config


def _wrong(name: str, expected: str, value: Any) -> InputError:
    return InputError(
        f"auto_tune.{name} cannot be this", place=str(here()), expected=expected, got=repr(value)
    )


def _unknown(where: str, name: str, known: Iterable[str]) -> InputError:
    near = difflib.get_close_matches(name, list(known), n=1)
    return InputError(
        f"{where}: there is no such setting",
        place=str(here()),
        expected=" or ".join(known),
        got=repr(name),
        remedy=f"Did you mean {near[0]}?" if near else None,
    )


AUTO_TUNE = AutoTune()
