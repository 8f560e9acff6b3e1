"""Other programs' models as language models of ours."""
