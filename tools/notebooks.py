"""Runs the notebooks of examples/ and keeps their outputs: `make notebooks`. tests/test_notebooks.py runs them, too.

What differs from run to run (times, ids of cells, the kernel's version) is not kept.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SECONDS = 600


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook after a run in this folder, with one thread, so that its numbers repeat."""
    notebook = nbformat.read(path, as_version=4)
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    own = {"PYTHONPATH": paths, "MODLM_CACHE": str(folder / ".cache"), "MODLM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
    client.execute(env=os.environ | own | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "COLUMNS": "100"})
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """What each code cell printed or showed, as text."""
    return [
        "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> None:
    """Run all, and write those whose outputs changed."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        nbformat.write(notebook, path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
