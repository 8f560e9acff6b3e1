"""A server in a process of its own, the explorer in a tab, and what they show: runs, and texts of any length."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tiny_runs import free_port

SRC = Path(__file__).parents[2] / "src"
WAIT = 180  # seconds until a server has loaded its models on a busy machine
ALIVE = {
    "Text": ".word-card .shares", "Next words": ".product .lambda", "Compare": ".movers li",
    "Why": ".why-table tbody tr", "Runs": ".chart path.curve",
}  # fmt: skip
"""Names of the explorer's pages, and what each has when it has something to show."""
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
SENTENCES = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "the cat saw the dog",
    "a dog saw a cat on the mat",
    "the bird sang",
    "a bird sat on the cat",
    "the cat sang to the bird",
]


class Served:
    """`modlm serve` in a process of its own."""

    def __init__(self, folder: Path, models: list[str], runs: list[str], *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/"
        arguments = [*models, *(part for run in runs for part in ("--run", run)), "--port", self.port, *options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])}
        self.log = (folder / f"log-{self.port}").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "modlm", "serve", *arguments],
            cwd=folder, env=environment, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + WAIT
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}health", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        self.stop()
        pytest.fail(f"The server did not start:\n{Path(self.log.name).read_text(encoding='utf-8')}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def write_run(folder: Path, *, lines: int, finished: bool) -> None:
    """A run folder as training leaves it, as far as its curves go."""
    folder.mkdir()
    (folder / "config.toml").write_text('kind = "hybrid"\n', encoding="utf-8")
    for _ in range(lines):
        add_line(folder)
    if finished:
        (folder / "result.json").write_text("{}", encoding="utf-8")


def add_line(folder: Path) -> None:
    """One more evaluation: perplexities 400 / n, 300 / n and 200 / n, half as much dense mass each time."""
    journal = folder / "journal.jsonl"
    number = 1 + (len(journal.read_text(encoding="utf-8").splitlines()) if journal.exists() else 0)
    line: dict[str, float] = {"words": 1000.0 * number, "epoch": number / 2}
    for part, perplexity in (("train", 400.0), ("valid", 300.0), ("test", 200.0)):
        line |= {f"{part}_perplexity": perplexity / number, f"{part}_dense_mass": 0.5**number}
    with journal.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


class Explorer:
    """The page in one tab, which notes everything that should not happen."""

    def __init__(self, browser: Any, served: Served, *, context: Any = None, **settings: Any) -> None:
        """In a context of its own with these settings, or as a further tab of one that others use too."""
        self.served = served
        self.shared = context is not None
        self.context = context or new_context(browser, **settings)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.refusals: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("requestfinished", self._refusals)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _refusals(self, request: Any) -> None:
        """The console names neither the request nor the reason."""
        answer = request.response()
        if answer is not None and answer.status >= 400:
            self.refusals.append(f"{request.url} {request.post_data}: {answer.status}")

    def close(self) -> None:
        if self.shared:
            self.page.close()
        else:
            self.context.close()

    def open(self, fragment: str = "") -> Explorer:
        if self.requests:
            self.page.goto("about:blank")  # a new fragment alone would not load the page again
        self.page.goto(self.served.address + (f"#{fragment}" if fragment else ""))
        self.page.wait_for_selector("html[data-ready]")
        return self

    def every_page_is_alive(self) -> None:
        """Goes through all five, with a text in the editor, and waits for what each is for."""
        for name, shown in ALIVE.items():
            self.button(name).click()
            self.page.locator(shown).first.wait_for()

    def type(self, text: str) -> None:
        self.page.locator("#text-input").fill(text)

    def scored(self, *words: str) -> None:
        """Waits until all words of the text (or just these) have their colours."""
        self.page.wait_for_function(
            """(wanted) => {
                const words = [...document.querySelectorAll(".w")];
                const texts = words.map((word) => word.textContent);
                return words.length > 0 && words.every((word) => "bits" in word.dataset)
                    && wanted.every((word) => texts.includes(word));
            }""",
            arg=list(words),
        )

    def word(self, text: str, at: int = 0) -> Any:
        """The element of a word in the text."""
        return self.page.locator(".w", has_text=text).nth(at)

    def hover(self, text: str, at: int = 0) -> None:
        box = self.word(text, at).bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click(self, text: str, at: int = 0) -> None:
        box = self.word(text, at).bounding_box()
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def text(self) -> str:
        value: str = self.page.locator("#text-input").input_value()
        return value

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """The server's own answer, to compare with what the page shows."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.served.address + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def violations(axe: Any, explorer: Explorer) -> list[str]:
    """What axe complains about on the page as it stands."""
    found = axe.run(explorer.page).response["violations"]
    return [f"{own['id']}: {own['help']}: {node['html'][:160]}" for own in found for node in own["nodes"]]


def new_context(browser: Any, **settings: Any) -> Any:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **settings})
    context.set_default_timeout(20_000)
    return context


def long_text(words: int) -> str:
    """Sentences of known words, of many lengths."""
    rng = random.Random(3)
    known = sorted({word for sentence in SENTENCES for word in sentence.split()})
    lines: list[str] = []
    while words > 0:
        length = min(words, rng.randint(5, 30))
        lines.append(" ".join(rng.choice(known) for _ in range(length)))
        words -= length
    return "\n".join(lines)
