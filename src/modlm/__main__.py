"""`python -m modlm`, the same as `modlm`; what torchrun starts."""

from modlm.cli import main

if __name__ == "__main__":
    main()
