"""Losses of the first steps of a tiny hybrid, from the model written out in numpy: `python make_tiny_hybrid.py`.

Nothing is shared with the library. D is a J-by-K matrix, the LSTM a loop, gradients are differences of losses, and Adam
stands as in its paper. Parameters, words and features follow rules that need no random numbers.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

WORDS, DENSE, FEATURES, HIDDEN = 5, 2, 3, 2
STEPS, SENTENCES, UPDATES, RATE = 4, 2, 4, 0.05
SHAPES = {
    "word_vectors": (WORDS + 1, HIDDEN),
    "input_weights": (4 * HIDDEN, FEATURES + HIDDEN),
    "biases": (4 * HIDDEN,),
    "state_weights": (4 * HIDDEN, HIDDEN),
    "weight_KH": (DENSE + WORDS, HIDDEN),
    "bias_K": (DENSE + WORDS,),
}


def wave(*shape: int, start: int = 0) -> np.ndarray:
    """Numbers between -0.5 and 0.5 that look like no others."""
    return 0.5 * np.sin(1.7 * (np.arange(np.prod(shape)) + start) ** 1.5).reshape(shape)


def batch() -> dict[str, np.ndarray]:
    """Contexts (J is `<s>`), words, features, and whole columns of D, one of which gives the first word nothing."""
    words_TB = (np.arange(STEPS * SENTENCES) ** 2 % WORDS).reshape(STEPS, SENTENCES)
    contexts_TB = np.concatenate([np.full((1, SENTENCES), WORDS), words_TB[:-1]])
    raw_TBJD = np.exp(4 * wave(STEPS, SENTENCES, WORDS, DENSE, start=7))
    raw_TBJD[:, :, 0, 0] = 0
    columns_TBJD = raw_TBJD / raw_TBJD.sum(2, keepdims=True)
    features_TBF = wave(STEPS, SENTENCES, FEATURES, start=3)
    return {"words": words_TB, "contexts": contexts_TB, "features": features_TBF, "columns": columns_TBJD}


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def total_nll(parameters: dict[str, np.ndarray], data: dict[str, np.ndarray]) -> float:
    """-log of D times lambda, summed over the batch."""
    hidden = cell = np.zeros((SENTENCES, HIDDEN))
    total = 0.0
    for t in range(STEPS):
        inputs = np.concatenate([data["features"][t], parameters["word_vectors"][data["contexts"][t]]], 1)
        sums = inputs @ parameters["input_weights"].T + hidden @ parameters["state_weights"].T + parameters["biases"]
        take, keep, new, show = np.split(sums, 4, axis=1)
        cell = sigmoid(keep) * cell + sigmoid(take) * np.tanh(new)
        hidden = sigmoid(show) * np.tanh(cell)
        for b in range(SENTENCES):
            scores_K = np.exp(parameters["weight_KH"] @ hidden[b] + parameters["bias_K"])
            matrix_JK = np.concatenate([data["columns"][t, b], np.eye(WORDS)], 1)
            total -= np.log((matrix_JK @ (scores_K / scores_K.sum()))[data["words"][t, b]])
    return float(total)


def gradient(parameters: dict[str, np.ndarray], data: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Central differences, each parameter on its own."""
    slopes, step = np.zeros(SHAPES[name]), 1e-5
    for place in np.ndindex(SHAPES[name]):
        losses = []
        for sign in (1, -1):
            moved = {key: value.copy() for key, value in parameters.items()}
            moved[name][place] += sign * step
            losses.append(total_nll(moved, data))
        slopes[place] = (losses[0] - losses[1]) / (2 * step)
    return slopes


def first_losses() -> list[float]:
    """The loss before each of the first updates by Adam."""
    data = batch()
    parameters = {name: wave(*shape, start=10 * i) for i, (name, shape) in enumerate(SHAPES.items())}
    means = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    squares = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    losses = []
    for update in range(1, UPDATES + 1):
        losses.append(total_nll(parameters, data))
        slopes = {name: gradient(parameters, data, name) for name in SHAPES}
        for name, slope in slopes.items():
            means[name] = 0.9 * means[name] + 0.1 * slope
            squares[name] = 0.999 * squares[name] + 0.001 * slope**2
            mean, square = means[name] / (1 - 0.9**update), squares[name] / (1 - 0.999**update)
            parameters[name] = parameters[name] - RATE * mean / (np.sqrt(square) + 1e-8)
    return losses


if __name__ == "__main__":
    target = Path(__file__).with_name("tiny_hybrid.json")
    target.write_text(json.dumps([round(loss, 8) for loss in first_losses()]) + "\n", encoding="utf-8")
