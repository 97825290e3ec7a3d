"""The linter of flag strings: findings, positions, and replacements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ms_fusion.mindspore.flags.lint import PATTERNS, REMOVED_FLAGS, STAGES, lint
from tests.cases import cases

CASES = [
    ("--opt_level=2 --enable_cluster_ops=Grater", "unknown", 36, "Greater", "Write `Greater`."),
    ("--opt_level=2 --enable_cluster_ops=Div,erf", "unknown", 40, "Erf", "Write `Erf`."),
    ("--opt_level=2 --enable_expand_ops=SoftMax", "unknown", 35, "Softmax", "Write `Softmax`."),
    ("--opt_lvl=2", "unknown", 1, "opt_level", "Write `--opt_level`."),
    ("--opt_level=2 --enable_cse=true", "gone", 15, "", ""),
    ("--opt_level=2 --auto_tune", "gone", 15, "", ""),
    ("--opt_level=2 --cluster_limit=10", "gone", 15, "", ""),
    ("--opt_level=2 --enable_low_precision=true", "gone", 15, "", ""),
    ("--opt_level=7", "value", 1, "", "Write `--opt_level=3`."),
    ("--opt_level=2 --dump_as_text=yes", "value", 15, "", "Write `--dump_as_text=true`."),
    ("--opt_level=2 --kernel_generator=akg", "value", 15, "AKG", "Write `--kernel_generator=AKG`."),
    ("--opt_level=2 --kernel_generator=DVM", "fatal", 15, "", "Leave it out."),
    ("--opt_level=2 --online_tuning=1", "fatal", 15, "", "Leave it out."),
    ("--opt_level=2 --enable_dynamic_shape_fusion=true", "fatal", 15, "", "Leave it out."),
    ("--opt_level=2 --enable_cluster_ops=Round", "fatal", 36, "", "Leave it out."),
    ("--opt_level=2 --enable_cluster_ops=Exp", "wrong", 36, "", ""),
    ("--opt_level=2 --enable_cluster_ops=MatMul", "generator", 36, "", "Leave it out."),
    (
        "--opt_level=2 --enable_cluster_ops=Softmax",
        "expand",
        36,
        "",
        "Write `--enable_expand_ops=Softmax`.",
    ),
    (
        "--opt_level=2 --disable_pass=split.graph_kernel_splittr",
        "unknown",
        30,
        "split.graph_kernel_splitter",
        None,
    ),
    ("--opt_level=2 --disable_pass=reorder_ops", "unknown", 30, "highlevelopt1.reorder_ops", None),
    ("--opt_level=2 --disable_pass=3.10", "unknown", 30, "", None),
    ("--opt_level=2 --disable_pass=8.0", "unknown", 30, "", None),
    ("--opt_level=2 --disable_fusion_pattern=reduce_fwd", "unknown", 40, "reduce_fwd_depth", None),
    ("--opt_level=2 --disable_fusion_pattern=matmul_depth", "device", 40, "", None),
    ("--opt_level=2 --disable_simplify_exprs=Add", "value", 40, "", None),
    ("--opt_level=2 opt_level=3", "no-flag", 15, "", "Write `--opt_level=3`."),
    ("--opt_level=2 --opt_level=3", "repeated", 15, "", None),
    ("--enable_cluster_ops=Div", "off", 1, "", "Write `--opt_level=2`."),
    (
        "--opt_level=2 --enable_cluster_ops=Div --enable_cluster_ops_only=Add",
        "ignored",
        15,
        "",
        None,
    ),
]


@cases("text, code, column, nearest, remedy", CASES)
def test_a_finding_has_column_nearest_name_and_remedy(
    text: str, code: str, column: int, nearest: str, remedy: str | None
) -> None:
    found = [item for item in lint(text) if item.code == code]
    assert len(found) == 1, lint(text)
    assert found[0].column == column
    if nearest:
        assert found[0].nearest == nearest
    if remedy is not None:
        assert found[0].remedy == remedy
    assert f"column {column}" in str(found[0])


@cases(
    "text",
    [
        "",
        "--opt_level=2",
        "--opt_level=2 --enable_cluster_ops=Div,Greater,Erf --enable_expand_ops=Sigmoid,Softmax",
        "--opt_level=2 "
        "--disable_pass=split.graph_kernel_splitter,3.4,add_rms_norm_fusion,replace_addn",
        "--opt_level=2 --enable_fusion_pattern_only=reshape,elemwise_broadcast_fwd_depth",
        "--opt_level=2 --enable_expand_ops_only=None",
        "--opt_level=2 --disable_cluster_ops=Exp,Round",
        "--path=flags.json",
    ],
)
def test_nothing_to_find(text: str) -> None:
    assert lint(text) == ()


@cases("name", sorted(REMOVED_FLAGS))
def test_every_gone_flag_says_what_to_write(name: str) -> None:
    (finding,) = (item for item in lint(f"--opt_level=2 --{name}=1") if item.code == "gone")
    assert finding.severity == "error" and REMOVED_FLAGS[name] in finding.message


def test_what_kills_the_process_on_cpu_is_fine_on_ascend() -> None:
    assert lint("--opt_level=2 --kernel_generator=DVM", device="Ascend") == ()
    assert lint("--opt_level=2 --enable_cluster_ops=MatMul", device="Ascend") == ()


def test_findings_come_in_order_of_columns() -> None:
    columns = [
        item.column for item in lint("--opt_lvl=2 --enable_cse --enable_cluster_ops=Dif,Ad bla")
    ]
    assert columns == sorted(columns) and len(columns) == 6


def test_passes_and_patterns_are_accepted_by_name_and_number() -> None:
    for stage, (name, passes) in enumerate(STAGES.items()):
        for number, item in enumerate(passes):
            assert lint(f"--opt_level=2 --disable_pass={name}.{item},{stage}.{number}") == ()
    for name in PATTERNS:
        assert lint(
            f"--opt_level=2 --disable_fusion_pattern={name}", device="Ascend"
        ) == () or name == ("isolate_reshape")


@given(st.text(max_size=300))
def test_any_text_gives_findings_never_an_exception(text: str) -> None:
    for item in lint(text):
        assert str(item).isprintable() or not text.isprintable()


def test_a_hostile_length_takes_no_time() -> None:
    assert len(lint("--enable_cluster_ops=" + "A" * 100_000)) == 2
    assert len(lint("--" + "a" * 100_000)) == 2
