"""The first commands of README, from the demo to an explorer with every page alive."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from browser.exploring import SRC, Explorer, Served

ROOT = SRC.parent


def test_readme_begins_with_the_demo_and_the_explorer() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    assert commands is not None
    assert [line.partition("#")[0].strip() for line in commands[1].splitlines()] == [
        "make demo", ".venv/bin/modlm serve demo",
    ]  # fmt: skip
    target = re.search(r"^demo: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert target is not None and target[1] == "\t$(BIN)/modlm demo\n"  # once the package is installed


@pytest.mark.long  # three minutes on two cores, more when they are shared
def test_the_demo_ends_with_the_command_that_shows_every_page_alive(browser: Any, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "modlm", "demo"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    assert re.fullmatch(r"Open all of them in a browser: \S+ serve demo", last)
    served = Served(tmp_path, ["demo"], [])
    explorer = Explorer(browser, served).open()
    explorer.button("Sentences that it could write").click()
    explorer.scored()
    explorer.every_page_is_alive()
    assert explorer.page.get_by_label("Model").locator("option").all_inner_texts() == [
        "hybrid", "interpolated", "neural", "ngram",
    ]  # fmt: skip
    explorer.close()
    served.stop()
    assert explorer.complaints == []
