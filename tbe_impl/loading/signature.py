"""From what an operator was called with and what it built to a kernel: which argument is which tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tbe_impl.chip.schedule_checks import check
from tbe_impl.codegen.options import DEFAULT, Options
from tbe_impl.codegen.schedule_options import options_of, outputs_of
from tbe_impl.dsl.layouts import BLOCK, blocks_of
from tbe_impl.dsl.tensor import Tensor, copy_of, stages_of, static_shape
from tbe_impl.errors import InputError
from tbe_impl.kernel import Argument, Kernel
from tbe_impl.runtime.merged_sizes import merged_variables
from tbe_impl.scheduling.schedule import Schedule


def kernel_of(name: str, session: Any, declared: Sequence[tuple[int, ...]]) -> Kernel:
    """The kernel of the last thing that an operator built, or scheduled when it built nothing.

    Args:
        name: of the kernel where it does not say so itself.
        session: the record of its run; see `tbe_impl.compat.session`.
        declared: the shapes that it was called with; see `declared_shapes`.

    Raises:
        InputError: it built nothing and scheduled nothing.
    """
    kernel_name, tensors, schedule = _built(name, session)
    inputs, outputs = _parted(tensors)
    outputs = outputs[_written_over_inputs(schedule, len(outputs)) :]
    _check_listed(kernel_name, session, inputs, outputs)
    places, rest = _matched(inputs, declared, len(outputs), _unread(inputs, outputs))
    results, _ = _matched(outputs, rest if rest or not places else declared)
    return Kernel(
        kernel_name,
        session.soc.name,
        tuple(Argument(t, shape, t.name) for t, shape in zip(inputs, places, strict=True)),
        tuple(Argument(t, shape, t.name) for t, shape in zip(outputs, results, strict=True)),
        schedule,
        *_followed(schedule, outputs, inputs, has_memories=not session.soc.unlimited),
    )


def _check_listed(
    name: str, session: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> None:
    """Raises when the results read an input that was not built with them.

    Nobody could hand its array over.
    """
    listed = {id(tensor) for tensor in inputs}
    needed = [
        tensor
        for op in stages_of(outputs, known=listed)
        if op.kind == "placeholder"
        for tensor in op.outputs
    ]
    missing = [tensor for tensor in needed if id(tensor) not in listed]
    if missing:
        names = ", ".join(tensor.name for tensor in missing)
        place = session.builds[-1].location if session.builds else None
        raise InputError(
            f"{name}: the results read {names}, which the build was not given",
            place=str(place) if place else name,
            expected="every placeholder in tensor_list, inputs before results",
            got=", ".join(tensor.name for tensor in (*inputs, *outputs)),
            remedy="Add to tensor_list: "
            + ", ".join(f"{tensor.name} ({tensor.op.location})" for tensor in missing),
        )


def _parted(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs. An input that is listed again behind what is computed, or where nothing is, is handed back: a copy
    of it is the output."""
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    is_computed = any(tensor.op.kind != "placeholder" for tensor in tensors)
    for tensor in tensors:
        if tensor.op.kind != "placeholder":
            outputs.append(tensor)
        elif (outputs or not is_computed) and any(tensor is other for other in inputs):
            outputs.append(copy_of(tensor))
        else:
            inputs.append(tensor)
    return inputs, outputs


def _followed(
    schedule: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor], *, has_memories: bool
) -> tuple[tuple[Tensor, ...], Options]:
    """What a schedule by hand adds to the graph on this processor, and what it asks of the loops."""
    if not isinstance(schedule, Schedule) or schedule.is_automatic:
        return (), DEFAULT
    record = schedule.record()
    made = outputs_of(record, outputs, has_memories=has_memories)
    added = any(one is not other for one, other in zip(made, outputs, strict=True))
    return made if added else (), options_of(record, outputs, inputs, has_memories=has_memories)


def _built(name: str, session: Any) -> tuple[str, Sequence[Tensor], Any]:
    if session.builds:
        request = session.builds[-1]
        return request.name or name, request.tensors, request.schedule
    if session.schedules:
        # built only when `need_build` is set, as the oldest operators have it
        schedule = session.schedules[-1]
        outputs = [tensor for op in schedule.outputs for tensor in op.outputs]
        inputs = [
            tensor for op in stages_of(outputs) if op.kind == "placeholder" for tensor in op.outputs
        ]
        inputs.sort(key=lambda tensor: tensor.op.number)
        return name, [*inputs, *outputs], schedule
    raise InputError(
        "the operator built nothing",
        place=name,
        expected="a call of auto_schedule or create_schedule, and of a build function",
    )


