"""Folders of ours on disk: a manifest with sums, arrays as `.npy`, texts as they are. One writer, one reader."""
