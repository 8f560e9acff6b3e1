"""The same two lists in every format."""

from __future__ import annotations

JSON_LINES = """\
{"utt": "d1#0", "ref": "the cat sat", "nbest": [{"hyp": "the bat sat", "score": -1.5}, \
{"hyp": "the cat sat", "score": -2}]}
{"utt": "d2#0", "ref": "yes", "nbest": [{"hyp": "yes", "score": -0.5, "lattice": 7}]}
"""
JSON_VARIANTS = {
    "scores in a list of their own": """\
{"id": "d1#0", "reference": "the cat sat", "hyps": ["the bat sat", "the cat sat"], "scores": [-1.5, -2]}
{"id": "d2#0", "reference": "yes", "hyps": ["yes"], "scores": [-0.5]}
""",
    "pairs": """\
{"utt_id": "d1#0", "text": "the cat sat", "hypotheses": [["the bat sat", -1.5], ["the cat sat", -2.0]]}
{"utt_id": "d2#0", "text": "yes", "hypotheses": [["yes", -0.5]]}
""",
    "a line for each hypothesis": """\
{"utt": "d1#0", "ref": "the cat sat", "hyp": "the bat sat", "score": -1.5}
{"utt": "d1#0", "ref": "the cat sat", "hyp": "the cat sat", "score": -2}
{"utt": "d2#0", "ref": "yes", "hyp": "yes", "score": -0.5}
""",
    "words in lists": """\
{"utt": "d1#0", "ref": ["the", "cat", "sat"], "nbest": [{"hyp": ["the", "bat", "sat"], "score": -1.5},\
 {"hyp": ["the", "cat", "sat"], "score": -2}]}
{"utt": "d2#0", "ref": ["yes"], "nbest": [{"hyp": ["yes"], "score": -0.5}]}
""",
    "other names": """\
{"key": "d1#0", "ref": "the cat sat", "alternatives": [{"transcript": "the bat sat", "confidence": -1.5},\
 {"transcript": "the cat sat", "confidence": -2}]}
{"key": "d2#0", "ref": "yes", "alternatives": [{"transcript": "yes", "confidence": -0.5}]}
""",
}
KALDI = "d1#0-1 the bat sat\nd1#0-2 the cat sat\nd2#0-1 yes\n"
KALDI_SCORES = "d1#0-1 -1.5\nd1#0-2 -2\nd2#0-1 -0.5\n"
KALDI_COLUMN = "d1#0-1 -1.5 the bat sat\nd1#0-2 -2 the cat sat\nd2#0-1 -0.5 yes\n"
MOSES = """\
d1#0 ||| the bat sat ||| LM0= -3 WP0= -1 ||| -1.5
d1#0 ||| the cat sat ||| LM0= -4 WP0= -1 ||| -2 ||| 0-0 1-1
d2#0 ||| yes ||| LM0= -1 ||| -0.5
"""
