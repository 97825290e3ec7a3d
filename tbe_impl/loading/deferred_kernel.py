"""Kernels of operators that cannot be built before the sizes are known: one is made for each set of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel


@dataclass(frozen=True)
class LateKernel(Kernel):
    """A kernel without inputs and outputs of its own; called with arrays, it is the kernel for those.

    Attributes:
        problem: why there is none for unknown sizes.
    """

    problem: FusionError | None = None

    def for_arrays(self, arrays: Sequence[Any]) -> Kernel:
        """The kernel for arrays of these shapes and, of small integer inputs, these numbers.

        Raises:
            FusionError: the operator refuses them.
        """
        assert self.specialise is not None
        found = self.specialise(arrays)
        if found is None:
            raise InputError(
                "these arrays are no inputs of the operator",
                place=self.name,
                got=", ".join(f"{np.shape(item)}" for item in arrays) or "none",
                remedy="Give one array for each tensor that the operator reads, in the declared shapes",
            )
        return self._like_this(found)

    def __call__(
        self,
        *arrays: Any,
        backend: str = "cpu",
        rounding: str | None = None,
        out: Sequence[np.ndarray] | np.ndarray | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> Any:
        """As `Kernel` has it."""
        own = self.for_arrays(arrays)
        return own(*arrays, backend=backend, rounding=rounding, out=out, scalars=scalars)

    def _refuse(self) -> NoReturn:
        raise InputError(
            "there is no kernel before the sizes are known",
            place=self.name,
            got=str(self.problem),
            remedy="Call it, or take kernel.for_arrays(arrays)",
        ) from self.problem

    @property
    def compiled(self) -> Any:
        """Raises `InputError`: of each kernel for known sizes there is one."""
        self._refuse()

    def report(self) -> Any:
        """Raises `InputError`: each kernel for known sizes has one."""
        self._refuse()
