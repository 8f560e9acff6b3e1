"""Causal language models of Hugging Face `transformers` as columns of D, beside counts over the same tokens.

`causal_lm` runs such a model over texts, `lm_block` makes it a column with features, `adapt` tunes or trains lambda
with the model frozen, and `processor` puts the mixture into `generate()`. The adapted model is an ordinary
`Mixture`, so `modlm.load` and every command take it.
"""
