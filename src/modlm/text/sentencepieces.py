"""SentencePiece `.model` files as the `tokenizer.json` that says the same: all else knows one kind of tokenizer."""

from __future__ import annotations

from typing import Any

from modlm.errors import InputError, require

PIECE, BPE, UNIGRAM, BYTE = "▁", 2, 1, 6


def tokenizer_json(data: bytes) -> bytes:
    """The bytes of a `tokenizer.json` that splits texts as the SentencePiece model does: unigram or BPE."""
    layout = require("sentencepiece.sentencepiece_model_pb2", extra="sentencepiece", purpose="A SentencePiece model")
    tokenizers = require("tokenizers", extra="sentencepiece", purpose="A SentencePiece model")
    proto = layout.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:  # protobuf's own
        raise InputError(f"This is not a SentencePiece model: {error}.") from error
    trainer, normal = proto.trainer_spec, proto.normalizer_spec
    if not proto.pieces or trainer.model_type not in (UNIGRAM, BPE):
        raise InputError("This SentencePiece model is neither unigram nor BPE, the two kinds that can be read.")
    tokenizer = tokenizers.Tokenizer(_model(tokenizers.models, proto))
    special = [piece.piece for piece in proto.pieces if piece.type in (2, 3)]  # unknown and control
    tokenizer.add_special_tokens([tokenizers.AddedToken(name, special=True, normalized=False) for name in special])
    steps = [tokenizers.normalizers.Precompiled(normal.precompiled_charsmap)] if normal.precompiled_charsmap else []
    if normal.remove_extra_whitespaces:
        steps += [tokenizers.normalizers.Strip(), tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " ")]
    tokenizer.normalizer = tokenizers.normalizers.Sequence(steps)
    before = "always" if normal.add_dummy_prefix else "never"
    split = trainer.split_by_whitespace or trainer.model_type == UNIGRAM
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(PIECE, prepend_scheme=before, split=split)
    tokenizer.decoder = tokenizers.decoders.Metaspace(PIECE, prepend_scheme=before)
    return bytes(tokenizer.to_str().encode())


def _model(models: Any, proto: Any) -> Any:
    pieces, trainer = [(piece.piece, piece.score) for piece in proto.pieces], proto.trainer_spec
    if trainer.model_type == UNIGRAM:
        return models.Unigram(pieces, unk_id=trainer.unk_id, byte_fallback=trainer.byte_fallback)
    ids = {piece: place for place, (piece, _) in enumerate(pieces)}
    merges = [
        (-score, place, piece[:cut], piece[cut:])
        for place, (piece, score) in enumerate(pieces)
        for cut in range(1, len(piece))
        if piece[:cut] in ids and piece[cut:] in ids and proto.pieces[place].type not in (2, 3, BYTE)
    ]
    joined = [(left, right) for _, _, left, right in sorted(merges, key=lambda one: one[:2])]
    unknown = pieces[trainer.unk_id][0]
    return models.BPE(ids, joined, unk_token=unknown, fuse_unk=True, byte_fallback=trainer.byte_fallback)
