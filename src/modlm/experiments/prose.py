"""From documentation to sentences: markup, code, tables and doctests out, one space between tokens.

In: a docstring, a comment or a page of documentation as plain text. Out: its sentences, lower-case, one space between
tokens. Strict rather than complete: a sentence with anything left that looks like code is dropped whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BOILERPLATE = frozenset("copyright copyrighted disclaims hereby liable warranties warranty".split())
CLOSING = frozenset(". ! ? : ...".split())
PUNCTUATION = frozenset(". , ; : ? ! ( ) -- ...".split())
MIN_TOKENS, MAX_TOKENS = 5, 80
FUNCTION_WORDS = frozenset(
    "a an and any are as at be been but by can for from has have if in into is it its may must no not of on or "
    "should so that the their then there these this to was we when which will with you".split()
)
ABBREVIATION = re.compile(r"\b((?i:e\.g|i\.e|vs|cf|mr|dr|incl|approx|resp)|(?:etc|al)(?=\.(?:\)|,? [^A-Z])))\.")
HELD = "\ue000"  # stands for a full stop that ends no sentence; a private character, so never in the text

BULLET = re.compile(r"^(?:[*+\-•o]|\(?(?:\d{1,2}|[a-zA-Z])[.)])\s+(?=\S)")
RULE = re.compile(r"[-=~*^\"'#_+|. ]{3,}")
DOCTEST = re.compile(r"(>>>|\.\.\.)(\s|$)")
FIELD = re.compile(r"^(?::\w+(?: [\w.*]+)?:|@\w+(?: \w+:)?|[\w.,*]+(?:, \w+)* --? )\s*")
MARKER = re.compile(rf"^(?:{BULLET.pattern[1:]})?(?:{FIELD.pattern[1:]})?")
DIRECTIVE = re.compile(r"\.\. ")
PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "–": "--", "—": "--"})
ROLE = re.compile(r":[\w:+-]+:`~?!?([^`<>]+?)(?: <[^`>]*>)?`")
REMOVED = (  # one after the other: what goes leaves empty brackets
    r"<?\b(?:https?|ftp|mailto):\S+|\bwww\.\S+|\S+@\S+\.\w+\S*",  # links
    r"\s?\[[\w#*]{1,3}\]_?",  # footnotes
    r"[`\"*]+|(?<!\w)'(?=\S)|(?<=\S)'(?!\w)",  # markup
    r"(?<=\w)\((?:\w+(?:, \w+)*)?(?:, ?)?(?:\.\.\.)?\)",  # calls
    r" ?\([ ,.]*\)",
)
BOUNDARY = re.compile(r"(?<=[.!?])\s+(?=[(_]*[^\W\d])")
CODE = re.compile(r"[=<>{}\[\]|\\@#$%^~+*&\"`\x00-\x1f]|::|->|__\w*\.\w|\ufffd")
TOKEN = re.compile(
    rf"e\.g{HELD}|i\.e{HELD}|[a-z]+{HELD}"  # abbreviations
    r"|(?<!\w)--?[a-z][\w-]*|\.[a-z]\w*"  # options and suffixes: -v, .pyc
    r"|[^\W\d]\w*(?:[.'/-]\w+)*"  # words and dotted names
    r"|\d+(?:[.,:-]\d+)*(?:-?[a-z]+)*"  # numbers, 2nd, 8-bit
    r"|\.{3}|--+|\S"
)
WORD = re.compile(r"[a-z][a-z'-]*")


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text in their order, as lower-case tokens joined by single spaces."""
    for paragraph in paragraphs(text):
        plain = ROLE.sub(r"\1", paragraph.translate(PLAIN))
        for pattern in REMOVED:
            plain = re.sub(pattern, "", plain)
        for sentence in BOUNDARY.split(ABBREVIATION.sub(rf"\1{HELD}", plain.replace("::", ":"))):
            tokens = [token.replace(HELD, ".") for token in TOKEN.findall(sentence.lower())]
            if not CODE.search(sentence) and is_prose(tokens):
                # Headlines of docstrings often stand without a mark at the end.
                yield " ".join(tokens if tokens[-1] in CLOSING else [*tokens, "."])


def paragraphs(text: str) -> Iterator[str]:
    """Runs of lines that belong together, on one line each; code, doctests, headings and directives left out."""
    lines: list[str] = []
    code_deeper_than = -1  # inside a literal block while lines are indented further than this
    for line in [*text.expandtabs().splitlines(), ""]:
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if code_deeper_than >= 0 and bare:
            if indent > code_deeper_than:
                continue
            code_deeper_than = -1
        if RULE.fullmatch(bare):
            lines.clear()  # what stands above an underline is a heading
            continue
        outdented = lines and len(lines[-1]) - len(lines[-1].lstrip()) > indent + 2  # by more than a bullet's width
        if not bare or DOCTEST.match(bare) or BULLET.match(bare) or FIELD.match(bare) or outdented:
            if joined := " ".join(" ".join(lines).split()):
                yield joined
            lines.clear()
        if bare.endswith("::"):
            code_deeper_than = indent
        if bare and not DOCTEST.match(bare) and not DIRECTIVE.match(bare):
            lines.append(" " * indent + MARKER.sub("", bare))


def is_prose(tokens: list[str]) -> bool:
    """Whether the tokens read as an English sentence: long enough, mostly plain words, glued by function words."""
    words = [token for token in tokens if WORD.fullmatch(token)]
    return (
        MIN_TOKENS <= len(tokens) <= MAX_TOKENS
        and len(words) >= 0.75 * sum(token not in PUNCTUATION for token in tokens)
        and len(words) >= 0.6 * len(tokens)
        and sum(word in FUNCTION_WORDS for word in words) >= max(1, len(words) // 12)
        and tokens[0][0].isalpha()
        and BOILERPLATE.isdisjoint(words)
        and tokens.count("(") == tokens.count(")")
    )
