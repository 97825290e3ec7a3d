"""Imports MindSpore's operator files with a mock of MindSpore; prints their registrations."""

import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

from tbe_impl import compat
from tbe_impl.compat import install

PARENT = "mindspore.ops._op_impl._custom_op"

spec = importlib.machinery.PathFinder.find_spec("mindspore")
if spec is None or spec.origin is None:
    print("absent")
    sys.exit()
folder = Path(spec.origin).parent / "ops/_op_impl/_custom_op"
files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
install._is_missing = lambda *_: True  # as on a machine without it
with compat.installed() as record:
    package = types.ModuleType(PARENT)
    package.__path__ = [str(folder)]
    sys.modules[PARENT] = package
    for path in files:
        name = f"{PARENT}.{path.stem}"
        loader = importlib.machinery.SourceFileLoader(name, str(path))
        found = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert found is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        loader.exec_module(sys.modules[name])
    kinds = {item.kind for item in record.registrations}
print(len(files), sorted(kinds))
