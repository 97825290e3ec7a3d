"""MindSpore's files and ours are told from the user's, whatever his folders are called."""

from __future__ import annotations

import contextlib

from ms_fusion import source_paths
from tests.cases import cases


@cases(
    "path, is_mindspore",
    [
        ("/usr/lib/python3/mindspore/train/model.py", True),
        ("/venv/lib/python3.11/site-packages/mindspore/train/model.py", True),
        ("/opt/target/mindspore/nn/layer/basic.py", True),
        ("C:\\venv\\Lib\\site-packages\\mindspore\\nn\\cell.py", True),
        ("/home/me/mindspore/train.py", False),
        ("/home/me/ms_fusion/net.py", False),
    ],
)
def test_files_of_mindspore(path: str, is_mindspore: bool) -> None:
    assert source_paths.is_mindspore_file(path) == is_mindspore
    assert source_paths.is_internal_file(path) == is_mindspore


def test_ours_and_those_of_contextlib_are_internal() -> None:
    assert source_paths.is_internal_file(source_paths.__file__)
    assert source_paths.is_internal_file(contextlib.__file__)
