"""Hides MindSpore from a Python process with this directory in its PYTHONPATH."""

import sys
from importlib.machinery import PathFinder


class Blind(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] == "mindspore":
            return None
        return super().find_spec(name, path, target)


sys.meta_path = [Blind if finder is PathFinder else finder for finder in sys.meta_path]
