"""KenLM's binary files as bytes: what is refused with which words, and that no damage brings the process down."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.kenlm_files import ALL, EXACT, FOLDER, SENTENCES, arpa_of

import modlm
import modlm.compat.kenlm as compat
from modlm.errors import InputError, ModlmError
from modlm.formats.kenlm import binary_kernels, open_binary
from modlm.formats.kenlm.binary import END_HASH, FIXED, SANITY, START_HASH
from modlm.model.kenlm import KenlmModel

HEADER = len(SANITY) + FIXED.size


def refused(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(InputError) as raised:
        modlm.load(tmp_path / "x")
    return str(raised.value)


def with_header(name: str, **changes: float) -> bytes:
    data = (FOLDER / name).read_bytes()
    names = ("order", "multiplier", "kind", "words", "version")
    fields = dict(zip(names, FIXED.unpack(data[len(SANITY) : HEADER]), strict=True))
    return data[: len(SANITY)] + FIXED.pack(*(fields | changes).values()) + data[HEADER:]


def test_hashes_are_murmurs() -> None:
    """MurmurHash64A over whole eights and a rest, by big integers."""

    def murmur(data: bytes) -> int:
        m, all_bits = 0xC6A4A7935BD1E995, (1 << 64) - 1
        hashed = len(data) * m & all_bits
        for at in range(0, len(data) - 7, 8):
            chunk = int.from_bytes(data[at : at + 8], "little") * m & all_bits
            hashed = (hashed ^ ((chunk ^ chunk >> 47) * m & all_bits)) * m & all_bits
        if rest := data[len(data) // 8 * 8 :]:
            hashed = (hashed ^ int.from_bytes(rest, "little")) * m & all_bits
        hashed = (hashed ^ hashed >> 47) * m & all_bits
        return hashed ^ hashed >> 47

    for word in (b"<s>", b"</s>", b"<unk>", b"", b"12345678", b"123456789abcdef", b"x" * 100):
        assert int(binary_kernels.murmur(np.frombuffer(bytearray(word), np.uint8), 0, len(word))) == murmur(word)
    assert (murmur(b"<s>"), murmur(b"</s>")) == (int(START_HASH), int(END_HASH))


def test_structures_are_told_apart() -> None:
    said = {
        name: open_binary(FOLDER / name).described() for name in ("o5.probing", "o3.rest", "o5.trie-a", "o5.trie-qa")
    }
    assert said == {
        "o5.probing": "probing", "o3.rest": "probing with rest costs",
        "o5.trie-a": "trie with array-compressed pointers",
        "o5.trie-qa": "quantised trie with array-compressed pointers (-q 6 -b 7)",
    }  # fmt: skip


def test_what_is_wrong_is_said_with_what_was_found(tmp_path: Path) -> None:
    good = (FOLDER / "o5.trie").read_bytes()
    newer = good.replace(b"version 5", b"version 6", 1)
    assert "'format version 6'" in refused(tmp_path, newer)
    assert "did not finish" in refused(tmp_path, good.replace(b"format version 5\n", b"incomplete\n", 1))
    assert "another kind of machine" in refused(tmp_path, good[:56] + struct.pack(">3f", 0, 1, -0.5) + good[68:])
    assert "structure 9" in refused(tmp_path, with_header("o5.trie", kind=9))
    assert "version 7" in refused(tmp_path, with_header("o5.trie", version=7))
    assert "order 1" in refused(tmp_path, with_header("o5.trie", order=1))
    assert "multiplier 0.5" in refused(tmp_path, with_header("o5.probing", multiplier=0.5))
    assert "truncated" in refused(tmp_path, good[:110])
    size = open_binary(FOLDER / "o5.trie").words_at
    assert f"{size - 1:,} bytes, but its header asks for at least {size:,}" in refused(tmp_path, good[: size - 1])
    assert "but 18 are there" in refused(tmp_path, good[:-5])
    quantised = (FOLDER / "o5.trie-q").read_bytes()
    place = quantised.index(bytes((2, 4, 3)), HEADER)
    assert "quantisation of version 3" in refused(tmp_path, quantised[:place] + b"\3" + quantised[place + 1 :])


def test_a_file_of_another_kind_is_no_binary(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF" + bytes(200))
    with pytest.raises(InputError, match="no KenLM binary"):
        open_binary(tmp_path / "x")
    with pytest.raises(InputError, match="cannot be read"):
        open_binary(tmp_path / "none")


@pytest.mark.parametrize("name", ALL)
def test_every_truncation_is_refused(name: str, tmp_path: Path) -> None:
    data = (FOLDER / name).read_bytes()
    end = open_binary(FOLDER / name).words_at
    for size in {*range(50, 200, 7), *range(200, end, max(1, end // 25)), end - 1}:
        refused(tmp_path, data[:size])


def ask_everything(path: Path) -> None:
    """Whatever can be asked of a file."""
    model = modlm.load(path)
    assert isinstance(model, KenlmModel)
    model.score_batch(SENTENCES[:20])
    states = model.start(2)
    for word in (2, 3, 0, 1):
        states, _ = model.advance(states, np.array([word, word + 1], np.uint32))
    model.distributions(states)
    other = compat.Model(str(path))
    before, after = compat.State(), compat.State()
    for word in ("nila", "dafe", "zork", "nila", "<s>"):
        other.BaseScore(before, word, after)
        before, after = after, before
    other.score(SENTENCES[1]), list(other.full_scores(SENTENCES[2]))
    if model.binary.is_trie and model.binary.has_words:
        model.as_ngram()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore")  # numbers out of damaged bytes overflow
def test_damaged_bytes_give_numbers_or_a_message_and_never_a_crash(name: str, tmp_path: Path) -> None:
    data, rng, outcomes = (FOLDER / name).read_bytes(), random.Random(name), Counter[str]()
    for _ in range(int(os.environ.get("MODLM_DAMAGED_FILES", "60"))):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 3, 30))):
            at = (
                rng.randrange(len(SANITY), len(data)) if rng.random() < 0.9 else rng.randrange(len(SANITY), HEADER + 40)
            )
            damaged[at] = rng.choice((0, 255, rng.randrange(256), damaged[at] ^ 1 << rng.randrange(8)))
        (tmp_path / "x").write_bytes(damaged)
        try:
            ask_everything(tmp_path / "x")
            outcomes["read"] += 1
        except (ModlmError, OSError) as error:
            outcomes[type(error).__name__] += 1
    assert outcomes["read"] > 0, outcomes


@pytest.mark.skipif("KENLM_BIN" not in os.environ, reason="KENLM_BIN does not name the folder with KenLM's programs")
@pytest.mark.parametrize("name", [name for name in EXACT if name.startswith("o5") and "-v" not in name])
def test_what_build_binary_makes_today_is_read(name: str, tmp_path: Path) -> None:
    options = {"o5.probing": ["probing"], "o5.trie": ["trie"], "o5.trie-a": ["-a", "64", "trie"]}[name]
    program = Path(os.environ["KENLM_BIN"]) / "build_binary"
    subprocess.run([program, *options, arpa_of(name), tmp_path / "new"], check=True, capture_output=True)
    assert modlm.load(tmp_path / "new").score("nila dafe") == modlm.load(FOLDER / name).score("nila dafe")
