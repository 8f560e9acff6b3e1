"""The vocabulary of a folder: `vocabulary.txt`, and `tokenizer.json` beside it when its words are tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from modlm.errors import ModlmError
from modlm.formats.folder import Folder
from modlm.text.tokens import TOKENIZER, TokenVocabulary
from modlm.text.vocabulary import VOCABULARY, Vocabulary


def vocabulary_in(folder: Folder, about: Mapping[str, Any], *, inside: str = "", what: str) -> Vocabulary:
    """The vocabulary in a folder or in a folder inside it, which must be the one that `about` speaks of.

    `what` is what else the folder holds, for errors.
    """
    try:
        vocabulary = Vocabulary.from_file(folder.file(inside + VOCABULARY), strict=True)
    except ModlmError as error:
        raise folder.damaged(f"{inside}{VOCABULARY}: {error}") from error
    if vocabulary.fingerprint != about.get("vocabulary"):
        raise folder.damaged(f"{inside}{VOCABULARY} is not the vocabulary that the {what} made with")
    if about.get("tokenizer") is None:
        return vocabulary
    tokens = TokenVocabulary(vocabulary.files()[VOCABULARY], folder.file(inside + TOKENIZER).read_bytes())
    if tokens.tokenizer_fingerprint != about["tokenizer"]:
        raise folder.damaged(f"{inside}{TOKENIZER} is not the tokenizer that the {what} made with")
    return tokens
