"""An n-gram model multiplied out: the compiled form, every way to ask it, smaller models, and ARPA files."""
