"""What all tests share: reproducible property tests, a compile cache of their own, and the corpora if they are here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Two processes that compile the same kernel for different types can spoil each other's numba cache, so every test
# worker has its own. This must happen before anything imports numba.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / ".numba_cache" / WORKER)
os.environ["MODLM_PROGRESS"] = "0"

# No deadline: the first example compiles kernels. Derandomised: a test fails for everybody or for nobody.
settings.register_profile(
    "modlm", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("modlm")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with public corpora (`ptb/`, `newswire/`) named by MODLM_DATA; tests that need it skip without it."""
    name = os.environ.get("MODLM_DATA", "")
    if not name:
        pytest.skip("MODLM_DATA does not name a folder with the corpora")
    folder = Path(name)
    if not folder.is_dir():
        pytest.skip(f"MODLM_DATA is {name!r}, which is not a folder")
    return folder
