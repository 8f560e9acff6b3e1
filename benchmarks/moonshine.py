"""Moonshine, a speech recogniser whose weights come from PyPI, as a `Decoder` for beam searches; run by onnxruntime.

    pip download --no-deps moonshine-voice==0.1.0 useful-moonshine-onnx -d FOLDER, and unzip both there

The first carries encoder and decoder (`moonshine_voice/assets/tiny-en/*.ort`), the second `tokenizer.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import require
from modlm.ground.arrays import Ints, Singles

FIRST, END = 1, 2
RATE = 16_000
TOKENS_PER_SECOND = 6.5  # as its authors cut off what repeats itself


class Moonshine:
    """The two sessions; on one thread, so that times are those of one core."""

    def __init__(self, folder: Path) -> None:
        runtime = require("onnxruntime", extra="speech", purpose="Running the recogniser")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern, options.log_severity_level = False, 4
        assets = folder / "moonshine_voice" / "assets" / "tiny-en"
        self.encoder, self.decoder = (
            runtime.InferenceSession(str(assets / name), options)
            for name in ("encoder_model.ort", "decoder_model_merged.ort")
        )
        self.tokenizer = folder / "moonshine_onnx" / "assets" / "tokenizer.json"
        self.inputs = {one.name: one.shape for one in self.decoder.get_inputs()}
        self.past = [name for name in self.inputs if name.startswith("past")]
        self.steady = [name for name in self.past if ".encoder." in name]  # the same at every step
        self.moving = [name for name in self.past if ".encoder." not in name]

    def encode(self, audio: Singles) -> Singles:
        """(S, H): the encoder's output for 16,000 samples a second."""
        samples = audio[None].astype(np.float32)
        found = self.encoder.run(None, {"input_values": samples, "attention_mask": np.ones(samples.shape, np.int64)})
        hidden_SH: Singles = found[0][0]
        return hidden_SH

    def listen(self, hidden_SH: Singles, samples: int) -> Listening:
        """A decoder for one utterance."""
        return Listening(self, hidden_SH, samples)


class Listening:
    """Caches of the hypotheses of one utterance."""

    def __init__(self, net: Moonshine, hidden_SH: Singles, samples: int) -> None:
        self.net, self.hidden_1SH, self.samples = net, hidden_SH[None], samples
        self.most = int(samples / RATE * TOKENS_PER_SECOND) + 5
        self.cache: dict[str, Any] = {}

    def start(self) -> Singles:
        """Log-probabilities of the first token."""
        length = self.hidden_1SH.shape[1]
        self.cache = {
            name: np.zeros((1, *self.net.inputs[name][1:2], length if name in self.net.steady else 0,
                            *self.net.inputs[name][3:]), np.float32)
            for name in self.net.past
        }  # fmt: skip
        return self._run(np.array([[FIRST]]), self.net.past, first=True)[:, -1]

    def along(self, tokens_T: Ints) -> Singles:
        """(T, J): log-probabilities at each of given tokens, the right ones before it; ends this decoder's work."""
        self.start()
        return self._run(np.concatenate(([FIRST], tokens_T[:-1]))[None], [], first=True)[0]

    def step(self, parents_B: Ints, tokens_B: Ints) -> Singles:
        """Log-probabilities after each token."""
        for name in self.net.moving:
            self.cache[name] = self.cache[name][parents_B]
        for name in self.net.steady:  # every hypothesis hears the same
            have, count = self.cache[name], len(tokens_B)
            self.cache[name] = have[:count] if len(have) >= count else np.repeat(have[:1], count, axis=0)
        return self._run(tokens_B[:, None], self.net.moving, first=False)[:, -1]

    def _run(self, tokens_BT: Ints, wanted: list[str], *, first: bool) -> Singles:
        count = len(tokens_BT)
        feed = {
            "input_ids": tokens_BT, "use_cache_branch": np.array([not first]),
            "encoder_hidden_states": np.repeat(self.hidden_1SH, count, axis=0),
            "encoder_attention_mask": np.ones((count, self.samples), np.int64), **self.cache,
        }  # fmt: skip
        names = ["logits", *(name.replace("past_key_values", "present") for name in wanted)]
        logits_BTJ, *fresh = self.net.decoder.run(names, {name: feed[name] for name in self.net.inputs})
        self.cache.update(zip(wanted, fresh, strict=True))
        logits_BTJ -= logits_BTJ.max(axis=-1, keepdims=True)
        logits_BTJ -= np.log(np.exp(logits_BTJ).sum(axis=-1, keepdims=True))
        found: Singles = logits_BTJ
        return found
