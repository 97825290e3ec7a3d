import sys
import mindspore
from mindspore import nn
from mindspore.nn import Cell
from mindspore.ops import functional as F

#
#
sys.path.insert(0, "/tmp/wt/attention/custom_ops")
from custom_ops.arrays import OnArrays


class OnArraysOpt(OnArrays):
    def __init__(self):
        for key, value in OnArrays.__dict__.items():
            if not key.startswith("__"):
                setattr(OnArraysOpt, key, value)


#
sys.path.insert(0, "/tmp/wt/attention/custom_ops")
import warnings
from collections.abc import Callable, Mapping
from typing import Any
from custom_ops import dispatch
from custom_ops.framework import HAS_MINDSPORE, Cell as Cell_1
from custom_ops.specs import OpSpec
from tbe_impl.errors import InputError
from custom_ops.primitive import primitive
from custom_ops.cell import FusedCell

#
sys.path.insert(0, "/tmp/wt/attention/custom_ops")
from custom_ops.framework import Cell as Cell_1
from custom_ops.cell import Visible


class VisibleOpt_1(Visible, Cell_1):
    def __init__(self, obj):
        Cell_1.__init__(self)
        for key, value in obj.__dict__.items():
            setattr(self, key, value)

    def construct(self, *inputs) -> Any:
        made = self.call(*inputs)
        compare_var = self.count == 1
        if compare_var:
            subscript_var = made[0]
            return subscript_var
        subscript_var = made[: self.count]
        return subscript_var


#
sys.path.insert(0, "/tmp/wt/attention/custom_ops")


class FusedCellOpt_1(FusedCell, OnArraysOpt, Cell_1):
    def __init__(self, obj):
        OnArraysOpt.__init__(self)
        Cell_1.__init__(self)
        for key, value in obj.__dict__.items():
            setattr(self, key, value)
        self.run = VisibleOpt_1(self.run)

    def construct(self, *inputs) -> Any:
        run_var = self.run(*inputs)
        return run_var

    def extend_repr(self) -> str:
        """What distinguishes it in the print of a net."""
        return ", ".join((f"{name}={value}" for name, value in self.attributes.items()))


#
sys.path.insert(0, "/tmp/wt/attention/custom_ops/operators")
from custom_ops.operators.attention import ScaledDotProductAttention


class ScaledDotProductAttentionOpt(ScaledDotProductAttention, OnArraysOpt, Cell_1):
    def __init__(self, obj):
        OnArraysOpt.__init__(self)
        Cell_1.__init__(self)
        for key, value in obj.__dict__.items():
            setattr(self, key, value)
        self.plain = FusedCellOpt_1(self.plain)
        self.masked = FusedCellOpt_1(self.masked)
        self.__class__.spec = obj.__class__.spec

    def construct(self, q, k, v, mask=None) -> Any:
        compare_var = mask is None
        if compare_var:
            plain_var = self.plain(q, k, v)
            return plain_var
        masked_var = self.masked(q, k, v, mask)
        return masked_var

    def forward(self, q, k, v, mask=None) -> Any:
        """y for NumPy arrays; they are kept for `backward`."""
        given = (q, k, v) if mask is None else (q, k, v, mask)
        cell = self.plain if mask is None else self.masked
        object.__setattr__(self, "_last", cell)
        return cell.forward(*given)

    def backward(self, grad, *arrays) -> Any:
        """The gradients of q, k and v."""
        if arrays:
            self.forward(*arrays)
        cell: Any = getattr(self, "_last", self.plain)
        return cell.backward(grad)


#
sys.path.insert(0, "/tmp")
N = getattr(sys.modules["__main__"], "N")


class NOpt(N, nn.Cell):
    def __init__(self, obj):
        nn.Cell.__init__(self)
        for key, value in obj.__dict__.items():
            setattr(self, key, value)
        self.a = ScaledDotProductAttentionOpt(self.a)

    def construct(self, q):
        a_var = self.a(q, q, q)
        return a_var


#
