"""Sessions: what each client has had a model observe. In the memory of this process alone, and not for ever.

A session is a model with a memory of its own (`LanguageModel.session`). It ends when the client says so, when nobody
has asked for it for a while, or with the process; nothing that was observed is written anywhere.
"""

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from modlm.model.language_model import LanguageModel
from modlm.serve.library import Served
from modlm.serve.limits import Limits
from modlm.serve.refusals import RefusedError, bad


@dataclass(slots=True)
class Session:
    """What one client has had one model observe."""

    model: LanguageModel
    words: int = 0
    used: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    """For whoever makes it observe more."""


class Sessions:
    """The sessions of a server, by model and name."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: dict[tuple[str, str], Session] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def served(self, served: Served, name: str | None) -> Served:
        """The model as a session knows it at this moment, or without a session the model itself."""
        return served if name is None else Served(served.name, self._found(served, name).model.session())

    def observe(self, served: Served, name: str | None, sentences: Sequence[str]) -> dict[str, Any]:
        """Learn from sentences, in a session that begins here if there is none of this name."""
        name = secrets.token_urlsafe(12) if name is None else name
        session = self._found(served, name, begin=True)
        with session.lock:
            words = session.model.observe(list(sentences))
            session.words += words
            session.used = time.monotonic()
        about = {"words": words, "observed": session.words, "expires": self.limits.session_timeout}
        return {"model": served.name, "session": name, **about}

    def forget(self, served: Served, name: str) -> dict[str, Any]:
        session = self._found(served, name)
        with self._lock:
            self._open.pop((served.name, name), None)
        return {"model": served.name, "session": name, "forgotten": session.words}

    def _found(self, served: Served, name: str, *, begin: bool = False) -> Session:
        if not served.model.reads.learns:
            raise bad(
                "learns_nothing",
                f"{served.name} has no columns that learn from what they read, so it has no sessions. GET /models "
                f"tells which models do; modlm interpolate --online makes one.",
            )
        now = time.monotonic()
        with self._lock:
            for key in [key for key, own in self._open.items() if now - own.used > self.limits.session_timeout]:
                del self._open[key]
            session = self._open.get((served.name, name))
            if session is None and not begin:
                raise RefusedError(
                    404,
                    "unknown_session",
                    f"{served.name} has no session {name!r}. It was never begun, has ended after "
                    f"{self.limits.session_timeout:g} seconds without use, or the server was started anew. Begin one "
                    f"with POST /observe.",
                )
            if session is None and len(self._open) >= self.limits.max_sessions:
                raise RefusedError(
                    503,
                    "too_many_sessions",
                    f"There are {len(self._open)} sessions, the most that this server keeps. End one with "
                    f"POST /forget, or wait until one expires.",
                    retry_after="60",
                )
            session = session or Session(served.model.session())
            session.used = now
            self._open[served.name, name] = session
            return session
