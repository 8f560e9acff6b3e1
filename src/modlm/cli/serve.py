"""`modlm serve`: models over HTTP, and a page to look into them."""

from __future__ import annotations

from typing import Annotated

import typer

from modlm.cli.options import Threads


def serve(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Model folders, run folders or ARPA files; NAME=PATH names one."),
    ],
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="DIR", help="A training run to watch; may be repeated.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")] = 8765,
    threads: Threads = None,
) -> None:
    """Answer over HTTP, and show a page to look into models.

    \b
    modlm serve model
    modlm serve kn=models/kn wb=models/wb --run runs/hybrid
    """  # fmt: skip
    from modlm.errors import require

    require("fastapi", extra="serve", purpose="modlm serve")
    uvicorn = require("uvicorn", extra="serve", purpose="modlm serve")
    from modlm.serve.app import make_app
    from modlm.serve.library import open_library

    library = open_library(models, run or [])
    print(f"http://{host}:{port}", flush=True)
    uvicorn.run(make_app(library), host=host, port=port, log_level="warning")
