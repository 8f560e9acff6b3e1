"""The pictures of docs/explorer.md, taken in Chromium from the folder that `modlm demo` leaves.

modlm demo && python tools/screenshots.py demo

Those of Translate are of a model of the first 5,000 pairs of the Tanaka corpus, and need a Japanese font:

modlm train --text train.en --source train.ja --valid dev.en --valid-source dev.ja --epochs 5 --hidden 150 \
    --threads 1 -o runs/ja-en && python tools/screenshots.py --translate runs/ja-en
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TEXT = (
    "return true if the value is a list .\n"
    "the method returns a list of all the files in the current directory .\n"
    "raise an exception if the apple is not a string ."  # an odd word, but one that the demo knows
)
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1.5}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip
WRITTEN = {"text": TEXT, "at": TEXT.index("directory")}
VIEWS: dict[str, dict[str, Any]] = {
    "text": {**WRITTEN, "numbers": 1},
    "next": {"view": "next", "text": "this method returns", "at": 19},  # no `<unk>` among the best
    "compare": {"view": "compare", "models": "ngram,hybrid", **WRITTEN},
    "why": {"view": "why", **WRITTEN},
    "runs": {"view": "runs"},
    "align": {"view": "align", "source": "私 達 は その 手紙 を 読 ん だ 。"},
}
HOVERED = {"align": '.heat[aria-label^="“読” → “read”"]'}
"""What the mouse points at."""
DARK = ("next", "compare", "runs")
PHONES = {
    "text": ("light", ""),
    "next": ("dark", ".product"),
    "compare": ("light", ".compare-table"),
    "why": ("light", ".why-table"),
    "runs": ("dark", ""),
    "align": ("dark", ".align-grid"),
}


def main() -> None:
    """Serve, look, save."""
    of_translation = sys.argv[1] == "--translate"
    names = [name for name in VIEWS if (name == "align") == of_translation]
    with serving(sys.argv[-1]) as address, sync_playwright() as playwright:
        path = os.environ.get("MODLM_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name in names:
            save(picture(browser, address, name, "light", DESKTOP), f"explorer-{name}")
            if name in DARK:
                save(picture(browser, address, name, "dark", DESKTOP), f"explorer-{name}-dark")
            if name in PHONES:
                scheme, scroll = PHONES[name]
                save(picture(browser, address, name, scheme, PHONE, scroll=scroll), f"explorer-phone-{name}")
        if not of_translation:
            save_product(browser, address)
        browser.close()


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """The address of a server that runs as long as somebody looks."""
    command = [sys.executable, "-m", "modlm", "serve", folder, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            yield re.findall(r"http://\S+", said)[0]
        finally:
            process.terminate()


def picture(
    browser: Any, address: str, name: str, scheme: str, device: dict[str, Any], *, scroll: str = ""
) -> Image.Image:
    """A view as it stands after its answers have come."""
    page = browser.new_page(color_scheme=scheme, **device)
    page.goto(f"{address}/#{urlencode(VIEWS[name])}")
    page.wait_for_selector("html[data-ready]")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)
    if scroll:
        page.locator(scroll).first.evaluate("(own) => window.scrollTo(0, own.getBoundingClientRect().top - 160)")
        page.wait_for_timeout(300)
    elif name in HOVERED:
        page.locator(HOVERED[name]).hover()
    found = Image.open(BytesIO(page.screenshot()))
    page.close()
    return found.convert("RGB")


def save_product(browser: Any, address: str) -> None:
    """p = D · λ, as its own button saves it."""
    page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page.goto(f"{address}/#{urlencode(VIEWS['next'])}")
    page.locator(".product .lambda").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the picture as SVG").click()
    download.value.save_as(IMAGES / "explorer-product.svg")
    page.close()


def save(image: Image.Image, name: str) -> None:
    """With a palette, which makes it a third as large."""
    target = IMAGES / f"{name}.png"
    image.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE).save(
        target, optimize=True
    )
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
