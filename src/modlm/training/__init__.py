"""Training: configuration, held-out rows, batches, steps, checkpoints and the journal of a run."""
