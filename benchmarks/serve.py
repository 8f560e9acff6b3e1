"""The server under load: many clients that score one sentence after the other, and what it costs the server.

    python benchmarks/serve.py --ptb TRAIN TEST                # 32 clients, two minutes

A model of order 5 is trained and served by `modlm serve` in a process of its own; the clients are in this one, so both
share the cores of the machine. Every client has one connection and sends its next request when it has the last answer.
Times are those that a client sees.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from modlm.ground.files import new_file
from modlm.model.ngram_lm import NgramLM
from side_by_side.ratios import ptb_texts
from side_by_side.report import cpu_model, load_average, version

LEAST_RATE, MOST_P99, MOST_GROWTH = 1000.0, 0.100, 0.05  # sentences/s, seconds, share of the memory at the start
WARM_UP = 3.0  # seconds that are not counted
ROOT = Path(__file__).parents[1]


@dataclass(slots=True)
class Measured:
    """What the clients and the watcher saw."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    """Of each request, in seconds."""
    sentences: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    memory: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the start, and the server's bytes."""
    requests_in_a_batch: float = 0.0
    server_cpu: float = 0.0
    """Seconds of CPU time that the server took."""

    @property
    def rate(self) -> float:
        """Sentences scored a second."""
        return self.sentences / max(self.seconds, 1e-9)

    def quantile(self, share: float) -> float:
        """The time that this share of the requests did not exceed."""
        times = sorted(self.times)
        return times[min(len(times) - 1, int(share * len(times)))] if times else float("inf")

    @property
    def growth(self) -> float:
        """How much larger the server was at the end than after the first tenth, as a share."""
        first = self.memory[len(self.memory) // 10][1] if self.memory else 0
        return self.memory[-1][1] / first - 1 if first else 0.0


@contextmanager
def served(model: Path, *, threads: int | None) -> Iterator[tuple[int, str, int]]:
    """The process of a server and where it listens."""
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, "-m", "modlm", "serve", f"bench={model}", "--port", "0"]
    command += ["--threads", str(threads)] if threads else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths})
    try:
        assert process.stdout is not None
        found = re.match(r"http://([\d.]+):(\d+) ", process.stdout.readline())
        if not found:
            raise SystemExit("the server did not start")
        yield process.pid, found[1], int(found[2])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """The status and body of an answer on a connection that stays open."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head)
    body = await reader.readexactly(int(length[1])) if length else b""
    return int(head[9:12]), body


def posted(path: str, body: object) -> bytes:
    """A request as bytes."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


async def client(host: str, port: int, requests: Iterator[tuple[bytes, int]], until: float, out: Measured) -> None:
    """One client: asks until the time is up."""
    reader, writer = await asyncio.open_connection(host, port)
    counted_from = time.perf_counter() + WARM_UP
    try:
        while (begun := time.perf_counter()) < until:
            request, sentences = next(requests)
            try:
                status, body = await ask(reader, writer, request)
            except (OSError, asyncio.IncompleteReadError) as error:
                out.errors[type(error).__name__] = out.errors.get(type(error).__name__, 0) + 1
                writer.close()
                reader, writer = await asyncio.open_connection(host, port)
                continue
            if status != 200 or b'"log_prob"' not in body:
                out.errors[str(status)] = out.errors.get(str(status), 0) + 1
            if begun >= counted_from:
                out.times.append(time.perf_counter() - begun)
                out.sentences += sentences
    finally:
        writer.close()


async def watch(process: int, until: float, out: Measured) -> None:
    """The server's memory, once a second."""
    begun = time.perf_counter()
    while (now := time.perf_counter()) < until:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
        out.memory.append((now - begun, int(pages) * os.sysconf("SC_PAGE_SIZE")))
        await asyncio.sleep(1.0)


