"""The benchmark of speech runs with a recogniser of random opinions: settings chosen on dev, nothing decoded twice."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import speech
from tests.integrations.fake_recogniser import FakeDecoder

pytest.importorskip("tokenizers", reason="needs modlm[hf]")

from small_tokenizers import SENTENCES, byte_level


class Listening(FakeDecoder):
    """Ends by the recogniser's own token."""

    most = 12

    def after(self, path: tuple[int, ...]) -> np.ndarray:
        """Likelier to end the longer it gets."""
        row = super().after(path)
        row[speech.END] += len(path)
        return row - np.log(np.exp(row).sum())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(byte_level())
    listen = lambda hidden, samples: Listening(300, seed=samples)  # noqa: E731
    fake = SimpleNamespace(tokenizer=tmp_path / "tokenizer.json", listen=listen)
    monkeypatch.setattr(speech, "Moonshine", lambda folder: fake)
    (tmp_path / "work" / "encoded").mkdir(parents=True)
    rows = []
    for place in range(12):
        text, part = SENTENCES[place % 4], speech.PARTS[place % 2]
        rows.append(json.dumps({"id": f"u{place}", "audio": "none.flac", "text": text, "part": part}))
        np.savez(tmp_path / "work" / "encoded" / f"u{place}.npz", hidden=np.zeros((1, 1)), samples=place, seconds=0.5)
    (tmp_path / "utterances.jsonl").write_text("\n".join(rows))
    text = "\n".join([*SENTENCES, ""])
    (tmp_path / "general.txt").write_text(text)
    (tmp_path / "domain.txt.xz").write_bytes(lzma.compress(text.encode()))
    return tmp_path


def run(folder: Path, *more: str) -> list[dict]:
    names = {"--recogniser": folder, "--work": folder / "work", "--data": folder, "--general": folder / "general.txt"}
    command = [str(word) for pair in names.items() for word in pair]
    assert speech.main([*command, "--order", "3", "--json", str(folder / "out.json"), *more]) == 0
    return json.loads((folder / "out.json").read_text())


def test_every_system_is_tuned_on_dev_and_decoded_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = run(folder)
    assert [row["system"] for row in rows] == list(speech.SYSTEMS)
    assert [row["tried"] for row in rows] == [len(settings) for settings in speech.SYSTEMS.values()]
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(printed) == 2 + len(speech.SYSTEMS)
    for row in rows:
        assert row["interval"][0] <= row["test"] <= row["interval"][1] and row["words"] > 0
        assert ("fewer_than_beam" in row) == (row["system"] not in ("greedy", "beam"))
        assert (row["fusion_share"] > 0) == (row["system"] not in ("greedy", "beam"))
    decoded = sorted((folder / "work" / "decoded").iterdir())
    on_test = [path.name for path in decoded if path.name.startswith("test")]
    assert len(on_test) == len(speech.SYSTEMS) and len(decoded) == len(on_test) + sum(row["tried"] for row in rows)
    before = [path.stat().st_mtime_ns for path in decoded]
    assert run(folder) == rows
    assert [path.stat().st_mtime_ns for path in sorted((folder / "work" / "decoded").iterdir())] == before


def test_lodr_asks_for_a_text(folder: Path) -> None:
    names = {"--recogniser": folder, "--work": folder / "work", "--data": folder}
    with pytest.raises(speech.ConfigError, match="--general"):
        speech.main([*(str(word) for pair in names.items() for word in pair), "--only", "LODR"])


def test_what_a_larger_set_would_need() -> None:
    """With differences of 1 and 3 in turns: mean 2, deviation 1 (nearly), so (2.8 / 2) squared, rounded up."""
    lengths = {"test": np.full(1000, 10)}
    base = speech.Measured("beam", {}, 1, {"test": np.full(1000, 5)}, lengths, 0.0)
    one = speech.Measured("new", {}, 1, {"test": np.tile([4, 2], 500)}, lengths, 0.0)
    assert speech.needed(one, base) == 2
    assert one.rate("test") == pytest.approx(0.3)


def test_texts_are_compared_without_case_and_signs() -> None:
    assert speech.plain("The well-known DEBTORS' side, e.g. 1455;") == "the well known debtors' side e g"
