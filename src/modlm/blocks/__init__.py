"""Columns of D, in blocks: n-gram orders, constants, and other language models."""

from modlm.blocks.block import NOTHING, Block, ColumnLayout, Rows
from modlm.blocks.constant import DeltaBlock, UniformBlock, UnknownBlock
from modlm.blocks.ngram import NgramBlock
from modlm.store.folder import Parts

CONSTANT_BLOCKS = {"uniform": UniformBlock, "unknown": UnknownBlock}

__all__ = [
    "CONSTANT_BLOCKS", "NOTHING", "Block", "ColumnLayout", "DeltaBlock", "NgramBlock", "Parts", "Rows", "UniformBlock",
    "UnknownBlock",
]  # fmt: skip
