"""The demo on a text of a few sentences."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import modlm
from modlm.errors import OutputError
from modlm.experiments import demo
from modlm.experiments.demo import HYBRID, NETS, SENTENCE, run_demo
from modlm.experiments.demo_text import DemoText
from modlm.serve.library import open_library
from modlm.smoothing import SMOOTHERS

RNG = np.random.default_rng(8)
WORDS = "return true if the value is a list of this name or".split()
SENTENCES = [" ".join(RNG.choice(WORDS, RNG.integers(2, 9))) for _ in range(120)]
TEXT = DemoText(train=SENTENCES[:100], valid=SENTENCES[100:110], test=SENTENCES[110:])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "demo"


@pytest.mark.filterwarnings("ignore")
def test_the_demo_trains_every_family_and_every_kind_and_saves_the_best(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODLM_THREADS", "1")  # nets repeat to the bit with a fixed number
    said: list[str] = []
    result = run_demo(place, say=said.append, text=TEXT)
    labels = [row.label for row in result.rows]
    assert {*SMOOTHERS, *NETS} <= set(labels) and any("static" in label for label in labels)
    assert [label for label in labels if label in demo.KINDS] == ["modified-kneser-ney", *NETS]
    assert result.explained.label == HYBRID
    assert [step.word for step in result.explanation] == [*SENTENCE.split(), "</s>"]
    assert all(sum(step.shares.values()) == pytest.approx(1) for step in result.explanation)
    assert result.best.valid == min(row.valid for row in result.rows if row.label in demo.KINDS)
    assert all(any(line.startswith(label) for line in said) for label in labels)
    best = modlm.load(place / result.folder)
    assert best.perplexity(place / "text" / "test.txt").perplexity == pytest.approx(result.best.test, rel=1e-6)
    page = (place / "report.html").read_text(encoding="utf-8")
    assert all(label in page for label in labels) and "<svg" in page and "return true if" in page
    kept = ["hybrid", "interpolated", "neural", "ngram", "report.html", "text"]
    assert sorted(path.name for path in place.iterdir()) == kept
    for run in kept[:3]:  # as a run leaves it, but for its checkpoints; its texts are where it says
        assert {"config.toml", "journal.jsonl", "model", "result.json"} <= {
            path.name for path in (place / run).iterdir()
        }
        assert str(place / "text" / "train.txt") in (place / run / "config.toml").read_text(encoding="utf-8")
        assert not (place / run / "checkpoints").exists()
    library = open_library([str(place)], [])
    assert (list(library.models), list(library.runs)) == (kept[:4], kept[:3])
    assert "Where the probabilities of a sentence come from" in page

    again = run_demo(place, say=said.append, text=TEXT)  # an earlier demo may be replaced
    assert [row.test for row in again.rows] == [row.test for row in result.rows]


def test_a_net_is_scored_with_the_threads_that_its_run_ended_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    import modlm.training.run

    def trained(config: object, folder: Path) -> SimpleNamespace:
        modlm.NgramLM.fit(TEXT.train, 2).save(folder / "model")
        (folder / "timings.jsonl").write_text('{"threads": 2}\n{"threads": 1}\n', encoding="utf-8")
        return SimpleNamespace(model=folder / "model")

    monkeypatch.setattr(modlm.training.run, "train", trained)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        rows = demo.trained_nets(TEXT.write(tmp_path / "text"), tmp_path / "scratch", tmp_path, print)
        next(rows)
        assert torch.get_num_threads() == 1
        list(rows)
        assert torch.get_num_threads() == 2  # the next run chooses for itself
    finally:
        torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")
def test_without_torch_the_demo_says_what_is_missing_and_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    said: list[str] = []
    result = run_demo(tmp_path / "demo", say=said.append, text=TEXT)
    assert any("'.[neural]'" in line for line in said)
    assert [row.label for row in result.rows if row.label in demo.KINDS] == ["modified-kneser-ney"]
    assert result.explained is result.best and result.folder == "ngram"


def test_a_folder_that_is_no_demo_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(OutputError, match="no earlier demo"):
        run_demo(tmp_path, say=print, text=TEXT)
    assert (tmp_path / "precious").read_text() == "mine"
