"""Nets in model folders: their settings, and `weights.safetensors`.

A folder is not believed: the settings must be those of a net, and the file must hold exactly its tensors, which is
known before any of them is made. Nothing is unpickled.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from modlm.blocks.block import ColumnLayout
from modlm.errors import require
from modlm.nets.config import NetConfig
from modlm.nets.features import FeatureScaling, of_this_version
from modlm.nets.mixer_net import MixerNet
from modlm.nets.setting_values import checked, fields_of
from modlm.store.folder import Folder

WEIGHTS = "weights.safetensors"


def weights_file(net: MixerNet) -> dict[str, bytes]:
    """A net's parameters and buffers as a file, by its name."""
    require("safetensors", extra="neural", purpose="A model with a net")
    from safetensors.torch import save

    return {WEIGHTS: save({name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()})}


def read_net(stored: Folder, layout: ColumnLayout) -> MixerNet:
    """The net that a folder keeps, for these columns."""
    require("safetensors", extra="neural", purpose="A model with a net")
    config = read_config(stored.part("net"))
    tensors = _tensors(stored, least_numbers(config, layout))
    net = stored.checked(lambda: empty_net(config, layout))
    _fill(stored, net, tensors)
    return net


def read_config(stored: Folder) -> NetConfig:
    """The settings of a net; those that an earlier version did not have yet are as they were then, the defaults."""
    known = fields_of(NetConfig)
    if odd := ", ".join(sorted(str(name)[:40] for name in set(stored.about) - set(known))):
        raise stored.damaged(f"its net has settings that this version does not know: {odd}")
    return stored.checked(
        lambda: NetConfig(
            **{name: checked(stored.about[name], known[name], path=f"net.{name}") for name in stored.about}
        )
    )


def least_numbers(config: NetConfig, layout: ColumnLayout) -> int:
    """At least so many numbers are in the net, whatever its body: a bound that costs nothing to know."""
    words = config.words * config.word_length if "word" in config.inputs else 0
    vectors = (layout.vocab_size + 1) * config.word_length if "word" in config.inputs or config.tied else 0
    inputs = words + (layout.features if "counts" in config.inputs else 0)
    columns = layout.dense + (0 if config.tied else layout.deltas)
    squares = config.layers - 1 + config.projected
    return vectors + config.hidden * (inputs + squares * config.hidden + columns)


def empty_net(config: NetConfig, layout: ColumnLayout) -> MixerNet:
    """A net of the right shapes, about to be filled."""
    whitening = np.eye(layout.features, dtype=np.float32) if config.features == "whitened" else None
    scaling = FeatureScaling(np.zeros(layout.features, dtype=np.float32), whitening)
    return MixerNet(
        config, vocab_size=layout.vocab_size, features=layout.features, dense=layout.dense, delta=layout.deltas > 0,
        over_source=(len(layout.over_source), sum(map(len, layout.over_source.values()))), scaling=scaling,
    )  # fmt: skip


def _tensors(stored: Folder, least: int) -> dict[str, Tensor]:
    """The tensors of a file that is large enough for the net that is to be made."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if stored.file(WEIGHTS).stat().st_size < 4 * least:
        raise stored.damaged(f"{WEIGHTS} is too small for the net that is described")
    try:
        return of_this_version(load_file(stored.unchanged(WEIGHTS)))
    except (SafetensorError, OSError, ValueError, KeyError, AttributeError) as error:
        raise stored.damaged(f"{WEIGHTS} cannot be read ({str(error)[:200]})") from error


def _fill(stored: Folder, net: MixerNet, tensors: dict[str, Tensor]) -> None:
    """Every parameter and buffer of the net from the tensor of its name, which must be just like it."""
    wanted = net.state_dict()
    odd = sorted(set(tensors) ^ set(wanted))
    if odd:
        raise stored.damaged(f"its weights and its net differ in {', '.join(name[:60] for name in odd[:5])}")
    for name, tensor in wanted.items():
        found = tensors[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            raise stored.damaged(
                f"its weights {name} are {found.dtype} {tuple(found.shape)}, not {tensor.dtype} {tuple(tensor.shape)}"
            )
        if not bool(found.isfinite().all()):
            raise stored.damaged(f"its weights {name} are not all finite numbers")
    net.load_state_dict(tensors)
