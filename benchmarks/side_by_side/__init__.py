"""modlm and KenLM side by side: texts, processes, measurements and the report of `against_kenlm.py`."""
