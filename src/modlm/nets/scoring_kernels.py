"""Kernels of scoring: the gates of an LSTM in one pass, and the mixture of a few dense columns."""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Floats, Singles, inlined, kernel

# tanh x = x P(x²) / Q(x²) up to the last digit of single precision where |x| < LARGE, and 1 beyond: Eigen's fit
LARGE = np.float32(7.90531110763549805)
P0, P1, P2 = np.float32(4.89352455891786e-03), np.float32(6.37261928875436e-04), np.float32(1.48572235717979e-05)
P3, P4 = np.float32(5.12229709037114e-08), np.float32(-8.60467152213735e-11)
P5, P6 = np.float32(2.00018790482477e-13), np.float32(-2.76076847742355e-16)
Q0, Q1 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
Q2, Q3 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)
HALF = np.float32(0.5)


@inlined
def tanh(x: np.float32) -> np.float32:
    """tanh in single precision, as code that compilers make vectors of."""
    x = x if x < LARGE else LARGE
    x = x if x > -LARGE else -LARGE
    y = x * x
    above = x * (P0 + y * (P1 + y * (P2 + y * (P3 + y * (P4 + y * (P5 + y * P6))))))
    return above / (Q0 + y * (Q1 + y * (Q2 + y * Q3)))


@inlined
def sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + exp(-x))."""
    return HALF * tanh(HALF * x) + HALF


@kernel
def lstm_gates(gates_BG: Singles, cell_BH: Singles, hidden_BH: Singles) -> None:
    """Moves the cells on and writes the hidden vectors; gates in the order input, forget, candidate, output."""
    units = cell_BH.shape[1]
    for b in range(len(gates_BG)):
        gates, cell, hidden = gates_BG[b], cell_BH[b], hidden_BH[b]
        for h in range(units):
            moved = sigmoid(gates[units + h]) * cell[h] + sigmoid(gates[h]) * tanh(gates[2 * units + h])
            cell[h] = moved
            hidden[h] = sigmoid(gates[3 * units + h]) * tanh(moved)


@kernel
def tanh_of_sums(values_PH: Singles, bias_H: Singles) -> None:
    """tanh of each row plus the bias, in place."""
    for p in range(len(values_PH)):
        row = values_PH[p]
        for h in range(len(row)):
            row[h] = tanh(row[h] + bias_H[h])


@kernel
def mixed_log_probs(logits_PD: Singles, log_probs_PD: Singles, out_P: Floats) -> None:
    """log of the sum of D times the softmax of the logits."""
    for p in range(len(logits_PD)):
        top = logits_PD[p, 0]
        for k in range(1, logits_PD.shape[1]):
            top = max(top, logits_PD[p, k])
        whole, own = 0.0, 0.0
        for k in range(logits_PD.shape[1]):
            weight = np.exp(logits_PD[p, k] - top)
            whole += weight
            own += weight * np.exp(log_probs_PD[p, k])
        out_P[p] = np.log(own / whole)
