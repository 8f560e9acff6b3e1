"""What several processes gain: words per second of the same run by number of processes and size of batch.

    python benchmarks/processes.py --text TRAIN --valid VALID                 # half a minute each: a look
    python benchmarks/processes.py --text TRAIN --valid VALID --full          # five minutes each, larger batches too

Processes of one machine, one thread each, started by torchrun. Beside the speed stands what a step exchanges: the
gradient of every parameter and five numbers, four bytes each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOOK, FULL = 0.5, 5.0  # minutes
BATCHES, FULL_BATCHES = (512,), (512, 2048, 8192)
NUMBERS = 5  # nll, dense mass, and three wishes: stop, save, time over


def one_run(asked: argparse.Namespace, processes: int, batch_words: int, minutes: float) -> tuple[float, int]:
    """Words a second of training alone, and parameters."""
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command += ["-m", "modlm", "train", asked.preset, "--text", asked.text, "--valid", asked.valid, "--json"]
        command += ["-o", f"{folder}/run", "--device", "cpu", "--minutes", str(minutes)]
        command += ["--set", f"schedule.batch_words={batch_words}", "--set", "schedule.evaluate_every=1000000000"]
        for change in asked.set:
            command += ["--set", change]
        environment = os.environ | {"MODLM_THREADS": "1", "OMP_NUM_THREADS": "1", "MODLM_PROGRESS": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        result = json.loads((Path(folder) / "run" / "result.json").read_text())
    return float(result["words_per_second"]), int(result["parameters"])


def main() -> None:
    """Print one line for each size of batch and number of processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--preset", default="paper/ptb-hybrid")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch-words", type=int, nargs="+")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    parser.add_argument("--full", action="store_true")
    asked = parser.parse_args()
    minutes = asked.minutes or (FULL if asked.full else LOOK)
    print("| batch words | processes | words/s | beside one | MB exchanged a step |\n|--:|--:|--:|--:|--:|")
    for batch_words in asked.batch_words or (FULL_BATCHES if asked.full else BATCHES):
        first = 0.0
        for processes in asked.processes:
            speed, parameters = one_run(asked, processes, batch_words, minutes)
            first = first or speed
            exchanged = 4 * (parameters + NUMBERS) / 1e6 if processes > 1 else 0
            print(f"| {batch_words} | {processes} | {speed:,.0f} | {speed / first:.2f} | {exchanged:.1f} |", flush=True)


if __name__ == "__main__":
    main()
