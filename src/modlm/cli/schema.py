"""`modlm schema`: what editors complete and check the TOML files of runs by."""

from pathlib import Path
from typing import Annotated

from modlm.cli.options import Force, option


def schema(
    output: Annotated[Path | None, option("-o --output FILE", "Where to write it.  [default: standard output]")] = None,
    force: Force = False,
) -> None:
    """Print the JSON schema of the TOML files that `modlm train` takes.

    Editors with Taplo (Even Better TOML in VS Code) complete and check a file whose first line names the schema.

    \b
    modlm schema -o modlm.schema.json
    #:schema ./modlm.schema.json          the first line of my.toml
    """  # fmt: skip
    import json

    from modlm.cli.outcome import refuse_existing
    from modlm.ground.files import new_file
    from modlm.training.schema import run_schema

    text = json.dumps(run_schema(), indent=1, ensure_ascii=False)
    if output is None:
        print(text)
        return
    refuse_existing(output, force=force)
    with new_file(output, overwrite=force) as target:
        target.write_text(text + "\n", encoding="utf-8")
