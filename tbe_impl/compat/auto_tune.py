"""Implements ``tbe.auto_tune``: settings that enable and limit tuning in operator builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from tbe_impl.compat.placeholders import CompatModule
from tbe_impl.dsl.location import user_location
from tbe_impl.errors import InputError, suggest_name

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"tuning_step": 1000, "seconds": 60.0, "verbose": True}
)
"""Keys of ``auto_tune.config`` and their defaults."""

SETTING_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "tuning_step": ((int,), "a positive whole number"),
    "seconds": ((int, float), "a positive number"),
    "verbose": ((bool,), "True or False"),
}
"""Maps a key of ``auto_tune.config`` to the types and a description of its permitted values."""


class AutoTune(CompatModule):
    """Stands for the module ``tbe.auto_tune``; the process has one instance.

    Attributes:
        enable: whether an operator build measures kernel variants and keeps the fastest.
        config: a dict with three settings. ``tuning_step`` is the maximum number of measurements
            (default 1000). ``seconds`` is the time limit per kernel, in seconds (default 60).
            ``verbose`` is whether a terminal shows a progress bar (default True).
    """

    enable: bool
    config: dict[str, Any]

    def __init__(self) -> None:
        super().__init__("tbe.auto_tune", "Whether building an operator tunes its kernel.")
        self.enable, self.config = False, {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "enable":
            if not isinstance(value, bool):
                raise _wrong_value_error("enable", "True or False", value)
        elif name == "config":
            value = {**DEFAULTS, **_check_config(value)}
        elif not name.startswith("_"):
            raise _unknown_setting_error(f"auto_tune.{name}", name, ("enable", "config"))
        super().__setattr__(name, value)

    def limits(self) -> Mapping[str, Any] | None:
        """Returns the settings of ``config``, with defaults for missing settings.

        Returns None if tuning is disabled.

        Raises:
            InputError: a value in ``config`` is invalid.
        """
        return {**DEFAULTS, **_check_config(self.config)} if self.enable else None


def _check_config(config: Any) -> Mapping[str, Any]:
    if not isinstance(config, Mapping):
        raise _wrong_value_error("config", f"a dict with {', '.join(DEFAULTS)}", config)
    for key, value in config.items():
        if key not in DEFAULTS:
            raise _unknown_setting_error("auto_tune.config", str(key), DEFAULTS)
        kinds, expected = SETTING_TYPES[key]
        if type(value) not in kinds or (key != "verbose" and not value > 0):
            raise _wrong_value_error(f"config[{key!r}]", expected, value)
    return config


def _wrong_value_error(name: str, expected: str, value: Any) -> InputError:
    return InputError(
        f"auto_tune.{name} has an invalid value",
        place=str(user_location()),
        expected=expected,
        got=repr(value),
    )


def _unknown_setting_error(where: str, name: str, known: Iterable[str]) -> InputError:
    return InputError(
        f"{where}: there is no such setting",
        place=str(user_location()),
        expected=" or ".join(known),
        got=repr(name),
        remedy=suggest_name(name, known),
    )


AUTO_TUNE = AutoTune()
