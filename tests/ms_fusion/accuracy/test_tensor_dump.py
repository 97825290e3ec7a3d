"""Reads directories with the layout of MindSpore's dump."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ms_fusion.accuracy.tensor_dump import read_tensor_dump, write_dump_configuration
from tbe_impl.errors import InputError, ParseError

NAMES = (
    "Default/GraphKernel_Mul_Add_fusion-op0",
    "Default/q-Dense/MatMul-op0",
    "Default/ln.1/Add-op0",
)


@pytest.fixture
def dump(tmp_path):
    rank = tmp_path / "tensors" / "rank_0"
    order = rank / "execution_order"
    order.mkdir(parents=True)
    (order / "ms_execution_order_graph_0.csv").write_text(
        "NodeExecutionOrder-FullNameWithScope\n" + "\n".join(NAMES)
    )
    for iteration in ("2", "10"):
        folder = rank / "net" / "0" / iteration
        folder.mkdir(parents=True)
        for name in NAMES:
            stem = f"{name.rpartition('/')[2].partition('-')[0]}.{name.replace('/', '_')}.0.0"
            for stamp, (side, index) in enumerate(
                (s, i) for s in ("input", "output") for i in range(12 if s == "input" else 1)
            ):
                array = np.float32([int(iteration), index])
                np.save(
                    folder / f"{stem}.17951779{stamp:02}.{side}.{index}.DefaultFormat.Float32.npy",
                    array,
                )
        np.save(folder / "Parameter.w.0.0.1795.output.0.DefaultFormat.Float32.npy", array)
    return tmp_path


def test_tensors_by_full_name_in_order_of_the_first_iteration(dump):
    found = read_tensor_dump(dump)
    assert set(found) == set(NAMES)
    for tensors in found.values():
        assert [array.tolist() for array in tensors.inputs] == [[2.0, index] for index in range(12)]
        assert len(tensors.outputs) == 1


def test_names_that_are_too_long_stand_in_a_table(dump):
    folder = dump / "tensors" / "rank_0" / "net" / "0" / "2"
    (long,) = folder.glob("MatMul.*.input.3.*")
    (folder / "mapping.csv").write_text(f"340.npy,{long.name}\n../../outside.npy,{long.name}\n")
    long.rename(folder / "340.npy")
    (first,) = [name for name in NAMES if "MatMul" in name]
    assert [one[1] for one in read_tensor_dump(dump)[first].inputs] == list(range(12))


def test_damaged_tensor_is_named(dump):
    tensors = read_tensor_dump(dump)[NAMES[0]]
    tensors.input_files[0].write_bytes(b"not a tensor")
    with pytest.raises(ParseError, match=r"input\.0"):
        _ = tensors.inputs


def test_pickled_objects_are_not_loaded(dump):
    tensors = read_tensor_dump(dump)[NAMES[0]]
    np.save(tensors.input_files[0], np.array([print], object), allow_pickle=True)
    with pytest.raises(ParseError, match=r"input\.0"):
        _ = tensors.inputs


def test_no_dump(tmp_path):
    with pytest.raises(InputError, match="not a tensor dump"):
        read_tensor_dump(tmp_path)
    with pytest.raises(InputError, match="no such directory"):
        read_tensor_dump(tmp_path / "nowhere")


def test_the_configuration_selects_path_and_iterations(tmp_path):
    settings = json.loads(write_dump_configuration(tmp_path / "new", iteration="0|2").read_text())
    assert settings["common_dump_settings"]["iteration"] == "0|2"
    assert settings["common_dump_settings"]["path"].startswith(str(tmp_path))
    assert settings["e2e_dump_settings"]["enable"] is True