def cpu_seconds(process: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(process: int, host: str, port: int, lines: Sequence[str], asked: argparse.Namespace) -> Measured:
    """All clients at once."""
    out = Measured()
    groups = [lines[at : at + asked.sentences] for at in range(0, len(lines), asked.sentences)]
    requests = [(posted("/score", {"sentences": group}), len(group)) for group in groups]
    before, until = cpu_seconds(process), time.perf_counter() + WARM_UP + asked.seconds
    step = max(1, len(requests) // asked.clients)
    clients = [
        client(host, port, islice(cycle(requests), number * step, None), until, out) for number in range(asked.clients)
    ]
    await asyncio.gather(watch(process, until, out), *clients)
    out.seconds, out.server_cpu = asked.seconds, cpu_seconds(process) - before
    reader, writer = await asyncio.open_connection(host, port)
    _, metrics = await ask(reader, writer, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    writer.close()
    counts = dict(re.findall(r'^(\w+)\{model="bench"\} (\S+)$', metrics.decode(), re.MULTILINE))
    out.requests_in_a_batch = float(counts["modlm_batched_requests_total"]) / max(
        1.0, float(counts["modlm_batches_total"])
    )
    return out


def page(out: Measured, asked: argparse.Namespace) -> str:
    """The report as Markdown."""
    errors = sum(out.errors.values())
    bars = [
        ("sentence scores/s", f"{out.rate:,.0f}", f"≥ {LEAST_RATE:,.0f}", out.rate >= LEAST_RATE),
        ("p99", f"{out.quantile(0.99) * 1000:.1f} ms", f"≤ {MOST_P99 * 1000:.0f} ms", out.quantile(0.99) <= MOST_P99),
        ("errors", f"{errors:,}", "0", errors == 0),
        ("growth of memory", f"{out.growth:+.1%}", f"≤ {MOST_GROWTH:.0%}", out.growth <= MOST_GROWTH),
    ]
    lines = [f"# The server under load, {datetime.date.today().isoformat()}", ""]
    lines += ["**A trial run (`--quick`): its numbers mean nothing.**", ""] if asked.quick else []
    versions = ", ".join(f"{name} {version(name)}" for name in ("modlm", "fastapi", "uvicorn", "httptools", "orjson"))
    lines += [
        f"- {cpu_model()}, {len(os.sched_getaffinity(0))} cores for server and clients together; "
        f"load average before {asked.load_before}, after {load_average()}",
        f"- {versions}",
        f"- order 5, {asked.clients} clients, {asked.sentences} sentence(s) a request, {asked.seconds:g} s "
        f"after {WARM_UP:g} s of warming up",
        *([f"- {asked.note}"] if asked.note else []),
        "", "| measure | value | bar | met |", "|---|--:|--:|---|",
    ]  # fmt: skip
    lines += [f"| {name} | {value} | {bar} | {'yes' if met else '**no**'} |" for name, value, bar, met in bars]
    lines += ["", "| requests | p50 | p90 | p99 | p99.9 | longest |", "|--:|--:|--:|--:|--:|--:|"]
    times = [f"{out.quantile(share) * 1000:.1f} ms" for share in (0.5, 0.9, 0.99, 0.999, 1.0)]
    lines += [f"| {len(out.times):,} | {' | '.join(times)} |"]
    share = out.server_cpu / (asked.seconds + WARM_UP)
    lines += ["", f"The server took {share:.2f} cores and had {out.requests_in_a_batch:.1f} requests in a batch."]
    lines += [f"Errors: {out.errors}."] if errors else []
    lines += ["", "| seconds | memory of the server |", "|--:|--:|"]
    for at in range(11):
        seconds, size = out.memory[at * (len(out.memory) - 1) // 10]
        lines.append(f"| {seconds:.0f} | {size / 1e6:.1f} MB |")
    command = f"python benchmarks/serve.py --clients {asked.clients} --seconds {asked.seconds:g}"
    return "\n".join([*lines, "", f"    {command} --sentences {asked.sentences}", ""])


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="The server under load: sentence scores/s, times, errors, memory.")
    parser.add_argument("--ptb", nargs=2, type=Path, metavar=("TRAIN", "TEST"), help="the texts")
    parser.add_argument("--clients", type=int, default=32, metavar="N", help="that ask at the same time")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="that are measured")
    parser.add_argument("--sentences", type=int, default=1, metavar="N", help="in each request")
    parser.add_argument("--threads", type=int, metavar="N", help="of the server")
    parser.add_argument("--note", default="", metavar="TEXT", help="what else there is to know, for the report")
    parser.add_argument("--quick", action="store_true", help="try the script for a moment, no real numbers")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page there, too")
    asked = parser.parse_args(given)
    asked.ptb = asked.ptb or ptb_texts(parser)
    if asked.quick:
        asked.seconds, asked.clients = 1.0, 4
    return asked


def main(given: Sequence[str] | None = None) -> int:
    """Train, serve, ask, report."""
    asked = arguments(given)
    train, test = asked.ptb
    lines = texts_in(test)
    with tempfile.TemporaryDirectory() as folder:
        NgramLM.fit(train, order=5).save(Path(folder) / "model")
        asked.load_before = load_average()
        gc.collect()
        gc.freeze()  # so that clients do not stop to look through what training left behind
        with served(Path(folder) / "model", threads=asked.threads) as (process, host, port):
            out = asyncio.run(load(process, host, port, [line for line in lines if line.strip()], asked))
    report = page(out, asked)
    sys.stdout.write(report)
    if asked.out is not None:
        with new_file(asked.out) as target:
            target.write_text(report, encoding="utf-8")
    return 0


def texts_in(path: Path) -> list[str]:
    """The lines of a text, packed or not."""
    from modlm.text.sources import Files

    data = b"".join(bytes(block.data[: block.size]) for block in Files([path]).blocks())
    return data.decode().splitlines()


if __name__ == "__main__":
    sys.exit(main())
