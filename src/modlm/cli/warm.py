"""`modlm warm`: everything compiled beforehand."""

from modlm.cli.options import Threads


def warm(threads: Threads = None) -> None:
    """Compile what the commands need, on all cores, so that none of them waits for it.

    For images and CI. Otherwise each command compiles what it needs when it first runs on a machine. What is compiled
    is kept beside the package, or in the user's cache, or where NUMBA_CACHE_DIR says; it is for this kind of processor.

    \b
    RUN modlm warm          in a Dockerfile, as the user who will run modlm
    """  # fmt: skip
    import sys
    import time

    from modlm.errors import ModlmError
    from modlm.ground.arrays import threads as cores
    from modlm.ground.compiling import kernels, start_helper

    begun, count = time.monotonic(), cores(threads)
    helpers = [start_helper("", number, count) for number in range(count)]
    failed = [helper.returncode for helper in helpers if helper.wait()]
    if failed:
        raise ModlmError(
            f"Compiling failed with exit code {failed[0]}. Run {sys.executable} -m modlm.ground.compiling '' 0 1"
        )
    print(f"{len(kernels())} kernels compiled or found in the cache, in {time.monotonic() - begun:.1f} s")
