"""`modlm serve`: models over HTTP, and a page to look into them."""

import os
import signal
import sys
from typing import Annotated

import typer

from modlm.cli.options import Threads, argument, option
from modlm.cli.outcome import INTERRUPTED, resumable

PURPOSE = "modlm serve"


def serve(
    models: Annotated[
        list[str],
        argument("MODEL...", "Model or run folders, folders of such, ARPA files, KenLM binaries; or NAME=PATH."),
    ],
    run: Annotated[list[str] | None, option("--run DIR", "A training run to show the curves of. Repeatable.")] = None,
    host: Annotated[
        str, option("--host ADDRESS", "Where to listen; 0.0.0.0 for everybody.", envvar="MODLM_HOST")
    ] = "127.0.0.1",
    port: Annotated[int, option("--port N", "Port; 0 for any free one.", min=0, max=65535)] = 8765,
    token: Annotated[
        str, option("--token TOKEN", "What clients must send.", envvar="MODLM_TOKEN", show_default=False)
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host NAME", "Another name of this server, such as that of a proxy. Repeatable."),
    ] = None,
    max_words: Annotated[int, option("--max-words N", "Words per request, at most.", min=1)] = 20_000,
    max_body: Annotated[int, option("--max-body N", "Bytes per request, at most.", min=1)] = 4_000_000,
    max_concurrent: Annotated[int, option("--max-concurrent N", "Requests at once, at most.", min=1)] = 128,
    timeout: Annotated[float, option("--timeout SECONDS", "How long one request may take.")] = 30.0,
    max_connections: Annotated[int, option("--max-connections N", "Open connections at once, at most.", min=1)] = 1000,
    header_timeout: Annotated[float, option("--header-timeout SECONDS", "How long headers may take.")] = 10.0,
    idle_timeout: Annotated[float, option("--idle-timeout SECONDS", "How long a connection may be idle.")] = 75.0,
    max_sessions: Annotated[int, option("--max-sessions N", "Sessions that learn at once, at most.", min=1)] = 64,
    session_timeout: Annotated[
        float, option("--session-timeout SECONDS", "How long a session may be unused before it is forgotten.")
    ] = 3600.0,
    threads: Threads = None,
) -> None:
    """Answer over HTTP, and show a page to look into models.

    Open the printed address in a browser for the explorer; its /docs describes the HTTP interface. The server is for
    this machine alone unless --host says otherwise; then give it a --token. Ctrl-C ends it.

    \b
    modlm serve model
    modlm serve demo
    modlm serve kn=models/kneser-ney wb=models/witten-bell --run runs/hybrid
    curl localhost:8765/score -d '{"text": "the company said"}'
    """  # fmt: skip
    from modlm.errors import require

    for package in ("fastapi", "uvicorn", "httptools", "orjson", "prometheus_client"):
        require(package, extra="serve", purpose=PURPOSE)
    os.environ["MODLM_PROGRESS"] = "0"  # bars of many requests would fight for one terminal
    from modlm.serve.app import make_app
    from modlm.serve.gate import Access
    from modlm.serve.library import open_library
    from modlm.serve.limits import Limits
    from modlm.serve.running import address_of, listen, run_server

    limits = Limits(
        max_words=max_words, max_body=max_body, max_concurrent=max_concurrent, timeout=timeout,
        max_connections=max_connections, header_timeout=header_timeout, idle_timeout=idle_timeout,
        max_sessions=max_sessions, session_timeout=session_timeout,
    )  # fmt: skip
    access = Access(host=host, token=token, names=tuple(name.lower() for name in allow_host or ()))
    library = open_library(models, run or [])
    app = make_app(library, limits=limits, access=access)
    listener = listen(host, port)
    address, warning = address_of(listener, host), access_note(access.local, bool(token))

    def announce() -> None:
        if warning:
            print(warning, file=sys.stderr)
        names = ", ".join(library.models)
        print(f"{address}  serves {names}; {address}/docs says how to ask it. Ctrl-C ends it.", flush=True)

    ended_by = run_server(app, listener, limits, on_ready=announce)
    print("modlm: stopped", file=sys.stderr)
    if ended_by == signal.SIGINT:
        resumable(None)
        raise typer.Exit(INTERRUPTED)


def access_note(local: bool, token: bool) -> str:
    if local or token:
        return ""
    return (
        "modlm: warning: whoever can reach this machine can ask this server. Give --token, or leave out --host to keep "
        "it to this machine."
    )
