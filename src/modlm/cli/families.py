"""`modlm families`: what columns, mixers, bodies of nets, smoothing families and engines there are."""

import dataclasses
import inspect
from typing import Annotated, Any

from modlm.cli.options import Json, argument
from modlm.cli.printing import print_json, print_table
from modlm.errors import choose
from modlm.families import FAMILIES, Family, Member


def families(
    family: Annotated[str, argument("FAMILY", "blocks, mixers, bodies, smoothers, engines or models.")] = "",
    json: Json = False,
) -> None:
    """List what can be named in settings: columns, mixers, bodies of nets, smoothing families, engines.

    Installed packages add members through entry points such as modlm.blocks; the column "from" says whose a member is.
    In a configuration a block of another kind is columns.NAME.block, a body net.body, a family columns.NAME.smoothing.

    \b
    modlm families
    modlm families blocks --json
    """  # fmt: skip
    chosen = [choose(FAMILIES, family, what="family")] if family else list(FAMILIES.values())
    found = [described(one, member) for one in chosen for member in one.members.values()]
    if json:
        print_json(found)
        return
    rows = [[*(one[key] for key in ("family", "name", "from", "class")), ", ".join(one["settings"])] for one in found]
    print_table(["family", "name", "from", "class", "settings"], rows, left=5)


def described(family: Family, member: Member) -> dict[str, Any]:
    """A member, with what can be set of it: what a block is configured by, the parameters of a smoothing family."""
    kind = family[member.name]
    made = getattr(kind, "configured", None) if family.name == "blocks" else None
    settings = list(inspect.signature(made).parameters)[1:] if made else []
    settings += [one.name for one in dataclasses.fields(kind)] if family.name == "smoothers" else []
    about = {"family": family.name, "name": member.name, "from": member.origin, "class": member.target}
    return about | {"settings": settings}
