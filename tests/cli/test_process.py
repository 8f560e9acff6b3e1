"""The command as a process of its own: start-up, signals, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Files

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-c", "from modlm.cli import main; main()"]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "MODLM_PROGRESS": "0", "PYTHONIOENCODING": "utf-8"}


def call(*arguments: object, code: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else COMMAND
    words = [*command, *(str(argument) for argument in arguments)]
    return subprocess.run(words, capture_output=True, text=True, env=environment(), encoding="utf-8")


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    code = """
import sys
from modlm.cli.app import run
assert run(["--help"]) == 0
heavy = {"numpy", "numba", "llvmlite", "torch"} & set(sys.modules)
assert not heavy, heavy
"""
    done = call(code=code)
    assert (done.returncode, done.stderr) == (0, "")
    for command in "demo ngram train eval score compare next generate interpolate convert inspect serve".split():
        assert f"  {command} " in done.stdout


def test_every_command_has_help_with_an_example() -> None:
    from modlm.cli.app import COMMANDS

    code = f"""
from modlm.cli.app import run
for command in {list(COMMANDS)!r}:
    assert run([command, "--help"]) == 0
"""
    out = call(code=code).stdout
    for command in COMMANDS:
        assert f"modlm {command} " in out or command == "demo"


def test_next_on_a_model_folder_needs_no_numba(files: Files) -> None:
    code = f"""
import sys
from modlm.cli.app import run
assert run(["next", {str(files.model)!r}, "nila dafe", "--json"]) == 0
assert "numba" not in sys.modules and "rich.progress" not in sys.modules
"""
    done = call(code=code)
    assert (done.returncode, done.stderr) == (0, "")


def test_version() -> None:
    import modlm

    assert call("--version").stdout == f"modlm {modlm.__version__}\n"


def test_an_error_is_one_line_and_code_1(tmp_path: Path) -> None:
    done = call("ngram", tmp_path / "none", "-o", tmp_path / "m")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"modlm: {tmp_path / 'none'}: there is no such file.\n"


def test_a_reader_that_leaves_is_no_error_to_shout_about(files: Files) -> None:
    process = subprocess.Popen(
        [*COMMAND, "score", str(files.model), str(files.train), "--words"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_an_error(files: Files) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "next", str(files.model), "nila"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment())
    assert done.returncode == 1
    assert done.stderr == "modlm: No space left on device.\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_while_counting_leave_nothing_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """A pipe that never ends keeps the command counting until the signal comes."""
    place = tmp_path / "work"
    place.mkdir()
    os.mkfifo(tmp_path / "endless")
    options = ["--memory", "100MB"] if number == signal.SIGINT else []
    process = subprocess.Popen(
        [*COMMAND, "ngram", str(tmp_path / "endless"), "-o", str(place / "m"), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment(), "TMPDIR": str(place)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    descriptor = os.open(tmp_path / "endless", os.O_WRONLY)
    try:
        lines = b"the cat sat on the mat\n" * 4096
        until = time.monotonic() + 1.0
        os.set_blocking(descriptor, False)
        while time.monotonic() < until:
            try:
                os.write(descriptor, lines)
            except BlockingIOError:
                time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        os.close(descriptor)
    assert process.returncode == code and out == ""
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert err == "modlm: interrupted; nothing was written\n"
    assert list(place.iterdir()) == []


def test_the_shell_completes_commands_and_options() -> None:
    for words, expected in (("modlm ngr", "ngram"), ("modlm eval --thr", "--threads")):
        asked = {"_MODLM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        found = subprocess.run(COMMAND, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60)
        assert found.stdout.split() == [expected], found.stderr


def test_a_command_that_is_asked_for_is_imported_alone() -> None:
    code = """
import sys
from modlm.cli.app import COMMANDS, run
assert run(["next", "--help"]) == 0
there = {name.partition(":")[0] for name in COMMANDS.values() if f"modlm.cli.{name.partition(':')[0]}" in sys.modules}
assert there == {"next_words"}, there
"""
    done = call(code=code)
    assert (done.returncode, done.stderr) == (0, "")
