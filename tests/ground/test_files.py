"""A name that exists is a whole thing: writes that fail leave what was there, and nothing else."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from modlm.errors import OutputError
from modlm.ground.files import REASONS, new_file, new_folder, only_writer, output_error, scratch_folder, sha256
from modlm.ground.leftovers import claim

Maker = Callable[..., AbstractContextManager[Path]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill(place: Path, text: str) -> None:
    """Write into the given place, which is a new file or a new folder."""
    (place / "inside.txt" if place.is_dir() else place).write_text(text)


def content(target: Path) -> str:
    return (target / "inside.txt" if target.is_dir() else target).read_text()


def existing(maker: Maker, target: Path) -> None:
    with maker(target) as place:
        fill(place, "old")


both = pytest.mark.parametrize("maker", [new_file, new_folder])


@both
def test_the_target_appears_when_the_block_ends_and_not_before(maker: Maker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with maker(target) as place:
        fill(place, "new")
        assert not target.exists()
        assert place.parent == tmp_path
    assert content(target) == "new"
    assert names(tmp_path) == ["target"]


@both
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_an_exception_leaves_the_old_target_and_nothing_else(
    maker: Maker, error: type[BaseException], tmp_path: Path
) -> None:
    target = tmp_path / "target"
    existing(maker, target)
    expected = OutputError if error is OSError else error
    with pytest.raises(expected), maker(target, overwrite=True) as place:
        fill(place, "half of the new")
        raise error(errno.EIO, "input/output error")
    assert content(target) == "old"
    assert names(tmp_path) == ["target"]


@both
def test_overwriting_replaces_the_whole_target(maker: Maker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    existing(maker, target)
    with maker(target, overwrite=True) as place:
        fill(place, "new")
    assert content(target) == "new"
    assert names(tmp_path) == ["target"]


@both
def test_an_existing_target_is_kept_unless_overwriting_is_asked_for(maker: Maker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    existing(maker, target)
    with pytest.raises(OutputError, match=r"already exists.*overwritten"), maker(target, overwrite=False):
        pytest.fail("the block must not run")
    assert content(target) == "old"


def test_a_file_does_not_replace_a_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match="is a folder, but a file"), new_file(tmp_path / "folder"):
        pass
    with pytest.raises(OutputError, match="is a file, but a folder"), new_folder(tmp_path / "file", overwrite=True):
        pass
    assert names(tmp_path) == ["file", "folder"]


def test_a_folder_is_made_together_with_the_folders_above_it(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "b") as place:
        fill(place, "new")
    assert content(tmp_path / "a" / "b") == "new"


def test_a_file_in_a_missing_folder_names_the_way_out(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="folder above it does not exist; create it first"),
        new_file(tmp_path / "missing" / "file") as place,
    ):
        place.write_text("new")


@both
def test_a_path_through_a_file_names_the_way_out(maker: Maker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match="Cannot write"), maker(tmp_path / "file" / "target") as place:
        fill(place, "new")
    assert content(tmp_path / "file") == "old"


@both
def test_a_read_only_place_is_reported(maker: Maker, tmp_path: Path) -> None:
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        pytest.skip("the superuser may write to read-only folders")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="permission was denied"), maker(tmp_path / "target") as place:
            fill(place, "new")
    finally:
        tmp_path.chmod(0o700)
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@both
def test_a_full_disk_is_reported_and_leaves_the_old_target(maker: Maker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    existing(maker, target)
    with pytest.raises(OutputError, match="the disk is full"), maker(target, overwrite=True):
        Path("/dev/full").write_text("new")
    assert content(target) == "old"
    assert names(tmp_path) == ["target"]


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a Unix thing")
def test_a_file_over_the_size_limit_is_reported_and_removed(tmp_path: Path) -> None:
    script = """
        import resource, signal, sys
        from pathlib import Path
        from modlm.errors import OutputError
        from modlm.ground.files import new_folder
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            with new_folder(sys.argv[1]) as place:
                (place / "counts").write_bytes(bytes(100_000))
        except OutputError as error:
            print(error)
    """
    target = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(target)], capture_output=True, text=True, check=True
    )
    assert "larger than this file system or a limit (ulimit -f) allows" in done.stdout
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="sends a Unix signal")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    script = """
        import sys, time
        from modlm.ground.files import new_folder
        with new_folder(sys.argv[1]) as place:
            (place / "counts").write_bytes(b"half")
            print("ready", flush=True)
            time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode != 0
    assert names(tmp_path) == []


def test_a_failed_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    existing(new_folder, target)
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if ".partial-" in self.name:
            raise OSError(errno.ENOSPC, "no space left on device")
        return rename(self, to)

    monkeypatch.setattr("modlm.ground.files.renamed", lambda one, other, **options: False)  # as on systems that cannot
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="the disk is full"), new_folder(target, overwrite=True) as place:
        fill(place, "new")
    assert content(target) == "old"
    assert names(tmp_path) == ["target"]


def test_left_overs_of_a_killed_process_with_our_number_are_no_obstacle(tmp_path: Path) -> None:
    left = tmp_path / f".target.partial-{os.getpid()}"
    left.mkdir()
    (left / "half").write_text("half")
    with new_folder(tmp_path / "target") as place:
        fill(place, "new")
    assert names(tmp_path / "target") == ["inside.txt"]


