"""Everything that has members, in one table: each name with the class behind it, imported when it is asked for.

Loading, configuration, help texts and contract tests read this table. Installed packages add to it through entry points
(`modlm.smoothers`, `modlm.blocks`, `modlm.mixers`, `modlm.bodies`), programs through `register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from modlm.errors import ConfigError, nearest, require


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a family and where it comes from."""

    name: str
    target: str
    """`module:Class`."""
    origin: str
    """The package that brought it; `modlm` for our own."""


class Family(Mapping[str, Any]):
    """Classes by name; a class is imported when it is looked up."""

    def __init__(
        self, name: str, what: str, members: Mapping[str, str], needs: Mapping[str, tuple[str, str, str]] | None = None
    ) -> None:
        """`what` is one of them in words; `needs` are packages of extras: package, extra, and who needs it."""
        self.name, self.what, self.needs = name, what, needs or {}
        self._own = {key: Member(key, f"modlm.{target}", "modlm") for key, target in members.items()}

    @cached_property
    def _installed(self) -> dict[str, Member]:
        from importlib.metadata import entry_points  # slow to import, and needed for names that are not ours

        found = entry_points(group=f"modlm.{self.name}")
        return {point.name: Member(point.name, point.value, point.dist.name if point.dist else "?") for point in found}

    @property
    def own(self) -> tuple[str, ...]:
        """The names of ours, without a look at what is installed."""
        return tuple(self._own)

    @property
    def members(self) -> dict[str, Member]:
        """All members; nobody takes the name of one of ours."""
        return {**self._installed, **self._own}

    def add(self, name: str, target: str) -> None:
        """A further member, `module:Class`."""
        module, _, attribute = target.partition(":")
        if not module or not attribute:
            raise ConfigError(f"{target!r} names no class. Write module:Class, such as my_package.columns:Mine.")
        if name in self._own and self._own[name].origin == "modlm":
            raise ConfigError(f"There is a {self.what} {name!r} already. Choose another name.")
        self._own[name] = Member(name, target, module.partition(".")[0])

    def __getitem__(self, name: str) -> Any:
        member = self._own.get(name) or self._installed[name]
        module, _, attribute = member.target.partition(":")
        if name in self.needs:
            package, extra, purpose = self.needs[name]
            require(package, extra=extra, purpose=purpose)
        return getattr(importlib.import_module(module), attribute)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *(name for name in self._installed if name not in self._own)])

    def __len__(self) -> int:
        return len(self.members)

    def choose(self, name: str) -> Any:
        """The class of a name that a user wrote, or an error with the nearest one."""
        if name in self:
            return self[name]
        raise ConfigError(f"There is no {self.what} {name!r}.{nearest(name, self)} Known: {', '.join(self)}.")


ENGINES = Family(
    "engines",
    "counting engine",
    {
        "memory": "counts.engine:count_in_memory",
        "disk": "counts.disk:count",
        "spark": "counts.spark:count",
    },
)
SMOOTHERS = Family(
    "smoothers",
    "smoothing family",
    {
        "maximum-likelihood": "smoothing.maximum_likelihood:MaximumLikelihood",
        "additive": "smoothing.additive:Additive",
        "witten-bell": "smoothing.witten_bell:WittenBell",
        "jelinek-mercer": "smoothing.jelinek_mercer:JelinekMercer",
        "good-turing": "smoothing.good_turing:GoodTuring",
        "absolute": "smoothing.absolute:Absolute",
        "modified-absolute": "smoothing.modified_absolute:ModifiedAbsolute",
        "kneser-ney": "smoothing.kneser_ney:KneserNey",
        "modified-kneser-ney": "smoothing.modified_kneser_ney:ModifiedKneserNey",
    },
)
BLOCKS = Family(
    "blocks",
    "kind of column",
    {
        "ngram": "blocks.ngram:NgramBlock",
        "uniform": "blocks.constant:UniformBlock",
        "unknown": "blocks.constant:UnknownBlock",
        "delta": "blocks.constant:DeltaBlock",
        "model": "blocks.model:ModelBlock",
        "function": "blocks.function:FunctionBlock",
        "online": "blocks.online:OnlineBlock",
        "cache": "blocks.cache:CacheBlock",
        "infinite": "blocks.infinite:InfiniteBlock",
        "lexicon": "blocks.lexicon:LexiconBlock",
        "copy": "blocks.copy:CopyBlock",
        "given": "integrations.mixture_fusion:GivenBlock",
        "causal-lm": "integrations.hugging_face.lm_block:CausalLmBlock",
        "hidden-cache": "nets.hidden_cache:HiddenCacheBlock",
    },
    needs={"hidden-cache": ("torch", "neural", "A cache of hidden vectors")},
)
MIXERS = Family(
    "mixers",
    "mixer",
    {
        "heuristic": "mixers.heuristic:HeuristicMixer",
        "static": "mixers.static:StaticMixer",
        "gli": "mixers.gli:GliMixer",
        "net": "nets.net_mixer:NetMixer",
    },
    needs={"net": ("torch", "neural", "A model with a net")},
)
BODIES = Family(
    "bodies",
    "body of a net",
    {
        "feedforward": "nets.bodies:FeedForward",
        "rnn": "nets.bodies:Rnn",
        "gru": "nets.bodies:Gru",
        "lstm": "nets.bodies:Lstm",
        "transformer": "nets.transformer:Transformer",
        "attention": "nets.attention:AttentionLstm",
    },
)
MODELS = Family(
    "models",
    "kind of model",
    {
        "ngram": "model.ngram_lm:NgramLM",
        "compact-ngram": "model.compact_lm:CompactLM",
        "kenlm": "model.kenlm:KenlmModel",
        "mixture": "model.mixture:Mixture",
        "neural-mixture": "model.mixture:Mixture",  # as earlier versions wrote mixtures whose mixer is a net
    },
)
READERS = Family(
    "readers",
    "kind of model file",
    {
        "arpa": "model.ngram.arpa:read_model",
        "kenlm": "model.kenlm:read_model",
        "spelling": "model.spelling:read_spelling",
    },
)
FAMILIES = {family.name: family for family in (ENGINES, SMOOTHERS, BLOCKS, MIXERS, BODIES, MODELS)}


def register(family: str, name: str, target: str) -> None:
    """Add a member to a family for this process: `register("blocks", "mine", "my_package.columns:Mine")`.

    A package does the same for every process that has it installed with an entry point of the group `modlm.blocks`.
    """
    if family not in FAMILIES:
        raise ConfigError(f"There is no family {family!r}.{nearest(family, FAMILIES)} Known: {', '.join(FAMILIES)}.")
    FAMILIES[family].add(name, target)
