"""Defines the placeholder for the kernels of an operator that needs all sizes at build time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel


@dataclass(frozen=True)
class DeferredKernel(Kernel):
    """Placeholder for the kernels of an operator that needs all sizes at build time.

    The first call with arrays of certain shapes builds the kernel for these shapes. The attributes
    `inputs` and `outputs` of this object are empty.

    Attributes:
        problem: the error that occurred when the operator was built for unknown sizes.
    """

    problem: FusionError | None = None

    def for_arrays(self, arrays: Sequence[Any]) -> Kernel:
        """Returns the kernel for the shapes of these arrays.

        If the operator needs the values of small integer inputs, the kernel is also specific to
        these values.

        Raises:
            FusionError: the operator rejects the arrays.
        """
        assert self.specialise is not None
        found = self.specialise(arrays)
        if found is None:
            raise InputError(
                "these arrays are not inputs of the operator",
                place=self.name,
                got=", ".join(f"{np.shape(item)}" for item in arrays) or "none",
                remedy="Give one array for each tensor that the operator reads, "
                "in the declared shapes",
            )
        return self._copy_options_to(found)

    def __call__(
        self,
        *arrays: Any,
        backend: str = "cpu",
        rounding: str | None = None,
        out: Sequence[np.ndarray] | np.ndarray | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> Any:
        """Builds the kernel for these arrays and calls it; see `Kernel.__call__`."""
        own = self.for_arrays(arrays)
        return own(*arrays, backend=backend, rounding=rounding, out=out, scalars=scalars)

    def _refuse(self) -> NoReturn:
        raise InputError(
            "there is no kernel before the sizes are known",
            place=self.name,
            got=str(self.problem),
            remedy="Call it, or take kernel.for_arrays(arrays)",
        ) from self.problem

    def compiled_by(self, backend: str) -> NoReturn:
        """Raises `InputError`, because only kernels for known sizes have compiled code."""
        self._refuse()

    def report(self) -> Any:
        """Raises `InputError`, because only kernels for known sizes have a report."""
        self._refuse()
