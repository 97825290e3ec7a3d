"""Dump directories: files are found by pass names."""

from __future__ import annotations

import shutil

import pytest

from ms_fusion.readers.dumps import read_dumps
from tbe_impl.errors import InputError, ParseError
from tests.cases import cases
from tests.ms_fusion.readers.corpus import CORPUS, dump, statement

STATES = ("built", "before", "expanded", "clustered", "split")
COUNTS = {
    # nodes of each kernel graph, state by state
    "MyNet_f": ([1], [2], [2], [1], [1]),
    "OpNet_f": ([1], [4], [4], [1], [1]),
    "Control_f": ([2, 1, 1, 1], [4, 1, 2, 2], [4, 1, 2, 2], [1, 1, 1, 1], [2, 1, 1, 1]),
    "Block_f": ([30], [36], [36], [17], [30]),
    "ConvNet_f": ([3], [3], [3], [3], [3]),
    "Step_f": ([13], [20], [20], [13], [13]),
    "MyNet_u": ([2], [2], [], [], []),
    "Control_u": ([4, 1, 2, 2], [4, 1, 2, 2], [], [], []),
    "Block_u": ([36], [36], [], [], []),
}


def counted(dumps):
    return tuple([len(module.graph) for module in getattr(dumps, state)] for state in STATES)


@cases("name", COUNTS)
def test_each_recorded_dump_has_its_counts(name):
    assert counted(read_dumps(CORPUS / name)) == COUNTS[name]


def test_kernel_graphs_stand_in_order():
    dumps = read_dumps(CORPUS / "Control_f")
    entries = [f"kernel_graph{number}" for number in range(4)]
    for state in STATES:
        assert [module.entry for module in getattr(dumps, state)] == entries


def test_two_nets_of_one_process():
    dumps = read_dumps(CORPUS / "Odd_f")
    assert [module.entry for module in dumps.clustered] == [
        f"kernel_graph{number}" for number in range(6)
    ]


def test_programs_begin_where_a_compilation_begins(tmp_path):
    built = sorted((CORPUS / "Control_f").glob("graph_build_*.ir"))
    for number, sequence in enumerate((40, 90, 95, 300)):
        shutil.copyfile(built[number], tmp_path / f"graph_build_{number}_0{sequence}.ir")
    assert len(set(read_dumps(tmp_path).programs)) == 1
    for sequence in (0, 50, 96):
        (tmp_path / f"00_bootstrap_{sequence:04}.ir").write_text("")
    assert read_dumps(tmp_path).programs == (1, 2, 2, 3)


def test_numbers_in_names_mean_nothing(tmp_path):
    for number, path in enumerate(sorted((CORPUS / "Control_f").rglob("*.ir"))):
        if "verbose" in str(path):
            stage = path.stem.split("_", 1)[1].rsplit("_", 1)[0]
            target = (
                tmp_path
                / "verbose_ir_files"
                / "graph_kernel"
                / f"{number + 700:04}_{stage}_{number + 90000}.ir"
            )
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    assert counted(read_dumps(tmp_path))[1:] == COUNTS["Control_f"][1:]


def test_dumps_of_the_lowest_level(tmp_path):
    shutil.copy(CORPUS / "MyNet_f" / "graph_build_0_0164.ir", tmp_path)
    assert counted(read_dumps(tmp_path)) == ([1], [], [], [], [])


def test_the_newer_of_two_files_for_one_graph(tmp_path):
    shutil.copyfile(
        CORPUS / "MyNet_u" / "graph_build_0_0126.ir", tmp_path / "graph_build_0_9999.ir"
    )
    shutil.copyfile(
        CORPUS / "MyNet_f" / "graph_build_0_0164.ir", tmp_path / "graph_build_0_10000.ir"
    )
    assert counted(read_dumps(tmp_path))[0] == [1]


def test_first_rank_of_a_distributed_run(tmp_path):
    for rank in ("rank_10", "rank_2"):
        shutil.copytree(
            CORPUS / ("MyNet_f" if rank == "rank_2" else "OpNet_f"), tmp_path / "out" / rank
        )
    dumps = read_dumps(tmp_path)
    assert dumps.directory == tmp_path / "out" / "rank_2"
    assert counted(dumps) == COUNTS["MyNet_f"]


def test_nothing_there(tmp_path, subtests):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "other.ir").write_text("hello", encoding="utf-8")
    for place in (tmp_path, tmp_path / "none", tmp_path / "notes.txt"):
        with subtests.test(place.name):
            with pytest.raises(InputError) as caught:
                read_dumps(place)
            message = str(caught.value)
            assert str(place) in message
            assert "MS_DEV_SAVE_GRAPHS=2" in message and "MS_DEV_SAVE_GRAPHS_PATH" in message
    with pytest.raises(InputError, match="no MindSpore dumps") as caught:
        read_dumps(tmp_path)
    assert "graph_build_" in caught.value.expected


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "graph_build_0_0001.ir"
    path.write_text(dump(statement(0, "A(%para1_x)"))[:-3], encoding="utf-8")
    with pytest.raises(ParseError, match="does not end") as caught:
        read_dumps(tmp_path)
    assert caught.value.file == str(path)


def test_what_is_no_file_is_not_read(tmp_path):
    (tmp_path / "graph_build_0_0001.ir").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        read_dumps(tmp_path)


def test_a_loop_of_links_ends(tmp_path):
    shutil.copytree(CORPUS / "MyNet_f", tmp_path / "a")
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert counted(read_dumps(tmp_path / "a")) == COUNTS["MyNet_f"]