def test_two_targets_can_be_written_at_once(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a") as first, new_folder(tmp_path / "b") as second:
        fill(first, "1")
        fill(second, "2")
    assert (content(tmp_path / "a"), content(tmp_path / "b")) == ("1", "2")


@both
def test_a_link_is_followed(maker: Maker, tmp_path: Path) -> None:
    existing(maker, tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with maker(tmp_path / "link", overwrite=True) as place:
        fill(place, "new")
    assert content(tmp_path / "real") == "new"
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["link", "real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_devices_and_pipes_are_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with new_file(pipe, overwrite=False) as place:
            place.write_text("through the pipe")
        assert os.read(reader, 100) == b"through the pipe"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


@both
def test_an_error_about_another_file_is_not_called_a_failed_write(maker: Maker, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-input\.txt"), maker(tmp_path / "target"):
        (tmp_path / "no-such-input.txt").read_text()
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", REASONS)
def test_every_known_reason_comes_out_with_its_way_out(number: int, tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught, new_folder(tmp_path / "target") as place:
        raise OSError(number, os.strerror(number), str(place / "counts"))
    assert str(caught.value) == f"Cannot write {tmp_path / 'target'}: {REASONS[number]}."
    assert names(tmp_path) == []


def test_an_unusual_reason_is_given_in_the_words_of_the_system() -> None:
    error = output_error(Path("model"), OSError(errno.EIO, "Input/output error"))
    assert str(error) == "Cannot write model: Input/output error."


def test_sha256_is_that_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc" * 100_000)
    assert sha256(tmp_path / "file") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def killed_while_writing(target: Path, *, more: str = "") -> None:
    """A process that was killed in the middle of overwriting a folder."""
    script = f"""
        import os, signal, sys
        from pathlib import Path
        import modlm.ground.files
        {more}
        with modlm.ground.files.new_folder(sys.argv[1], overwrite=True) as place:
            (place / "inside.txt").write_text("half")
            if not {more!r}:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(target)], check=False)
    assert done.returncode == -signal.SIGKILL


unix = pytest.mark.skipif(sys.platform == "win32", reason="sends a Unix signal")
KILLED_BETWEEN_RENAMES = (
    "modlm.ground.files.renamed = lambda one, other, **options: False; "
    "Path.rename = lambda self, to: (os.rename(self, to), os.kill(os.getpid(), signal.SIGKILL))"
)


@unix
def test_what_a_killed_process_left_goes_when_the_target_is_written_next(tmp_path: Path) -> None:
    existing(new_folder, tmp_path / "target")
    killed_while_writing(tmp_path / "target")
    assert content(tmp_path / "target") == "old" and len(names(tmp_path)) == 2
    with new_folder(tmp_path / "target", overwrite=True) as place:
        fill(place, "new")
    assert content(tmp_path / "target") == "new" and names(tmp_path) == ["target"]


@unix
def test_an_old_folder_that_stepped_aside_for_a_killed_process_comes_back(tmp_path: Path) -> None:
    existing(new_folder, tmp_path / "target")
    killed_while_writing(tmp_path / "target", more=KILLED_BETWEEN_RENAMES)
    assert not (tmp_path / "target").exists()
    with pytest.raises(OutputError, match="already exists"), new_folder(tmp_path / "target"):
        pass
    assert content(tmp_path / "target") == "old" and names(tmp_path) == ["target"]


@both
def test_what_another_process_is_writing_is_left_alone(maker: Maker, tmp_path: Path) -> None:
    with maker(tmp_path / "target") as one:
        with maker(tmp_path / "target") as other:
            assert one.exists() and other.exists()
            fill(other, "second")
        fill(one, "first")
        if maker is new_folder:
            (tmp_path / "target").rename(tmp_path / "other")
    assert content(tmp_path / "target") == "first"


@both
def test_who_comes_second_does_not_overwrite_unasked(maker: Maker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with pytest.raises(OutputError, match="already exists"), maker(target, overwrite=False) as place:
        fill(place, "late")
        with maker(target, overwrite=False) as faster:
            fill(faster, "first")
    assert content(target) == "first" and names(tmp_path) == ["target"]


def test_a_scratch_folder_is_gone_afterwards_and_takes_left_ones_with_it(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as left:
        (left / "run-0").write_text("half")
        with scratch_folder(tmp_path) as other:
            assert left.exists() and other != left
        left.rename(tmp_path / "kept")
    (tmp_path / "kept").rename(left)  # as if it had been killed
    with scratch_folder(tmp_path) as place:
        assert names(tmp_path) == [place.name]
    assert names(tmp_path) == []


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        only_writer(tmp_path),
        pytest.raises(OutputError, match="Another process is writing to"),
        only_writer(tmp_path),
    ):
        pass
    with only_writer(tmp_path):
        pass


@pytest.mark.parametrize("moment", ["before it is opened", "before it is locked"])
def test_a_temporary_place_that_is_swept_before_it_is_locked_is_made_again(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that begins at the same moment finds the place without a lock, and takes it for a leftover."""
    opened, swept = os.open, list[str]()

    def open_late(path: str | Path, *arguments: int, **more: int) -> int:
        if not swept and moment == "before it is opened":
            swept.append(moment)
            Path(path).rmdir()
        handle = opened(path, *arguments, **more)
        if not swept:
            swept.append(moment)
            Path(path).rmdir()
        return handle

    monkeypatch.setattr("modlm.ground.leftovers.os.open", open_late)
    with claim(tmp_path / ".a.partial-1", folder=True):
        assert swept == [moment] and (tmp_path / ".a.partial-1").is_dir()
    assert list(tmp_path.iterdir()) == []
