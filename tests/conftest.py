"""What all tests share: reproducible property tests, a compile cache of their own, and the corpora if they are here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Compiled kernels of the tests stand apart from those of the programs, and all workers share them: processes that save
# at once wait for each other (`ground.arrays`). This must happen before anything imports numba.
os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / ".numba_cache")
os.environ["MODLM_PROGRESS"] = "0"
# Workers keep all cores busy; threads of torch, which wait for each other by turning in circles, would multiply that.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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
