"""The page at `/docs`: the OpenAPI description as plain HTML, without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from typing import Any

Schema = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: light-dark(#0b57d0, #8ab4f8); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .875rem; }
code { background: var(--soft); padding: 0 .25em; }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: .5rem; } pre code { background: none; }
a { color: var(--accent); } .method { color: var(--accent); font-weight: 700; } .more { opacity: .75; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); }
details { margin: .5rem 0; } summary { cursor: pointer; } nav { columns: 2; } nav a { display: block; }
"""
STYLE_HASH = "'sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode() + "'"


def docs_page(openapi: Schema, address: str) -> str:
    """The whole page; `address` is how the reader reached the server, for the commands."""
    operations = [
        (path, method.upper(), about) for path, methods in openapi["paths"].items() for method, about in methods.items()
    ]
    links = "".join(
        f'<a href="#{_anchor(path)}"><code>{method} {escape(path)}</code> {escape(about["summary"])}</a>'
        for path, method, about in operations
    )
    schemas: Schema = openapi["components"]["schemas"]
    parts = "".join(_operation(path, method, about, schemas, address) for path, method, about in operations)
    info = openapi["info"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}: HTTP</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])} over HTTP</h1>{_prose(info['description'])}"
        f'<p><a href="/">The explorer</a> · <a href="/openapi.json">OpenAPI description</a></p><nav>{links}</nav>'
        f"{parts}</body></html>"
    )


def _operation(path: str, method: str, about: Schema, schemas: Schema, address: str) -> str:
    out = [f'<h2 id="{_anchor(path)}"><span class="method">{method}</span> {escape(path)}</h2>']
    out.append(_prose(about.get("description") or about["summary"]))
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    request = _resolved(body, schemas) if body else {}
    example = (request.get("examples") or [None])[0]
    out.append(f"<pre><code>{escape(_command(path, method, example, address))}</code></pre>")
    fields = [
        {**p["schema"], "name": p["name"], "description": p.get("description", "")} for p in about.get("parameters", [])
    ]
    if fields:
        out.append(_table({"properties": {field["name"]: field for field in fields}}, schemas))
    if body:
        out.append(f"<h3>Request</h3>{_table(request, schemas)}")
    for status, response in about["responses"].items():
        content = response.get("content", {}).get("application/json", {})
        if status == "200" and "schema" in content:
            out.append(f"<h3>Answer</h3>{_example(content)}{_nested(content['schema'], schemas)}")
    refusals = ", ".join(
        f"<code>{status}</code> {escape(response['description'])}"
        for status, response in about["responses"].items()
        if status != "200"
    )
    return "".join(out) + (f'<p class="more">Refusals: {refusals}.</p>' if refusals else "")


def _example(content: Schema) -> str:
    if "example" not in content:
        return ""
    shown = json.dumps(content["example"], indent=1, ensure_ascii=False)
    short = re.sub(r"[\[{]\s+([^][{}]{0,110}?)\s+[]}]", lambda found: re.sub(r"\s+", " ", found[0]), shown)
    return f"<details><summary>Example</summary><pre><code>{escape(short)}</code></pre></details>"


def _command(path: str, method: str, example: Any, address: str) -> str:
    if method == "GET":
        return f"curl {address}{path.replace('{name}', 'NAME')}"
    return f"curl {address}{path} -d '{json.dumps(example, ensure_ascii=False)}'"


def _nested(schema: Schema, schemas: Schema, depth: int = 0) -> str:
    """The fields of an answer, and below them those of the records it holds."""
    own = _resolved(schema, schemas)
    out = _table(own, schemas)
    for name, field in own.get("properties", {}).items():
        inner = _record(field)
        if inner and depth < 3:
            title = inner.rsplit("/", 1)[-1]
            out += (
                f"<details><summary><code>{escape(name)}</code>: {title}</summary>"
                f"{_prose(schemas[title].get('description', ''))}"
                f"{_nested({'$ref': inner}, schemas, depth + 1)}</details>"
            )
    return out


def _table(schema: Schema, schemas: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kind(field))}</td>"
        f"<td>{_meaning(name, field, required, schemas)}</td></tr>"
        for name, field in schema.get("properties", {}).items()
    )
    return f'<div class="scroll"><table><tr><th>field<th>type<th>meaning</tr>{rows}</table></div>' if rows else ""


def _meaning(name: str, field: Schema, required: set[str], schemas: Schema) -> str:
    record = _record(field).rsplit("/", 1)[-1]
    told = _inline(field.get("description") or schemas.get(record, {}).get("description", ""))
    default = field.get("default")
    if name not in required and default not in (None, "", [], {}):
        told += f" <span class=more>Default {escape(json.dumps(default))}.</span>"
    return told


def _kind(field: Schema) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[-1]
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_kind(field['additionalProperties'])}"
    return str(field.get("type", "value"))


def _record(field: Schema) -> str:
    """The name of the record that a field holds, in a list or not."""
    for one in [field, *field.get("anyOf", ()), field.get("items", {}), field.get("additionalProperties", {})]:
        if isinstance(one, dict) and "$ref" in one:
            return str(one["$ref"])
    return ""


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    found: Schema = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    return found


def _anchor(path: str) -> str:
    return re.sub(r"[^a-z]+", "-", path.lower()).strip("-") or "explorer"


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.strip().split("\n\n") if part)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
