"""A frozen causal language model over texts: log P of each token, and a few numbers about the whole distribution.

Texts are flat ids of ours, `<s> t … </s>`. The model reads its own ids: a start token, then the tokens of one line, or
of as many neighbouring lines as its window holds (`context = "document"`). `</s>` is its line end, `<s>` it never sees.
Windows may overlap: then each token but the first ones has at least so many before it, and what overlaps is read twice.
"""

import contextlib
import inspect
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from modlm.blocks.block import NOTHING
from modlm.errors import ConfigError, InputError, VocabularyError, require
from modlm.ground.arrays import Ids, Ints, Singles
from modlm.ground.progress import watched
from modlm.nets.config import CONTEXTS, one_of
from modlm.text.tokens import TokenVocabulary, tokenizer_bytes
from modlm.text.vocabulary import END

FEATURES = ("lm max log prob", "lm entropy", "lm gap")
POSITIONS = 512  # positions whose whole distributions are in memory at a time, padding counted
WINDOW = 512
DTYPES = ("float32", "bfloat16")
GAP = 20.0  # where the gap is cut off: a token that is as good as certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the model reads a text."""

    context: str = "document"
    """`document`: as many lines before as fit into the window; `sentence`: each line alone."""
    window: int = WINDOW
    """Tokens that it sees at most, the start token among them."""
    hidden: bool = False
    """Whether its last hidden vector is a feature, too."""
    overlap: int = 0
    """Tokens at the end of a window that are read again at the beginning of the next; 0: windows are of whole lines."""

    def __post_init__(self) -> None:
        one_of("context", self.context, CONTEXTS)
        if self.window < 2:
            raise ConfigError(f"The window must hold at least 2 tokens, but has {self.window}.")
        if not 0 <= self.overlap < self.window or (self.overlap and self.context == "sentence"):
            raise ConfigError(
                f"Windows of {self.window} tokens cannot overlap by {self.overlap}. Take less, and 0 for lines alone."
            )