def _written_over_inputs(schedule: Any, outputs: int) -> int:
    """How many of the first outputs the schedule writes over inputs: optimisers give each a second time after them."""
    if not isinstance(schedule, Schedule) or schedule.is_automatic:
        return 0  # a look at an automatic one would decide it
    count = 0
    for stage in schedule.record().stages:
        for one in stage.directives:
            count += one.name == "reused_by" or (
                one.name == "pragma" and "replace_output" in one.value
            )
    return count if count < outputs else 0


def declared_shapes(values: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """The shapes that an operator was called with, in order: of dicts, or as tuples in the oldest style."""
    for value in values:
        if isinstance(value, dict) and "shape" in value:
            yield tuple(int(size) for size in value["shape"])
        elif isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
                yield tuple(value)
            elif all(isinstance(item, (dict, list, tuple)) for item in value):
                yield from declared_shapes(value)


def _unread(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> set[int]:
    """``id`` of inputs that no result reads."""
    read = {id(tensor) for op in stages_of(outputs) for tensor in op.outputs}
    return {id(tensor) for tensor in inputs} - read


def _matched(
    tensors: Sequence[Tensor],
    declared: Sequence[tuple[int, ...]],
    others: int | None = None,
    unread: Collection[int] = (),
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """For each tensor the next declared shape with as many elements; and the shapes that come after the last of them.

    Args:
        tensors: inputs, or outputs.
        declared: the shapes.
        others: how many of them are left to outputs; then an input may also be the beginning of the next declared tensor.
        unread: ``id`` of inputs whose elements nobody reads: they may be larger, too.
    """
    found: list[tuple[int, ...]] = []
    place = 0
    for tensor in tensors:
        own = static_shape(tensor)
        merged = len(merged_variables(tensor.shape))
        following = next(
            (index for index in range(place, len(declared)) if _fits(own, declared[index], merged)),
            None,
        )
        if following is None:
            following = next(
                (
                    index
                    for index in range(place, len(declared))
                    if _filled_up(own, declared[index])
                ),
                None,
            )
        if (
            following is None
            and others is not None
            and place < len(declared) - others
            and _begins(own, declared[place], any_size=id(tensor) in unread)
        ):
            following = place
        if following is None:
            found.append(own if own is not None else tuple(-1 for _ in tensor.shape))
            continue
        found.append(declared[following])
        place = following + 1
    return found, list(declared[place:])


def _fits(own: tuple[int, ...] | None, declared: tuple[int, ...], merged: int) -> bool:
    """Whether a tensor of that shape, or of so many merged unknown axes, may be the declared one."""
    if merged:
        return len(declared) >= merged
    if own is None:
        return any(size < 0 for size in declared)
    if any(size < 0 for size in declared):
        return False
    return _elements(own) == _elements(declared)


def _begins(own: tuple[int, ...] | None, declared: tuple[int, ...], *, any_size: bool) -> bool:
    """Whether a tensor may be the first elements of a declared one."""
    if own is None or any(size < 0 for size in declared):
        return False
    return any_size or 0 < _elements(own) < _elements(declared)


def _filled_up(own: tuple[int, ...] | None, declared: tuple[int, ...]) -> bool:
    """Whether a row was lengthened to whole blocks of the matrix unit, as biases are."""
    return (
        own is not None
        and len(own) == 1
        and len(declared) == 1
        and own[0] == blocks_of(declared[0]) * BLOCK
    )


def _elements(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def described(value: Any) -> Any:
    """An argument as operators expect it: a copy, the description of a tensor with format and original shape."""
    if isinstance(value, (list, tuple)):
        return type(value)(described(item) for item in value)
    if not isinstance(value, dict) or "shape" not in value:
        return value
    layout = value.get("format") or "ND"
    for size in value["shape"]:
        if not hasattr(size, "__index__"):
            raise InputError(
                "a size is no whole number",
                place="shape",
                expected="whole numbers, -1 for one that is known late",
                got=repr(tuple(value["shape"])),
                remedy="What a size may be goes into range: [(1, 16), …]",
            )
    return {
        **value,
        "shape": tuple(value["shape"]),
        "dtype": value.get("dtype", "float32"),
        "format": layout,
        "ori_shape": tuple(value.get("ori_shape") or value["shape"]),
        "ori_format": value.get("ori_format") or layout,
    }


def check_schedule(kernel: Kernel) -> None:
    """Raises for a schedule made by hand that the chip cannot run; the language's own schedules fit by construction."""
    schedule = kernel.schedule
    if isinstance(schedule, Schedule) and not schedule.is_automatic:
        check(schedule, kernel.soc, raise_errors=True)
