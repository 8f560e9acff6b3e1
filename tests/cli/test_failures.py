"""Wrong arguments, bad files, damaged folders, places that cannot be written: one message, and nothing left behind."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Files, Modlm, Outcome

from modlm.cli.app import main, run
from modlm.cli.outcome import explain
from modlm.errors import InputError, LostProcessError


def refused(outcome: Outcome, *words: str) -> None:
    """Exit code 1 and one line on standard error that holds the words."""
    assert outcome.code == 1 and outcome.out == ""
    assert outcome.err.startswith("modlm: ") and len(outcome.err.splitlines()) == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["unheard-of"],
        ["--unheard-of"],
        ["ngram", "text"],
        ["ngram", "text", "-o", "m", "--order", "0"],
        ["ngram", "text", "-o", "m", "--order", "many"],
        ["ngram", "text", "-o", "m", "--prune", "0,x"],
        ["ngram", "text", "-o", "m", "--threads", "0"],
        ["eval", "model"],
        ["compare", "model", "text"],
        ["next"],
        ["next", "model", "-k", "0"],
        ["interpolate", "model"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_code_2_and_shows_the_usage(modlm: Modlm, arguments: list[str]) -> None:
    outcome = modlm(*arguments)
    assert outcome.code == 2 and outcome.out == ""
    assert "Usage:" in outcome.err and "Traceback" not in outcome.err


BAD_TEXTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "invalid UTF-8": (b"a b\nc \xff\n", "line 2"),
    "UTF-16": ("a b\n".encode("utf-16"), "UTF-16"),
    "reserved name": (b"a b\n\nc <s> d\n", "line 3"),
    "truncated gzip": (gzip.compress(b"some words " * 5000)[:80], "cut off"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_texts_are_refused_with_their_place(modlm: Modlm, files: Files, tmp_path: Path, name: str) -> None:
    content, word = BAD_TEXTS[name]
    text = tmp_path / "text"
    text.write_bytes(content)
    refused(modlm("ngram", text, "-o", tmp_path / "m"), str(text), word)
    refused(modlm("eval", files.model, text), str(text))
    refused(modlm("score", files.model, text), str(text))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


def test_missing_files_and_folders_in_their_place(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    refused(modlm("ngram", tmp_path / "none", "-o", tmp_path / "m"), "no such file")
    refused(modlm("ngram", tmp_path, "-o", tmp_path / "m"), "folder")
    refused(modlm("ngram", files.train, "-o", tmp_path / "m", "--vocab", tmp_path / "none"), "no such file")
    refused(modlm("eval", tmp_path / "none", files.test), "no model")
    refused(modlm("eval", tmp_path, files.test))
    refused(modlm("eval", files.model, tmp_path), "folder")
    refused(modlm("eval", files.train, files.test), "a text, not a model")
    refused(modlm("inspect", tmp_path / "none"), "no such file")
    refused(modlm("interpolate", files.model, "--tune", tmp_path / "none", "-o", tmp_path / "m"), "no such file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--smoothing", "kneserney"], "kneser-ney"),
        (["--edge", "twice"], "repeat"),
        (["--prune", "1,1"], "first pruning threshold"),
        (["--prune", "0,2,1"], "fall"),
        (["--discounts", "2"], "less than 1"),
        (["--extra", "zero"], "uniform"),
        (["--engine", "steam"], "disk"),
        (["--memory", "lots"], "2GB"),
        (["--positions", "0"], "previous word"),
        (["--positions", "3,2", "--prune", "0,1"], "mixture"),
        (["--max-words", "5", "--vocab", "words"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_settings_that_do_not_fit_are_refused(
    modlm: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words").write_text("nila\n")
    refused(modlm("ngram", files.train, "-o", "m", *options), word)
    assert not Path("m").exists()


def test_counts_and_text_that_do_not_fit_are_refused(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    refused(modlm("ngram", files.arpa, "-o", tmp_path / "m"), "without counts")
    refused(modlm("ngram", files.counts, "-o", tmp_path / "m", "--max-words", 5), "--max-words and --min-count")
    refused(modlm("ngram", files.counts, "-o", tmp_path / "m", "--order", 5), "counts given is 3")
    refused(modlm("ngram", files.counts, "-o", tmp_path / "m", "--edge", "repeat"), "counts given is once")


# ---- places that cannot be written -----------------------------------------------------------------------------------


def test_what_exists_is_not_overwritten_and_found_out_before_any_work(
    modlm: Modlm, files: Files, tmp_path: Path
) -> None:
    (tmp_path / "here").write_text("precious")
    for option in ("-o", "--arpa", "--counts"):
        targets = {"-o": tmp_path / "m", option: tmp_path / "here"}
        words = [word for pair in targets.items() for word in pair]
        refused(modlm("ngram", tmp_path / "no text needed", *words), "--force")
    assert (tmp_path / "here").read_text() == "precious"
    refused(modlm("ngram", files.train, "-o", tmp_path / "here", "--force"), "is a file")
    assert (tmp_path / "here").read_text() == "precious"


def test_a_target_below_a_file_is_refused(modlm: Modlm, files: Files) -> None:
    refused(modlm("ngram", files.train, "-o", files.test / "m"), "Cannot write")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        refused(modlm("ngram", files.train, "-o", tmp_path / "m"), "permission")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_write_that_fails_leaves_nothing(
    modlm: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("modlm.store.folder.write_npy", fail)
    refused(modlm("ngram", files.train, "-o", tmp_path / "m", "--order", 2), "Cannot write")
    refused(modlm("interpolate", files.model, "--tune", files.valid, "-o", tmp_path / "m"), "Cannot write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_named(modlm: Modlm, files: Files) -> None:
    refused(modlm("convert", files.model, "/dev/full", "--to", "arpa"), "disk is full")


# ---- damaged folders -------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def edit(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def edited(path: Path) -> None:
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return edited


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "array cut": ("columns/ngram/words.npy", cut),
    "array gone": ("columns/ngram/words.npy", Path.unlink),
    "manifest gone": ("model.json", Path.unlink),
    "manifest cut": ("model.json", lambda path: path.write_bytes(path.read_bytes()[:100])),
    "manifest is no object": ("model.json", lambda path: path.write_text("[1, 2]")),
    "newer version": ("model.json", edit(lambda manifest: manifest.update(version=99))),
    "other format": ("model.json", edit(lambda manifest: manifest.update(format="something"))),
    "unknown kind": ("model.json", edit(lambda manifest: manifest["about"].update(kind="crystal ball"))),  # type: ignore[attr-defined]
    "levels fall": ("model.json", edit(lambda manifest: manifest["about"].update(levels=[0, 1, 9, 3, 2]))),  # type: ignore[attr-defined]
    "start outside": ("model.json", edit(lambda manifest: manifest["about"].update(start=10**9))),  # type: ignore[attr-defined]
    "vocabulary swapped": (
        "vocabulary.txt",
        lambda path: path.write_bytes(path.read_bytes().replace(b"nila", b"alin")),
    ),
    "vocabulary cut": ("vocabulary.txt", cut),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_model_folders_are_refused(modlm: Modlm, files: Files, tmp_path: Path, name: str) -> None:
    shutil.copytree(files.model, tmp_path / "m")
    file, damage = DAMAGE[name]
    damage(tmp_path / "m" / file)
    for command in (
        ("eval", tmp_path / "m", files.test),
        ("next", tmp_path / "m", "nila"),
        ("inspect", tmp_path / "m"),
    ):
        refused(modlm(*command))


def test_a_flipped_bit_is_found_by_verify(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    shutil.copytree(files.model, tmp_path / "m")
    array = tmp_path / "m" / "columns" / "ngram" / "frequencies.npy"
    content = bytearray(array.read_bytes())
    content[-3] ^= 1
    array.write_bytes(content)
    assert modlm("inspect", tmp_path / "m").code == 0
    refused(modlm("inspect", tmp_path / "m", "--verify"), "frequencies.npy", "changed")


# ---- what else can happen --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (MemoryError(), "--memory"),
        (OSError(5, "Input/output error", "disk"), "disk: Input"),
        (KeyError("x"), "--debug"),
    ],
)
def test_other_failures_are_one_line(
    modlm: Modlm, files: Files, monkeypatch: pytest.MonkeyPatch, error: Exception, word: str
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("modlm.model.folder.load", fail)
    refused(modlm("eval", files.model, files.test), word)
    assert "\n" not in explain(error)


def test_an_interruption_says_that_nothing_was_written(
    modlm: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("modlm.model.folder.write_folder", interrupt)
    outcome = modlm("ngram", files.train, "-o", tmp_path / "m", "--order", 2)
    assert (outcome.code, outcome.err) == (130, "modlm: interrupted; nothing was written\n")
    outcome = modlm("ngram", files.train, "-o", tmp_path / "m", "--order", 2, "--counts", tmp_path / "c")
    assert outcome.code == 130 and str(tmp_path / "c") in outcome.err


def test_debug_shows_where_an_error_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        main(["ngram", str(tmp_path / "none"), "-o", str(tmp_path / "m"), "--debug"])
    with pytest.raises(SystemExit) as left:
        main(["ngram", str(tmp_path / "none"), "-o", str(tmp_path / "m")])
    assert left.value.code == 1


def test_a_kill_that_follows_the_loss_of_a_process_does_not_silence_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(*_: object, **__: object) -> None:
        try:
            raise LostProcessError("Process 0 of 2 can no longer reach the others.")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # as torchrun does with those that are left

    monkeypatch.setattr("modlm.cli.app.program", lambda _: lose)
    assert run(["train"]) == 1
    assert capsys.readouterr().err == "modlm: Process 0 of 2 can no longer reach the others.\n"


def test_a_kill_alone_ends_a_command_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("modlm.cli.app.program", lambda _: lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit, match="143"):
        run(["train"])
    assert capsys.readouterr().err == ""