class CausalLm:
    """A `transformers` model with its tokens as our vocabulary; nothing in it is ever trained."""

    def __init__(self, model: Any, vocabulary: TokenVocabulary, *, start: int | None = None) -> None:
        """`start` is the token id before a text: by default what the tokenizer puts there, or the line end."""
        self.model = model.eval()
        self.vocabulary = vocabulary
        self.size = int(model.get_output_embeddings().weight.shape[0])
        if len(vocabulary) != self.size or (vocabulary.theirs < 0).any():  # else our columns are proper over its ids
            raise VocabularyError(
                f"The model predicts {self.size:,} ids, but its tokenizer makes a vocabulary of {len(vocabulary):,}, "
                f"{np.count_nonzero(vocabulary.theirs < 0)} of which it has no id for. Use the model's own tokenizer; "
                f"it needs a special token, or an unknown one, besides the one that ends lines."
            )
        first = vocabulary.first_token() if start is None else start
        self.start = int(vocabulary.theirs[END]) if first is None else first
        self.units = int(model.config.get_text_config().hidden_size)
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.longest = int(longest) if longest else 1 << 30
        self._skips = "logits_to_keep" in inspect.signature(model.forward).parameters

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        gguf: str = "",
        start: int | None = None,
        device: str = "cpu",
        dtype: str = DTYPES[0],
    ) -> Self:
        """From a folder on this machine (nothing is downloaded), whose weights may be a GGUF file in it."""
        place = Path(folder)
        one_of("dtype", dtype, DTYPES)
        if not place.is_dir() or (gguf and not (place / gguf).is_file()):
            raise InputError("there is no such model folder or GGUF file. Nothing is downloaded.", path=place / gguf)
        if not gguf and not (place / "config.json").exists() and (found := sorted(place.glob("*.gguf"))):
            raise InputError(
                f'there is no config.json, but {found[0].name}. Name the file: gguf="{found[0].name}".', path=place
            )
        if gguf:
            require("gguf", extra="gguf", purpose="Reading a GGUF file")
            start = gguf_start(place / gguf) if start is None else start
        model = read("AutoModelForCausalLM", place, gguf, what="a causal language model", dtype=torch.float32)
        size = int(model.get_output_embeddings().weight.shape[0])
        vocabulary = TokenVocabulary.from_tokenizer(tokenizer_of(place, gguf), size=size)
        return cls(model.to(device, getattr(torch, dtype)), vocabulary, start=start)

    def features(self, reading: Reading) -> tuple[str, ...]:
        return FEATURES + (tuple(f"lm hidden {unit}" for unit in range(self.units)) if reading.hidden else ())

    def sequences(self, ids: Ids, reading: Reading) -> list[Ints]:
        """The places in a text whose tokens the model predicts in one go, for each stretch that it reads at once."""
        limit = min(reading.window, self.longest)
        if reading.overlap:
            places = np.flatnonzero(ids != self.vocabulary.start)
            cuts = [0, *range(limit, len(places), limit - self._overlap(reading)), len(places)]
            return [places[low:high] for low, high in pairwise(cuts) if low < high]
        starts = np.append(np.flatnonzero(ids == self.vocabulary.start), len(ids))
        found: list[Ints] = []
        open_ = np.zeros(0, np.int64)
        for begin, end in pairwise(starts):
            places = np.arange(begin + 1, end)
            if reading.context == "sentence" or len(open_) + len(places) > limit:
                found += [open_] if len(open_) else []
                pieces = [places[at : at + limit] for at in range(0, len(places), limit)]
                found += pieces[:-1]
                open_ = pieces[-1]
            else:
                open_ = np.concatenate((open_, places))
        return [*found, open_] if len(open_) else found

    @torch.inference_mode()
    def along(self, ids: Ids, sequences: Sequence[Ints], reading: Reading) -> Singles:
        """(P, 1 + F): log P and features at the places of the sequences, one behind the other."""
        theirs = [self.vocabulary.theirs[ids[places]] for places in sequences]
        before = [self.vocabulary.theirs[self._before(ids, places[0], reading)] for places in sequences]
        ends = np.cumsum([0, *map(len, theirs)])
        out = np.empty((ends[-1], 1 + len(self.features(reading))), np.float32)
        order = sorted(range(len(theirs)), key=lambda number: -len(theirs[number]))
        while order:
            together = max(1, POSITIONS // len(theirs[order[0]]))
            batch, order = order[:together], order[together:]
            rows = [np.concatenate(([self.start], before[number], theirs[number][:-1])) for number in batch]
            for row, places, log_probs_TV, features_TF in self._read(rows, [len(theirs[n]) for n in batch], reading):
                own_T = torch.from_numpy(theirs[batch[row]][places]).to(log_probs_TV.device)
                values_TX = torch.cat([log_probs_TV.gather(1, own_T[:, None]), features_TF], dim=1)
                out[ends[batch[row]] :][places] = values_TX.cpu().numpy()
        return out

    def _before(self, ids: Ids, place: int, reading: Reading) -> Ids:
        """The tokens that a window which predicts from `place` on reads again."""
        begun = ids[:place]
        known: Ids = begun[begun != self.vocabulary.start]
        return known[len(known) - min(len(known), self._overlap(reading)) :]

    def _overlap(self, reading: Reading) -> int:
        """At most half of what the model can see."""
        return min(reading.overlap, min(reading.window, self.longest) // 2)

    @torch.inference_mode()
    def after(self, windows_BC: Ids, reading: Reading) -> tuple[Singles, Singles]:
        """Whole distributions (B, J) over our ids and features (B, F) after windows of our ids."""
        limit = min(reading.window, self.longest) - 1
        probs_BJ = np.empty((len(windows_BC), len(self.vocabulary)), np.float32)
        features_BF = np.empty((len(windows_BC), len(self.features(reading))), np.float32)
        for row, window in enumerate(windows_BC):
            known = window[(window != NOTHING) & (window != self.vocabulary.start)][-limit:]
            tokens = np.append(self.start, self.vocabulary.theirs[known])
            ((_, _, log_probs_1V, features_1F),) = self._read([tokens], [1], reading)
            features_BF[row] = features_1F[0].cpu().numpy()
            probs_BJ[row] = log_probs_1V[0].exp().cpu().numpy()[self.vocabulary.theirs]
        return probs_BJ, features_BF

    def _read(
        self, rows: Sequence[Ints], kept: Sequence[int], reading: Reading
    ) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
        """After the last `kept` ids of each row, at most POSITIONS at a time: log P of every id, and features.

        With them come the number of the row and the places among those that are kept.
        """
        lengths = [len(row) for row in rows]
        filled_BT = np.full((len(rows), max(lengths)), self.start, np.int64)
        for filled_T, row in zip(filled_BT, rows, strict=True):
            filled_T[: len(row)] = row
        mask_BT = np.arange(max(lengths)) < np.array(lengths)[:, None]
        ids_BT, seen_BT = (
            torch.from_numpy(array.astype(np.int64)).to(self.model.device) for array in (filled_BT, mask_BT)
        )
        skipped = min(length - some for length, some in zip(lengths, kept, strict=True)) if self._skips else 0
        options = {"logits_to_keep": max(lengths) - skipped} if skipped else {}
        output = self.model(
            input_ids=ids_BT, attention_mask=seen_BT, use_cache=False, output_hidden_states=reading.hidden, **options
        )
        for number, (length, some) in enumerate(zip(lengths, kept, strict=True)):
            for low in range(0, some, POSITIONS):
                high = min(low + POSITIONS, some)
                places = slice(length - some + low, length - some + high)
                logits_TV = output.logits[number, places.start - skipped : places.stop - skipped]
                log_probs_TV = torch.log_softmax(logits_TV.float(), dim=-1)
                features = [distribution_features(log_probs_TV)]
                if reading.hidden:
                    features.append(output.hidden_states[-1][number, places].float())
                yield number, slice(low, high), log_probs_TV, torch.cat(features, dim=1)


def distribution_features(log_probs_PV: Tensor) -> Tensor:
    """(P, 3): the highest log probability, the entropy in nats, and how far the second is behind the first."""
    best_P2 = log_probs_PV.topk(2, dim=-1).values
    entropy_P = -(log_probs_PV.exp() * log_probs_PV.clamp(min=-1e4)).sum(dim=-1)  # 0 log 0 is 0
    gap_P = (best_P2[:, 0] - best_P2[:, 1]).clamp(max=GAP)
    return torch.stack([best_P2[:, 0], entropy_P, gap_P], dim=1)


def read(kind: str, folder: Path, gguf: str, *, what: str, **options: Any) -> Any:
    """What a class of `transformers` finds in a folder."""
    transformers = require("transformers", extra="hf", purpose="A causal language model")
    options |= {"gguf_file": gguf} if gguf else {}
    quiet = contextlib.nullcontext() if watched() else contextlib.redirect_stderr(io.StringIO())
    try:
        with quiet:  # of progress bars, which are drawn whoever watches; what goes wrong is raised
            return getattr(transformers, kind).from_pretrained(folder, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(f"transformers cannot read {what} here: {error}", path=folder) from error


def gguf_start(file: Path) -> int | None:
    """The token that a GGUF file asks for in front of every text, if it does; tokenizers read from it leave it out."""
    fields = require("gguf", extra="gguf", purpose="A model from a GGUF file").GGUFReader(file).fields
    asked = fields.get("tokenizer.ggml.add_bos_token")
    return int(fields["tokenizer.ggml.bos_token_id"].contents()) if asked and asked.contents() else None


def tokenizer_of(folder: Path, gguf: str) -> bytes:
    """The `tokenizer.json` of a model folder, made if it has another kind of tokenizer."""
    if (folder / "tokenizer.json").is_file():
        return tokenizer_bytes(folder)
    backend = getattr(read("AutoTokenizer", folder, gguf, what="a tokenizer"), "backend_tokenizer", None)
    if backend is None:
        raise InputError("its tokenizer has no tokenizer.json form (it is a slow one).", path=folder)
    text: str = backend.to_str()
    return text.encode()
