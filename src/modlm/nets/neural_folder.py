"""Neural mixtures in model folders: their columns as in any mixture, the net's settings, and `weights.safetensors`.

A folder is not believed: the settings must be those of a net, and the file must hold exactly its tensors, which is
known before any of them is made. Nothing is unpickled.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.errors import ConfigError, require
from modlm.model.folder import About, Arrays, Texts, block_contents, read_blocks
from modlm.nets.config import NetConfig
from modlm.store.folder import Folder
from modlm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

    from modlm.nets.mixer_net import MixerNet
    from modlm.nets.neural_mixture import NeuralMixture

KIND = "neural-mixture"
WEIGHTS = "weights.safetensors"


def contents(model: NeuralMixture, inside: str) -> tuple[About, Arrays, Texts]:
    """A neural mixture as settings, arrays and texts."""
    from safetensors.torch import save

    blocks, arrays, texts = block_contents(model.vocabulary, model.blocks, inside)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.net.state_dict().items()}
    texts[inside + WEIGHTS] = save(tensors)
    about = {
        "kind": KIND,
        "blocks": blocks,
        "delta": model.delta,
        "net": asdict(model.net.config),
        **model.vocabulary.fingerprints(),
    }
    return about, arrays, texts


def opened(folder: Folder, vocabulary: Vocabulary) -> NeuralMixture:
    """The neural mixture that a folder holds."""
    for package in ("torch", "safetensors"):
        require(package, extra="neural", purpose="A model with a net")
    from modlm.blocks.block import ColumnLayout
    from modlm.nets.neural_mixture import NeuralMixture

    config, delta = read_config(folder.part("net")), folder.about.get("delta")
    if not isinstance(delta, bool):
        raise folder.damaged("delta must be true or false")
    blocks = read_blocks(folder, vocabulary)
    layout = ColumnLayout(blocks)
    sizes = {"vocab_size": len(vocabulary), "features": layout.features, "dense": len(layout)}
    tensors = _tensors(folder, least_numbers(config, delta=delta, **sizes))
    try:
        net = empty_net(config, delta=delta, **sizes)
        _fill(folder, net, tensors)
        return NeuralMixture(vocabulary, blocks, net)
    except ConfigError as error:
        raise folder.damaged(str(error)) from error


def read_config(folder: Folder) -> NetConfig:
    """The settings of a net; those that an earlier version did not have yet are as they were then, the defaults."""
    known = {field.name: field for field in fields(NetConfig)}
    if odd := ", ".join(sorted(str(name)[:40] for name in set(folder.about) - set(known))):
        raise folder.damaged(f"its net has settings that this version does not know: {odd}")
    values: dict[str, Any] = {}
    for name, value in folder.about.items():
        default = known[name].default
        if isinstance(default, tuple) and isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)
        numeric = isinstance(default, float) and type(value) is int
        if type(value) is not type(default) and not numeric:
            raise folder.damaged(f"net.{name} is {str(value)[:60]!r}")
        values[name] = value
    try:
        return NetConfig(**values)
    except ConfigError as error:
        raise folder.damaged(str(error)) from error


def least_numbers(config: NetConfig, *, vocab_size: int, features: int, dense: int, delta: bool) -> int:
    """At least so many numbers are in the net, whatever its body: a bound that costs nothing to know."""
    words = config.words * config.word_length if "word" in config.inputs else 0
    vectors = (vocab_size + 1) * config.word_length if "word" in config.inputs or config.tied else 0
    inputs = words + (features if "counts" in config.inputs else 0)
    columns = dense + (vocab_size if delta and not config.tied else 0)
    squares = config.layers - 1 + config.projected
    return vectors + config.hidden * (inputs + squares * config.hidden + columns)


def empty_net(config: NetConfig, **sizes: Any) -> MixerNet:
    """A net of the right shapes, about to be filled."""
    from modlm.nets.features import FeatureScaling
    from modlm.nets.mixer_net import MixerNet

    features = sizes["features"]
    whitening = np.eye(features, dtype=np.float32) if config.features == "whitened" else None
    return MixerNet(config, scaling=FeatureScaling(np.zeros(features, dtype=np.float32), whitening), **sizes)


def _tensors(folder: Folder, least: int) -> dict[str, Tensor]:
    """The tensors of a file that is large enough for the net that is to be made."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from modlm.nets.features import of_this_version

    if folder.file(WEIGHTS).stat().st_size < 4 * least:
        raise folder.damaged(f"{WEIGHTS} is too small for the net that is described")
    try:
        tensors = of_this_version(load_file(folder.unchanged(WEIGHTS)))
    except (SafetensorError, OSError, ValueError, KeyError, AttributeError) as error:
        raise folder.damaged(f"{WEIGHTS} cannot be read ({str(error)[:200]})") from error
    return tensors


def _fill(folder: Folder, net: MixerNet, tensors: dict[str, Tensor]) -> None:
    """Every parameter and buffer of the net from the tensor of its name, which must be just like it."""
    wanted = net.state_dict()
    odd = sorted(set(tensors) ^ set(wanted))
    if odd:
        raise folder.damaged(f"its weights and its net differ in {', '.join(name[:60] for name in odd[:5])}")
    for name, tensor in wanted.items():
        found = tensors[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            raise folder.damaged(
                f"its weights {name} are {found.dtype} {tuple(found.shape)}, not {tensor.dtype} {tuple(tensor.shape)}"
            )
        if not bool(found.isfinite().all()):
            raise folder.damaged(f"its weights {name} are not all finite numbers")
    net.load_state_dict(tensors)
