"""The site builds without a warning, has all that it should, and loads nothing from elsewhere."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import modlm
from modlm.cli.app import COMMANDS, imported

ROOT = Path(__file__).parents[2]
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link":
            self.loads.append(values.get("href", ""))
        if tag in LOADED and LOADED[tag] in values:
            self.loads.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "myst_parser", "furo", "torch", "transformers"):
        pytest.importorskip(package, reason="the site is made with the extras docs, neural and hf")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [*command, "-d", str(target / "trees"), str(ROOT / "docs"), str(target / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return target / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_inside_the_site_leads_to_a_page_and_a_place(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            name, place = urldefrag(unquote(link))
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), f"{path.name}: {link}"
            if place and target in pages:
                assert place in pages[target].places, f"{path.name}: {link}"


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [load for load in page.loads if re.match(r"([a-z]+:)?//", load)] == [], path.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(\s*['\"]?|@import\s+['\"])(https?:)?//", sheet.read_text("utf-8")), sheet.name


def test_every_command_and_every_option_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        begin = text.index(f'id="modlm-{name}"')
        section = text[begin : text.index("</section>", begin)]
        for parameter in inspect.signature(imported(name), eval_str=True).parameters.values():
            flags = [flag for flag in parameter.annotation.__metadata__[0].param_decls or () if flag.startswith("--")]
            assert all(flag.split("/")[0] in section for flag in flags), f"{name}: {flags}"


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in modlm.__all__:
        assert name == "__version__" or f'id="modlm.{name}"' in text, name
