"""Commands open no connection and ask for no name. They run where both are denied and every attempt is written down.

Python's own sockets are denied by an audit hook, which sees them whoever opens them. Compiled libraries could go past
it: where the system lets us (Linux, `unshare`), there is no network in the process at all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiny_runs import write_texts

DENYING = '''
import ipaddress, os, sys

def local(address):
    """A name in the file system, or the machine itself."""
    if not isinstance(address, tuple):
        return True
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return False

def hook(event, arguments):
    names = event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
    away = event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg") and not local(arguments[1])
    if names or away:
        with open(os.environ["MODLM_TEST_ATTEMPTS"], "a") as file:
            file.write(f"{event} {arguments[1:] if away else arguments}\\n")
        raise PermissionError(f"no network in this test: {event}")

sys.addaudithook(hook)
'''
RUNNER = """
import json, sys
from modlm.cli.app import run

for command in json.loads(sys.argv[1]):
    code = run(command)
    if code:
        sys.exit(f"{command} ended with {code}")
"""


def without_network() -> list[str]:
    """What to put before a command so that it has no network; nothing where that is not possible."""
    if shutil.which("unshare") is None:
        return []
    prefix = ["unshare", "--map-root-user", "--net"]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else []


def attempts(folder: Path, script: str, *arguments: str) -> tuple[str, list[str]]:
    """Run a script; its output on standard error if it failed, and what it tried to reach."""
    (folder / "deny").mkdir(exist_ok=True)
    (folder / "deny" / "sitecustomize.py").write_text(DENYING)
    (folder / "attempts").write_text("")
    settings = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "deny"), *filter(None, sys.path)]),
        "MODLM_TEST_ATTEMPTS": str(folder / "attempts"),
        "MODLM_CACHE": str(folder / "cache"),
        "MODLM_THREADS": "1",
    }
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        settings.pop(name, None)  # nobody has asked for silence: it is the rule
    command = [*without_network(), sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)
    return done.stderr if done.returncode else "", (folder / "attempts").read_text().splitlines()


def check(folder: Path, commands: Sequence[Sequence[str]]) -> None:
    failed, tried = attempts(folder, RUNNER, json.dumps(commands))
    assert (failed, tried) == ("", [])


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def test_a_connection_would_be_noticed(tmp_path: Path) -> None:
    failed, tried = attempts(tmp_path, "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)")
    assert "no network in this test" in failed
    assert tried[0].startswith(("socket.getaddrinfo", "socket.connect"))


def test_counting_and_querying_reach_for_nothing(tmp_path: Path) -> None:
    write_texts(tmp_path)
    check(
        tmp_path,
        words("""
            ngram train.txt -o model --order 3
            eval model test.txt
            score model test.txt
            next model w1
            generate model --seed 1
            convert model model.arpa
            inspect model
            reproduce --list
            reproduce all --redraw -o docs
        """),
    )


def test_training_reaches_for_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs modlm[neural]")
    write_texts(tmp_path)
    check(
        tmp_path,
        words("""
            train --text train.txt --valid valid.txt --test test.txt -o run --hidden 4 --order 2 --epochs 1 --device cpu
            eval run test.txt
            next run w1
            train --resume -o run --epochs 2 --device cpu
        """),
    )


def test_adapting_a_model_of_hugging_face_reaches_for_nothing(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs modlm[neural]")
    transformers = pytest.importorskip("transformers", reason="needs modlm[hf]")
    from small_tokenizers import SENTENCES, byte_level

    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "hf")
    (tmp_path / "hf" / "tokenizer.json").write_bytes(byte_level())
    for name in ("train", "valid"):
        (tmp_path / f"{name}.txt").write_text("\n".join(SENTENCES * 3) + "\n")
    check(
        tmp_path,
        words("""
            adapt --hf hf --text train.txt --valid valid.txt -o adapted --order 2 --hidden 4 --epochs 1 --window 60
            eval adapted valid.txt
        """),
    )
