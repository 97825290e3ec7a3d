"""Records how a schedule treats one stage: loops, placement, memory, instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.expr import Const, Expr, IterVar, Range, as_expr, const
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import INPUT_REMEDY, Operation
from tbe_impl.errors import InputError
from tbe_impl.scheduling.records import Attach, Directive, Fuse, Split, StageRecord

GLOBAL_SCOPE = "global"
"""The scope of the device's main memory."""

LOOP_METHODS = frozenset(
    "bind emit_insn parallel pragma prefetch reverse set_block_sync set_intra_group_sync "
    "set_subblock_sync set_vector_scope speel tensorize unroll vectorize wait_block_sync "
    "wait_intra_group_sync wait_subblock_sync".split()
)
"""Stage methods whose first argument is a current loop of the stage."""

AXIS_METHODS = frozenset("bind_buffer compute_align partition specialize storage_align".split())
"""Stage methods whose first argument is an axis of the operation, or a (possibly former) loop."""

AXIS_REQUIRED_METHODS = frozenset("bind parallel storage_align unroll vectorize".split())
"""Stage methods with a required loop or axis as first argument; other methods may omit it."""

STAGE_METHODS = frozenset(
    "allocate_at allocate_root block_sync_all buffer_align buffer_stride buffer_tile "
    "cycle_double_buffer double_buffer enable_mte4_mte5 env_threads mem_unique n_buffer preload "
    "reinterpret_cast remove_init reused_by set_buffer_size set_store_predicate "
    "set_storage_bound set_value skip_bound_check specify_storage trace_store unreused_by".split()
)
"""Stage methods that apply to the stage as a whole."""

RECORDED_METHODS = LOOP_METHODS | AXIS_METHODS | STAGE_METHODS


class UnknownMember(InputError, AttributeError):
    """Raised when an operator accesses a member that a schedule or a stage does not have."""


