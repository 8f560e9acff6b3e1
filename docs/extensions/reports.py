"""The dated reports of benchmarks/reports as pages of the site.

Pages name a report by its place in the repository, so that links work when the sources are read there; in the site the
same links lead to pages under reports/, which are written here before a build and are not kept.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

PLACE = "reports"
INDEX = """# Measurements

Dated reports, each with the machine, the versions and the command. Speed depends on the machine; ratios, side by side
on the same one, travel better.

```{toctree}
:maxdepth: 1

"""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write_pages)
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True}


def write_pages(app: Sphinx, config: Config) -> None:
    """docs/reports: a copy of each report and figure, and a list of the reports."""
    reports = Path(app.srcdir).parent / "benchmarks" / "reports"
    sources = sorted(reports.glob("*.md"))
    target = Path(app.srcdir) / PLACE
    target.mkdir(exist_ok=True)
    pages = {path.name: path.read_text("utf-8").replace("../../docs/", "../") for path in sources}
    pages["index.md"] = INDEX + "".join(f"{entry}\n" for entry in entries(sources, pages)) + "```\n"
    pages |= {path.name: path.read_text("utf-8") for path in reports.glob("*.svg")}
    for left_over in {path.name for pattern in ("*.md", "*.svg") for path in target.glob(pattern)} - pages.keys():
        (target / left_over).unlink()
    for name, text in pages.items():
        if not (target / name).is_file() or (target / name).read_text("utf-8") != text:
            (target / name).write_text(text, "utf-8")


def entries(sources: list[Path], pages: dict[str, str]) -> Iterator[str]:
    """Titles with their pages, the newest first; equal titles are told apart by what the file is called."""
    titles = {path: pages[path.name].partition("\n")[0].removeprefix("# ") for path in sources}
    for path in sorted(sources, key=lambda path: path.name[:10], reverse=True):
        title = titles[path]
        if list(titles.values()).count(title) > 1:
            title = f"{title}: {path.stem.rpartition('-')[2]}"
        yield f"{title} <{path.stem}>"


def lead_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files outside docs/ become links to the pages that show them."""
    source[0] = re.sub(r"\((?:\.\./)+benchmarks/reports/([\w.-]+\.md)\)", rf"(/{PLACE}/\1)", source[0])
    source[0] = re.sub(r"\((?:\.\./)+benchmarks/reports/?\)", rf"(/{PLACE}/index.md)", source[0])
