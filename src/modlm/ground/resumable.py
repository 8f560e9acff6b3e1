"""A file that is written part by part and that a killed process can go on with: no part is lost, none comes twice.

While it is made it is called NAME.unfinished, and NAME.unfinished.json beside it says how much of it counts and
whatever its writer wants to know again. What was written behind that is cut off when somebody goes on.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from modlm.errors import OutputError
from modlm.ground.files import new_file, only_writer, output_error


class ResumableFile:
    """The file that is to be at `target`; `state` is what the last commit gave, None for a new one."""

    def __init__(self, target: Path, about: dict[str, Any], *, restart: bool = False) -> None:
        """`about` says what is written: a file that is about something else is refused, or with `restart` lost."""
        self.target, self.about, self.restart = target, about, restart
        self.unfinished = target.with_name(f"{target.name}.unfinished")
        self.journal = target.with_name(f"{target.name}.unfinished.json")
        self.state: dict[str, Any] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.unfinished.touch()
            self._stack.enter_context(only_writer(self.unfinished))
            size = self._found()
            self.stream = cast(BinaryIO, self._stack.enter_context(self.unfinished.open("r+b")))
            self.stream.truncate(size)
            self.stream.seek(size)
        except OSError as error:
            self._stack.close()
            raise output_error(self.target, error) from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def _found(self) -> int:
        """How many bytes of what is there count."""
        try:
            found = json.loads(self.journal.read_bytes())
            about, size, state = found["about"], int(found["bytes"]), found["state"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return 0
        if self.restart or size > self.unfinished.stat().st_size:
            return 0
        if about != self.about:
            changed = ", ".join(name for name in self.about if about.get(name) != self.about[name])
            raise OutputError(
                f"{self.unfinished} was begun with other settings ({changed}). Go on with the same ones, choose "
                f"another name, or begin again with overwrite=True."
            )
        self.state = state
        return size

    @contextmanager
    def _reported(self) -> Any:
        try:
            yield
        except OSError as error:
            raise output_error(self.target, error) from error

    def write(self, data: bytes) -> None:
        """One part more."""
        with self._reported():
            self.stream.write(data)

    def commit(self, state: dict[str, Any]) -> None:
        """All that was written counts from now on, and goes with this state."""
        with self._reported():
            self.stream.flush()
            os.fsync(self.stream.fileno())
            found = {"about": self.about, "bytes": self.stream.tell(), "state": state}
            with new_file(self.journal) as aside:
                aside.write_text(json.dumps(found))

    def finish(self) -> None:
        """Give the file its name."""
        with self._reported():
            self.stream.flush()
            self.unfinished.replace(self.target)
        self.discard()

    def discard(self) -> None:
        """Remove what is left of it."""
        for path in (self.journal, self.unfinished):
            with suppress(OSError):
                path.unlink()

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        if not self.journal.exists():  # nothing counts
            with suppress(OSError):
                self.unfinished.unlink()
