"""GraphKernelFlags: rendering, parsing, merging, documentation."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import FLAGS, GraphKernelFlags, describe
from ms_fusion.mindspore.state.preset_record import has_fusion
from tbe_impl.errors import InputError
from tests.cases import cases

ALL_FLAGS_OF_2_10 = """
composite_op_limit_size cpu_arch cpu_feature cpu_refer_thread_num cpu_type disable_cce_lib_ops
disable_cluster_ops disable_expand_ops disable_fusion_pattern disable_matmul_post_fusion
disable_packet_ops disable_pass disable_simplify_exprs dump_as_text enable_allreduce_epilogue_fusion
enable_allreduce_prologue_fusion enable_auto_tensor_inplace enable_cce_lib enable_cce_lib_ops
enable_cce_lib_ops_only enable_cluster_ops enable_cluster_ops_only enable_csr_fusion
enable_debug_mode enable_dynamic_batch enable_dynamic_shape_fusion enable_expand_ops
enable_expand_ops_only enable_fusion_pattern_only enable_horizontal_fusion enable_lite_conv_tuning
enable_packet_ops_only enable_parallel_fusion enable_pass enable_recompute_fusion
enable_simplify_exprs_only enable_stitch_fusion enable_vectorization exact_precision_mode
fusion_ops_level kernel_generator online_tuning opt_level parallel_ops_level
recompute_increment_threshold recompute_peak_threshold reduce_fuse_depth repository_path target_os
"""
"""From the MindSpore 2.10 log line `all flags: {…}`, which omits `path`."""


def test_every_flag_of_mindspore_is_a_field() -> None:
    assert set(FLAGS) == {*ALL_FLAGS_OF_2_10.split(), "path"}


@cases("name", sorted(FLAGS))
def test_every_flag_is_documented_and_its_default_fits(name: str) -> None:
    data = FLAGS[name].metadata
    assert data["doc"].endswith(".") and data["kind"] in ("int", "bool", "str", "list")
    assert f"--{name} " in describe(name)
    if data["kind"] == "bool":
        assert getattr(GraphKernelFlags.parse(f"--{name}"), name) is True, "alone it means true"
    flags = (
        GraphKernelFlags(**{name: data["default"]}) if data["default"] != "" else GraphKernelFlags()
    )
    assert GraphKernelFlags.parse(flags.render()).render() == flags.render()


@cases(
    "flags, text",
    [
        (GraphKernelFlags(), ""),
        (
            GraphKernelFlags(opt_level=2, enable_cluster_ops=("Div",)),
            "--opt_level=2 --enable_cluster_ops=Div",
        ),
        (GraphKernelFlags(dump_as_text=True, opt_level=0), "--opt_level=0 --dump_as_text=true"),
        (GraphKernelFlags(exact_precision_mode=False), "--exact_precision_mode=false"),
        (GraphKernelFlags(reduce_fuse_depth=-1), "--reduce_fuse_depth=-1"),
        (GraphKernelFlags(disable_simplify_exprs=("5", "12")), "--disable_simplify_exprs=5,12"),
    ],
)
def test_render_and_parse(flags: GraphKernelFlags, text: str) -> None:
    assert flags.render() == str(flags) == text
    assert GraphKernelFlags.parse(text) == flags


@cases(
    "text, content, fuses, generator",
    [
        ("--opt_level=2 --kernel_generator=AKG_V2", "", True, "ms_fusion"),
        ("--opt_level", "", False, "mindspore"),
        ("--opt_level=0 --opt_level=2", "", False, "mindspore"),
        ("--opt_level=0 --path={file}", '{"opt_level": "2"}', True, "mindspore"),
        ("--opt_level=2 --path={file}", '{"opt_level": "0"}', False, "mindspore"),
        ("--path={file}", '{"opt_level": 2, "kernel_generator": "AKG_V2"}', False, "ms_fusion"),
        ("--kernel_generator=AKG_V2 --path={file}", '{"opt_level": "2"}', True, "mindspore"),
        ("--path={file} --path=absent", '{"opt_level": "2"}', True, "mindspore"),
        ("--path={file}", "--opt_level=2", False, "mindspore"),
        ("--path={file}", '["opt_level"]', False, "mindspore"),
        ("--opt_level=2 --path={file}.absent", "", False, "mindspore"),
    ],
)
def test_the_file_of_path_replaces_all_other_flags(
    text: str, content: str, fuses: bool, generator: str, tmp_path: Path
) -> None:
    """The expected values are MindSpore 2.10's behaviour."""
    (tmp_path / "flags.json").write_text(content)
    text = text.format(file=tmp_path / "flags.json")
    assert (has_fusion(text), generator_of(text)) == (fuses, generator)


@cases(
    "text, words",
    [
        ("--opt_lvl=2", ["column 1", "--opt_lvl", "--opt_level"]),
        ("--opt_level=2 opt_level=3", ["column 15", "'opt_level=3'"]),
        ("--opt_level=9", ["0 or 1 or 2 or 3", "'9'"]),
        ("--opt_level=two", ["a whole number"]),
        ("--opt_level=" + "9" * 5000, ["a whole number"]),
        ("--dump_as_text=yes", ["true or false"]),
        ("--opt_level=2 --opt_level=2", ["given twice", "column 15"]),
        ("--enable_cluster_ops=", ["a value after `=`"]),
        ("--composite_op_limit_size=0", ["1 or more"]),
        ("--=1", ["not a flag"]),
        ("--", ["not a flag"]),
    ],
)
def test_parse_refuses(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        GraphKernelFlags.parse(text)
    for word in words:
        assert word in str(caught.value)


@cases(
    "values",
    [
        {"opt_level": 4},
        {"opt_level": True},
        {"dump_as_text": 1},
        {"enable_cluster_ops": "Add"},
        {"enable_cluster_ops": ("Add --opt_level=0",)},
        {"cpu_type": "a b"},
        {"kernel_generator": "akg"},
    ],
)
def test_wrong_types_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(InputError):
        GraphKernelFlags(**values)  # type: ignore[arg-type]


def test_merge_takes_what_the_other_sets() -> None:
    base = GraphKernelFlags(opt_level=2, enable_cluster_ops=("Div",))
    assert base.merge(GraphKernelFlags(opt_level=3, dump_as_text=False)) == GraphKernelFlags(
        opt_level=3, enable_cluster_ops=("Div",), dump_as_text=False
    )


@given(st.text(max_size=200))
def test_any_text_parses_or_raises_one_error(text: str) -> None:
    with contextlib.suppress(InputError):
        GraphKernelFlags.parse(text)