class Stage:
    """The schedule of one stage; the methods record decisions, which never change the results.

    Attributes:
        op: the current operation of the stage. ``cache_read``, ``cache_write`` and ``rfactor``
            replace the original operation by a new one.
        origin: the original operation, which belongs to the operator's graph. None for a stage that
            the schedule added.
        scope: the memory of the outputs.
        is_output: whether the stage computes an output of the kernel.
        versions: all operations that the stage has had, oldest first. Output number i is the same
            tensor in every version.
        made_by: the schedule method that added the stage. Empty for a stage of the operator's own
            graph.
    """

    def __init__(
        self, op: Operation, origin: Operation | None, *, is_output: bool, made_by: str = ""
    ):
        self.op, self.origin, self.is_output, self.made_by = op, origin, is_output, made_by
        self.versions = [op]
        self.scope, self.scope_place = GLOBAL_SCOPE, ""
        self.inlined = False
        self._leaves = [*op.axis, *op.reduce_axis]
        self._relations: list[Split | Fuse] = []
        self._attach: tuple[Stage, IterVar, str] | None = None
        self._directives: list[Directive] = []

    @property
    def origin_op(self) -> Operation:
        """The operation of the stage before any change by the schedule."""
        return self.origin or self.op

    @property
    def leaf_iter_vars(self) -> list[IterVar]:
        """The loops of the stage, outermost first."""
        return list(self._leaves)

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The axes of the operation, and all loops that splits and fusions have created."""
        found = [*self.op.axis, *self.op.reduce_axis]
        for relation in self._relations:
            found += (
                [relation.outer, relation.inner]
                if isinstance(relation, Split)
                else [relation.fused]
            )
        return found

    @property
    def relations(self) -> tuple[Split | Fuse, ...]:
        """Splits and fusions that derived the loops from the axes, oldest first."""
        return tuple(self._relations)

    def split(
        self,
        parent: IterVar,
        factor: Any = None,
        nparts: Any = None,
        tail_strategy: str = "guard_with_if",
    ) -> tuple[IterVar, IterVar]:
        """Splits a loop: ``parent = outer · factor + inner``.

        Args:
            parent: a loop.
            factor: extent of the inner loop.
            nparts: extent of the outer loop, which may be given instead of `factor`.
            tail_strategy: how the device treats a partial tile; ignored, because it does not change
                the results.

        Returns:
            The pair (outer loop, inner loop).
        """
        place = str(user_location())
        if (factor is None) == (nparts is None):
            raise InputError(
                f"split of {_name(parent)} takes a factor or a number of parts",
                place=place,
                expected="one of factor= and nparts=",
                got="both" if factor is not None else "neither",
            )
        at = self._position(parent, "split", place)
        given = factor if factor is not None else nparts
        size = as_expr(given.item() if hasattr(given, "item") else given)
        if isinstance(size, Const) and (not float(size).is_integer() or size.value < 1):
            raise InputError(
                f"{parent.name} of stage {self.op.name} cannot be split so",
                place=place,
                expected="a positive whole number",
                got=str(size.value),
            )
        if isinstance(size, Const):
            size = const(int(size.value))
        counted, other = _clamp_size(size, parent.extent), _ceil_divide(parent.extent, size)
        outer_extent, inner_extent = (other, counted) if factor is not None else (counted, other)
        outer = IterVar(Range(outer_extent), f"{parent.name}.outer", parent.kind)
        inner = IterVar(Range(inner_extent), f"{parent.name}.inner", parent.kind)
        self._leaves[at : at + 1] = [outer, inner]
        self._relations.append(
            Split(parent, outer, inner, inner_extent, size if factor is None else None, place)
        )
        return outer, inner

    def fuse(self, *axes: Any) -> IterVar:
        """Fuses adjacent loops, given outermost first, and returns the fused loop.

        Without arguments, the method adds an outermost loop of one iteration, and returns this new
        loop.
        """
        place = str(user_location())
        given = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else [*axes]
        if not given:
            # as in TVM: fusing no loops adds an outermost loop of one iteration
            once = IterVar(Range(const(1)), f"{self.op.name}.once", "data")
            self._leaves.insert(0, once)
            return once
        fused: IterVar = given[0]
        for inner in given[1:]:
            fused = self._fuse_two(fused, inner, place)
        return fused

    def _fuse_two(self, outer: IterVar, inner: IterVar, place: str) -> IterVar:
        first, second = self._position(outer, "fuse", place), self._position(inner, "fuse", place)
        if second == first - 1:
            first, second, outer, inner = second, first, inner, outer
        if second != first + 1:
            raise InputError(
                f"{outer.name} and {inner.name} of stage {self.op.name} do not follow each other",
                place=place,
                expected="loops that follow each other",
                got=f"the loops {self._names()}",
                remedy="reorder brings them together",
            )
        kind = "reduce" if "reduce" in (outer.kind, inner.kind) else outer.kind
        extent = outer.extent * inner.extent
        fused = IterVar(Range(extent), f"{outer.name}.{inner.name}.fused", kind)
        self._leaves[first : second + 1] = [fused]
        self._relations.append(Fuse(outer, inner, fused, place))
        return fused

    def reorder(self, *axes: Any) -> None:
        """Puts the given loops into the given order; all other loops keep their positions."""
        place = str(user_location())
        given = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else [*axes]
        places = [self._position(axis, "reorder", place) for axis in given]
        if len(set(places)) != len(places):
            raise InputError(
                f"reorder of stage {self.op.name} names a loop twice",
                place=place,
                got=", ".join(axis.name for axis in given),
            )
        for position, axis in zip(sorted(places), given, strict=True):
            self._leaves[position] = axis
        self._directives.append(Directive("reorder", None, tuple(given), place))

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Tiles two loops, x and y; the new loop order is x outer, y outer, x inner, y inner."""
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Computes this stage inside the loop `scope` of the stage `parent`.

        Each iteration of the loop computes the region of this stage that the iteration needs.

        Args:
            parent: the stage that has the loop.
            scope: the loop.
        """
        place = str(user_location())
        if not isinstance(parent, Stage):
            raise InputError(
                f"compute_at of {self.op.name} takes a stage",
                place=place,
                expected="schedule[tensor]",
                got=type(parent).__name__,
            )
        if parent is self:
            raise InputError(f"{self.op.name} cannot be computed inside itself", place=place)
        parent._position(scope, "compute_at", place)
        self._attach, self.inlined = (parent, scope, place), False

    def reverse_compute_at(self, child: Stage, scope: IterVar) -> None:
        """Computes this stage inside the loop `scope` of the stage `child`; see `compute_at`."""
        self.compute_at(child, scope)

    def compute_inline(self, instant: bool = False) -> None:
        """Inlines the expression of this stage into its consumers."""
        self._attach, self.inlined = None, True
        self._directives.append(Directive("compute_inline", None, (instant,), str(user_location())))

    def compute_root(self) -> None:
        """Gives the stage its own loop nest, which is the default."""
        self._attach, self.inlined = None, False
        self._directives.append(Directive("compute_root", None, (), str(user_location())))

    def set_scope(self, scope: Any) -> None:
        """Places the outputs of the stage in the memory `scope`, such as ``local.UB``.

        If the stage computes an output of the kernel, this output stays in main memory, as on the
        device.
        """
        place, name = str(user_location()), getattr(scope, "value", scope)
        if not isinstance(name, str):
            raise InputError(
                f"set_scope of {self.op.name} takes the name of a memory",
                place=place,
                expected='such as "local.UB"',
                got=repr(scope),
            )
        self.scope, self.scope_place = name, "" if name == GLOBAL_SCOPE else place

    def emit_insn(
        self, var: IterVar, value: Any, attrs: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        """Maps the loop `var` and its body to one instruction, such as ``vector_add``."""
        place = str(user_location())
        self._position(var, "emit_insn", place)
        name = value.value if isinstance(value, Const) else value
        extras = MappingProxyType({**(attrs or {}), **more})
        self._directives.append(Directive("emit_insn", var, (name, extras), place))

    def storage_align(self, axis: IterVar, factor: Any, offset: Any = 0) -> None:
        """Pads the stride of `axis` to ``k · factor + offset`` elements, for an integer k.

        Args:
            axis: an axis of the operation.
            factor: number of elements, at least 1.
            offset: number of elements, at least 0.
        """
        for name, value, least in (("factor", factor, 1), ("offset", offset, 0)):
            number = value.value if isinstance(value, Const) else value
            if not isinstance(number, Expr) and not (_is_whole(number) and number >= least):
                raise InputError(
                    f"storage_align of {self.op.name}: {name} cannot be this",
                    place=str(user_location()),
                    expected=f"a whole number of elements from {least} on",
                    got=repr(number),
                )
        self._record("storage_align", (axis, factor, offset), {})

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Distributes the iterations of a loop over the cores."""
        if not isinstance(thread_ivar, IterVar):
            raise InputError(
                f"bind of {_name(ivar)} takes an axis of cores",
                place=str(user_location()),
                expected='thread_axis("blockIdx.x")',
                got=repr(thread_ivar),
            )
        self._record("bind", (ivar, thread_ivar), {})

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None, *more: Any) -> None:
        """Annotates a loop; the pragma ``emit_insn`` maps the loop to an instruction."""
        if pragma_type == "emit_insn":
            self.emit_insn(var, pragma_value)
        else:
            self._record("pragma", (var, pragma_type, pragma_value, *more), {})

    def double_buffer(self, *axis: Any) -> None:
        """Requests double buffering: one buffer is filled while the other one is read."""
        self._record("double_buffer", axis, {})

    def reused_by(self, *tensors: Any, reuse_data: bool = False) -> None:
        """Lets other tensors reuse the memory of this stage."""
        self._record("reused_by", tensors, {"reuse_data": reuse_data})

    def mem_unique(self) -> None:
        """Excludes the memory of this stage from reuse."""
        self._record("mem_unique", (), {})

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name in RECORDED_METHODS:
            return lambda *arguments, **keywords: self._record(name, arguments, keywords)
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnknownMember(
            f"a stage has no `{name}`",
            place=str(user_location()),
            expected=f"one of {', '.join(sorted(RECORDED_METHODS | _PUBLIC_MEMBERS))}",
            got=repr(name),
        )

    def _record(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        place = str(user_location())
        axis, value = None, tuple(arguments)
        if name in ("buffer_align", "buffer_tile"):
            for pair in value:
                if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                    raise InputError(
                        f"{name} of {self.op.name} takes one pair for each axis",
                        place=place,
                        expected="(least, extent), each a number or None",
                        got=repr(pair),
                    )
        if name in ("set_buffer_size", "set_storage_bound") and len(value) != 1:
            raise InputError(
                f"{name} of {self.op.name} takes a number of elements",
                place=place,
                expected="one argument",
                got=str(len(value)),
            )
        if name in AXIS_REQUIRED_METHODS and not (value and isinstance(value[0], IterVar)):
            raise InputError(
                f"{name} of {self.op.name} takes one of its axes first",
                place=place,
                expected=f"one of {self._names()}",
                got=repr(value[0]) if value else "nothing",
                remedy=f"Write {self.op.name}.op.axis[0] for the first",
            )
        if name in LOOP_METHODS | AXIS_METHODS and value and isinstance(value[0], IterVar):
            axis, value = value[0], value[1:]
        if name in LOOP_METHODS and axis is not None:
            self._position(axis, name, place)
        elif name in AXIS_METHODS and axis is not None:
            self._check_axis(axis, name, place)
        extras = (MappingProxyType(dict(keywords)),) if keywords else ()
        self._directives.append(Directive(name, axis, value + extras, place))

    def _check_axis(self, axis: IterVar, verb: str, place: str) -> None:
        if not any(axis is own for own in (*self.all_iter_vars, *self._leaves)):
            raise InputError(
                f"{verb}: {axis.name} is not an axis of stage {self.op.name}",
                place=place,
                expected=f"one of {', '.join(own.name for own in self.op.axis)}",
                got=axis.name,
                remedy=f"Take it from schedule[…].op.axis of {self.op.name}",
            )

    def _position(self, axis: Any, verb: str, place: str) -> int:
        """Returns the position of a loop among the current loops.

        Raises:
            InputError: `axis` is not a current loop of this stage.
        """
        for position, leaf in enumerate(self._leaves):
            if leaf is axis:
                return position
        remedy = (
            f"Take it from schedule[…].op.axis of {self.op.name}, "
            "or from what split and fuse return"
        )
        if self.op.kind == "placeholder":
            remedy = INPUT_REMEDY
        for relation in self._relations:
            if isinstance(relation, Split) and relation.parent is axis:
                remedy = (
                    f"It was split into {relation.outer.name} and {relation.inner.name} "
                    f"at {relation.place}"
                )
            elif isinstance(relation, Fuse) and (relation.outer is axis or relation.inner is axis):
                remedy = f"It was fused into {relation.fused.name} at {relation.place}"
        raise InputError(
            f"{verb}: {_name(axis)} is not a loop of stage {self.op.name}",
            place=place,
            expected=f"one of {self._names()}",
            got=_name(axis),
            remedy=remedy,
        )

    def _names(self) -> str:
        return ", ".join(leaf.name for leaf in self._leaves) or "none (it has no loops)"

    def replace(self, op: Operation) -> None:
        """Replaces the operation of the stage by `op`, which has the same data axes.

        If `op` lacks a reduction axis of the old operation, the loops and splits of the old
        reduction axes are dropped. Each reduction axis of `op` then becomes a loop.
        """
        kept = {id(axis) for axis in op.reduce_axis}
        if any(id(axis) not in kept for axis in self.op.reduce_axis):
            self._leaves = [leaf for leaf in self._leaves if leaf.kind != "reduce"]
            self._relations = [r for r in self._relations if _parent_kind(r) != "reduce"]
            self._leaves += list(op.reduce_axis)
        self.op = op
        self.versions.append(op)

    def record(self) -> StageRecord:
        """Returns a frozen record of all decisions so far."""
        attach = None
        if self._attach is not None:
            parent, axis, place = self._attach
            attach = Attach(parent.op, axis, place)
        return StageRecord(
            self.op,
            self.origin,
            tuple(self._leaves),
            tuple(self._relations),
            attach,
            self.inlined,
            # an output of the kernel is in main memory, whatever scope the operator sets
            GLOBAL_SCOPE if self.is_output else self.scope,
            self.scope_place,
            tuple(self._directives),
            self.is_output,
            tuple(self.versions),
            self.made_by,
        )

    def __repr__(self) -> str:
        return f"stage({self.op.name})"


_PUBLIC_MEMBERS = frozenset(name for name in vars(Stage) if not name.startswith("_")) - {
    "record",
    "replace",
}


def _name(axis: Any) -> str:
    return axis.name if isinstance(axis, IterVar) else repr(axis)


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _parent_kind(relation: Split | Fuse) -> str:
    return relation.parent.kind if isinstance(relation, Split) else relation.fused.kind


def _ceil_divide(size: Expr, parts: Expr) -> Expr:
    if isinstance(size, Const) and isinstance(parts, Const):
        return const(-(-size.value // parts.value))
    return (size + parts - 1) // parts


def _clamp_size(size: Expr, limit: Expr) -> Expr:
    if isinstance(size, Const) and isinstance(limit, Const):
        return const(min(size.value, limit.value))
    return size
