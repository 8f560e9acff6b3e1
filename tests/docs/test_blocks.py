"""The comparison of outputs and the reading of pages, by examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.blocks import blocks_of, commands_of, difference

PAGE = """# Title

<!-- runnable -->

<!-- test: numbers within 10% -->
<!-- test: quick "--epochs 9" → "--epochs 1" -->
```console
$ modlm train --epochs 9
done
```

```text
not run
```

```python
x = 1
```
"""


@pytest.mark.parametrize(
    ("shown", "printed", "tolerance", "same"),
    [
        ("a b", "a b", 0.0, True),
        ("a b", "a  b", 0.0, False),
        ("a … d", "a b c d", 0.0, True),
        ("a\n…\nd", "a\nb\nc\nd", 0.0, True),
        ("a\n…", "a", 0.0, True),
        ("a", "a\nb", 0.0, False),
        ("a\nb", "a", 0.0, False),
        ("it has 100 words", "it has   104 words", 0.05, True),
        ("it has 100 words", "it has 110 words", 0.05, False),
        ("it has 100 words", "it had 100 words", 0.05, False),
        ("2.4% ██▎ x", "2.5%  █ x", 0.05, True),
        ("1,000 lines", "1,040 lines", 0.05, True),
    ],
)
def test_outputs_are_the_same_up_to_what_may_differ(shown: str, printed: str, tolerance: float, same: bool) -> None:
    assert (difference(shown, printed, tolerance=tolerance) == "") is same


def test_commands_are_taken_apart_from_what_they_print() -> None:
    text = "$ one \\\n    --more\nout\n\n$ cat > file <<'END'\nfirst\nEND\n$ two\n"
    assert commands_of(text) == [
        ("one \\\n    --more", "out\n"), ("cat > file <<'END'\nfirst\nEND", ""), ("two", "")
    ]  # fmt: skip


def test_blocks_come_with_the_remarks_before_them(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    first, second = blocks_of(tmp_path / "page.md")
    assert (first.kind, first.tolerance(quick=True), first.line) == ("console", 0.1, 7)
    assert first.text(quick=True) == "$ modlm train --epochs 1\ndone\n"
    assert first.text(quick=False) == "$ modlm train --epochs 9\ndone\n"
    assert (second.kind, second.body, second.tolerance(quick=True)) == ("python", "x = 1\n", 0.0)
