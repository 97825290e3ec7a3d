"""Builds a kernel from an operator's call and build request, and maps arguments to tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tbe_impl.arguments import Argument
from tbe_impl.chip.schedule_checks import check
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.codegen.schedule_options import options_of, outputs_of
from tbe_impl.dsl.layouts import BLOCK, block_count
from tbe_impl.dsl.merged_sizes import merged_variables
from tbe_impl.dsl.tensor import Tensor, copy_tensor, stages_of, static_shape
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.scheduling.schedule import Schedule


def make_kernel(name: str, session: Any, declared: Sequence[tuple[int, ...]]) -> Kernel:
    """Returns the kernel that an operator builds.

    The kernel computes the tensors of the last build request. If there is no build request, the
    kernel computes the outputs of the last schedule.

    Args:
        name: name of the kernel if the build request contains no name.
        session: the session that recorded the run of the operator; see `tbe_impl.compat.session`.
        declared: shapes in the arguments of the call; see `declared_shapes`.

    Raises:
        InputError: the operator requested no build and created no schedule, or an input is missing
            in the tensor list of the build request.
    """
    kernel_name, tensors, schedule = _last_build(name, session)
    inputs, outputs = _split_inputs_and_outputs(tensors)
    outputs = outputs[_count_overwritten_inputs(schedule, len(outputs)) :]
    _check_tensor_list(kernel_name, session, inputs, outputs)
    places, rest = _match_shapes(
        inputs, declared, len(outputs), _find_unread_inputs(inputs, outputs)
    )
    results, _ = _match_shapes(outputs, rest if rest or not places else declared)
    return Kernel(
        kernel_name,
        session.soc.name,
        tuple(Argument(t, shape, t.name) for t, shape in zip(inputs, places, strict=True)),
        tuple(Argument(t, shape, t.name) for t, shape in zip(outputs, results, strict=True)),
        schedule,
        *_lower_schedule(schedule, outputs, inputs, has_memories=not session.soc.is_unlimited),
    )


def _check_tensor_list(
    name: str, session: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> None:
    """Raises `InputError` if the outputs read an input that is missing in the tensor list.

    The caller of the kernel could not pass an array for the missing input.
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


