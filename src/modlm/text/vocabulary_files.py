"""The vocabulary of a folder: `vocabulary.txt`, and `tokenizer.json` beside it when its words are tokens."""

from __future__ import annotations

from modlm.errors import ModlmError
from modlm.store.folder import Folder
from modlm.text.tokens import TOKENIZER, TokenVocabulary, tokenizer_bytes
from modlm.text.vocabulary import VOCABULARY, Vocabulary


def vocabulary_in(folder: Folder, *, what: str) -> Vocabulary:
    """The vocabulary in a folder, which must be the one that `about` speaks of; `what` it belongs to, for errors."""
    try:
        vocabulary = Vocabulary.from_file(folder.file(VOCABULARY), strict=True)
    except ModlmError as error:
        raise folder.damaged(f"{folder.inside}{VOCABULARY}: {error}") from error
    if vocabulary.fingerprint != folder.about.get("vocabulary"):
        raise folder.damaged(f"{folder.inside}{VOCABULARY} is not the vocabulary that the {what} made with")
    if folder.about.get("tokenizer") is None:
        return vocabulary
    try:
        tokens = TokenVocabulary(vocabulary.files()[VOCABULARY], tokenizer_bytes(folder.file(TOKENIZER)))
    except ModlmError as error:
        raise folder.damaged(f"{folder.inside}{TOKENIZER}: {error}") from error
    if tokens.tokenizer_fingerprint != folder.about["tokenizer"]:
        raise folder.damaged(f"{folder.inside}{TOKENIZER} is not the tokenizer that the {what} made with")
    return tokens
