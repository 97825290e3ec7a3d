"""Executes the notebooks and stores their outputs: ``python -m tests.notebooks [NAME …]``.

``make notebooks`` runs all of them.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
SECONDS_A_CELL = 900
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def names() -> list[str]:
    """The file names of all notebooks without suffix, in reading order."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def read(name: str) -> NotebookNode:
    """The stored notebook `name`."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def executed(name: str) -> NotebookNode:
    """Executes the notebook `name` in a new kernel with working directory ``notebooks/``, and
    cleans it.

    Raises:
        CellExecutionError: a cell raised; it holds the cell and the traceback.
    """
    notebook = read(name)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_A_CELL,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    )
    client.execute(env=environment)
    return cleaned(notebook)


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """Removes details that vary between runs and machines: cell times, versions, directories."""
    kept = nbformat.from_dict({**notebook, "metadata": METADATA})
    for number, cell in enumerate((cell for cell in kept.cells if cell.cell_type == "code"), 1):
        cell.metadata = NotebookNode()
        cell.execution_count = number
        cell.outputs = _joined(cell.outputs)
        for output in cell.outputs:
            output.pop("transient", None)
            if "execution_count" in output:
                output.execution_count = number
            if "text" in output:
                output.text = _without_places(output.text)
            for kind, text in output.get("data", {}).items():
                if kind.startswith("text/"):  # pictures contain no paths and are long
                    output.data[kind] = _without_places(text)
    return kept


def _joined(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Merges consecutive pieces of one output stream."""
    found: list[NotebookNode] = []
    for output in outputs:
        if (
            found
            and output.output_type == "stream" == found[-1].output_type
            and output.name == found[-1].name
        ):
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def _without_places(text: str) -> str:
    """Removes directories of this machine."""
    for place, name in ((f"{ROOT}/", ""), (str(Path.home()), "~")):
        text = text.replace(place, name)
    return re.sub(r"\S*ipykernel_\d+[/\\]\d+\.py", "notebook cell", text)


def main(chosen: Sequence[str]) -> int:
    """Executes the named notebooks, or all, and overwrites their files."""
    for name in chosen or names():
        started = time.monotonic()
        nbformat.write(executed(name), NOTEBOOKS / f"{name}.ipynb")
        print(f"{name}: {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