def _split_inputs_and_outputs(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Splits a tensor list into inputs and outputs.

    Placeholders are inputs, and computed tensors are outputs. If a placeholder is listed again
    after the first computed tensor, it is also an output, which is a copy of the input. In a list
    without computed tensors, every repeated placeholder is also an output.
    """
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    is_computed = any(tensor.op.kind != "placeholder" for tensor in tensors)
    for tensor in tensors:
        if tensor.op.kind != "placeholder":
            outputs.append(tensor)
        elif (outputs or not is_computed) and any(tensor is other for other in inputs):
            outputs.append(copy_tensor(tensor))
        else:
            inputs.append(tensor)
    return inputs, outputs


def _lower_schedule(
    schedule: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor], *, has_memories: bool
) -> tuple[tuple[Tensor, ...], Options]:
    """Returns the new outputs of the graph, and the code options that `schedule` requests.

    A manual schedule may add stages, such as memory copies, to the graph. The first item is then
    the tuple of the outputs of the extended graph. If the schedule adds no stage, the first item is
    an empty tuple.

    An automatic schedule requests nothing. For such a schedule, the first item is an empty tuple
    and the options are the default options.
    """
    if not isinstance(schedule, Schedule) or schedule.is_automatic:
        return (), DEFAULT_OPTIONS
    record = schedule.record()
    made = outputs_of(record, outputs, has_memories=has_memories)
    added = any(one is not other for one, other in zip(made, outputs, strict=True))
    return made if added else (), options_of(record, outputs, inputs, has_memories=has_memories)


def _last_build(name: str, session: Any) -> tuple[str, Sequence[Tensor], Any]:
    if session.builds:
        request = session.builds[-1]
        return request.name or name, request.tensors, request.schedule
    if session.schedules:
        # the oldest operators build only when `need_build` is set
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


def _count_overwritten_inputs(schedule: Any, outputs: int) -> int:
    """Returns the number of leading outputs that overwrite inputs.

    If an output overwrites an input, an optimizer's operator lists this output twice.
    """
    if not isinstance(schedule, Schedule) or schedule.is_automatic:
        return 0  # reading an automatic schedule would trigger its planning
    count = 0
    for stage in schedule.record().stages:
        for one in stage.directives:
            count += one.name == "reused_by" or (
                one.name == "pragma" and "replace_output" in one.value
            )
    return count if count < outputs else 0


def declared_shapes(values: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """Yields the shapes in the arguments of a call in order.

    A shape is the item ``shape`` of a tensor description or, in the oldest operators, a tuple.
    """
    for value in values:
        if isinstance(value, dict) and "shape" in value:
            yield tuple(int(size) for size in value["shape"])
        elif isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
                yield tuple(value)
            elif all(isinstance(item, (dict, list, tuple)) for item in value):
                yield from declared_shapes(value)


def _find_unread_inputs(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> set[int]:
    """Returns a set with ``id(tensor)`` of each input that no output reads."""
    read = {id(tensor) for op in stages_of(outputs) for tensor in op.outputs}
    return {id(tensor) for tensor in inputs} - read


def _match_shapes(
    tensors: Sequence[Tensor],
    declared: Sequence[tuple[int, ...]],
    others: int | None = None,
    unread: Collection[int] = (),
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Assigns to each tensor the next declared shape with an equal number of elements.

    An operator may read only the first elements of an input. The tensor of this input then has
    fewer elements than the declared shape. An input without a matching declared shape therefore
    gets the next declared shape, if this shape describes an input and has more elements.

    Args:
        tensors: the inputs, or the outputs.
        declared: the declared shapes.
        others: if `tensors` are the inputs, the number of shapes at the end of `declared` that
            describe outputs. If `tensors` are the outputs, None.
        unread: ``id(tensor)`` of each input that no output reads. The declared shape of this input
            may have any number of elements.

    Returns:
        A tuple: the list of one shape for each tensor, and the declared shapes after the last
        assigned shape. A tensor without a matching declared shape keeps its own shape.
    """
    found: list[tuple[int, ...]] = []
    place = 0
    for tensor in tensors:
        own = static_shape(tensor)
        merged = len(merged_variables(tensor.shape))
        following = next(
            (
                index
                for index in range(place, len(declared))
                if _may_match(own, declared[index], merged)
            ),
            None,
        )
        if following is None:
            following = next(
                (
                    index
                    for index in range(place, len(declared))
                    if _is_padded_to_blocks(own, declared[index])
                ),
                None,
            )
        if (
            following is None
            and others is not None
            and place < len(declared) - others
            and _may_be_prefix(own, declared[place], any_size=id(tensor) in unread)
        ):
            following = place
        if following is None:
            found.append(own if own is not None else tuple(-1 for _ in tensor.shape))
            continue
        found.append(declared[following])
        place = following + 1
    return found, list(declared[place:])


def _may_match(own: tuple[int, ...] | None, declared: tuple[int, ...], merged: int) -> bool:
    """Whether a tensor of the graph may be an array that was declared with the shape `declared`.

    `own` is the shape of the tensor in the graph, or None if a size is unknown. If the operator
    merged several declared axes of unknown size into one axis of the tensor, `merged` is the number
    of these declared axes; otherwise it is 0. If all sizes are known, both shapes must have the
    same number of elements.
    """
    if merged:
        return len(declared) >= merged
    if own is None:
        return any(size < 0 for size in declared)
    if any(size < 0 for size in declared):
        return False
    return _elements(own) == _elements(declared)


def _may_be_prefix(
    own: tuple[int, ...] | None, declared: tuple[int, ...], *, any_size: bool
) -> bool:
    """Whether the elements of a tensor may be a prefix of the elements of the declared tensor."""
    if own is None or any(size < 0 for size in declared):
        return False
    return any_size or 0 < _elements(own) < _elements(declared)


def _is_padded_to_blocks(own: tuple[int, ...] | None, declared: tuple[int, ...]) -> bool:
    """Whether `own` is `declared`, padded to whole blocks of the matrix unit.

    The result is False for shapes with several axes, because only a bias is padded in this way.
    """
    return (
        own is not None
        and len(own) == 1
        and len(declared) == 1
        and own[0] == block_count(declared[0]) * BLOCK
    )


def _elements(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def normalize_argument(value: Any) -> Any:
    """Copies an argument; adds missing items, such as the format, to a tensor description."""
    if isinstance(value, (list, tuple)):
        return type(value)(normalize_argument(item) for item in value)
    if not isinstance(value, dict) or "shape" not in value:
        return value
    layout = value.get("format") or "ND"
    for size in value["shape"]:
        if not hasattr(size, "__index__"):
            raise InputError(
                "a size is not an integer",
                place="shape",
                expected="integers, -1 for a size that is unknown at build time",
                got=repr(tuple(value["shape"])),
                remedy="Give the bounds of an unknown size in range: [(1, 16), …]",
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
    """Raises `InputError` if the chip cannot run a manual schedule.

    An automatic schedule is not checked, because it never exceeds the limits of the chip.
    """
    schedule = kernel.schedule
    if isinstance(schedule, Schedule) and not schedule.is_automatic:
        check(schedule, kernel.soc, raise_errors=True)
