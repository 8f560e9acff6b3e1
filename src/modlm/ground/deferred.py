"""Kernel modules run when a kernel is first asked for, so that nobody waits for numba who does not need it.

They are imported at the top of a file like any other module, `from modlm.counts import trie_kernels`, and used with
their name in front, `trie_kernels.walk(...)`. Taking a name out of one, `from modlm.counts.trie_kernels import walk`,
asks for it at once: only other kernel modules do that, and functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # that module loads thirty others, which `modlm --help` does without

KERNELS = "_kernels"
"""How the names of kernel modules end."""

_LOCK = threading.RLock()
_waiting: dict[str, Callable[[ModuleType], None]] = {}  # what runs a module that nobody has asked for anything


class _KernelModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):  # what tools ask of every module that they see
            with _LOCK:  # other threads wait until all of it is there
                if run := _waiting.pop(self.__name__, None):
                    try:
                        run(self)
                    except BaseException:  # Ctrl-C too: whoever asks next tries again
                        _waiting[self.__name__] = run
                        raise
                if name in self.__dict__:
                    return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _DeferredLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _KernelModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _KernelFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not (fullname.startswith("modlm.") and fullname.endswith(KERNELS)):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            _waiting[fullname], spec.loader = spec.loader.exec_module, _DeferredLoader()
        return spec


def defer_kernels() -> None:
    """From now on in this process; the package calls it before it imports anything else."""
    if not any(isinstance(finder, _KernelFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _KernelFinder())
