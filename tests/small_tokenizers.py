"""Tokenizers made on the spot from a few sentences, of the kinds that are in use."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SENTENCES = (
    "the company said it would buy the bank",
    "the bank said the company would not buy it",
    "shares of the company rose 5.2 percent, the bank said",
    "the company's shares fell",
)


def byte_level(*, tokens: int = 300, special: Sequence[str] = ("<|endoftext|>",)) -> bytes:
    """As GPT-2's: every byte has a token, so nothing is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=tokens, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer.to_str().encode()


def word_pieces() -> bytes:
    """As BERT's: no token for the line end, `[UNK]` for letters that were never seen, `[SEP]` behind a text."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=["[UNK]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer.to_str().encode()


def pieces_with_white_space() -> bytes:
    """Some tokens hold white space or are called as our reserved words are, and an id is left out."""
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4, "\n": 5, " ": 6, "a b": 7}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    return tokenizer.to_str().encode()
