"""The page at `/docs`: the OpenAPI description as plain HTML, without scripts and without anything from elsewhere."""

import base64
import hashlib
import json
import re
from html import escape
from typing import Any

Schema = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: light-dark(#0b57d0, #8ab4f8); }
body { background: light-dark(#fff, #16181d); color: light-dark(#1b1a18, #eceae6); }
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
        f"<main><h1>{escape(info['title'])} {escape(info['version'])} over HTTP</h1>{_prose(info['description'])}"
        f'<p><a href="/">The explorer</a> · <a href="/openapi.json">OpenAPI description</a></p><nav>{links}</nav>'
        f"{parts}</main></body></html>"
    )


def _operation(path: str, method: str, about: Schema, schemas: Schema, address: str) -> str:
    out = [f'<h2 id="{_anchor(path)}"><span class="method">{method}</span> {escape(path)}</h2>']
    out.append(_prose(about.get("description") or about["summary"]))
    command = f"curl {address}{path.replace('{name}', 'NAME')}"
    request: Schema = {}
    if "requestBody" in about:
        request = schemas[_record(about["requestBody"]["content"]["application/json"]["schema"])]
        command += f" -d '{json.dumps(request['examples'][0], ensure_ascii=False)}'"
    out.append(f'<pre tabindex="0"><code>{escape(command)}</code></pre>')
    parameters = {
        one["name"]: {**one["schema"], "description": one.get("description", "")} for one in about.get("parameters", ())
    }
    out.append(_table({"properties": parameters}, schemas))
    if request:
        out.append(f"<h3>Request</h3>{_table(request, schemas)}")
    answer, *refusals = about["responses"].items()
    content = answer[1]["content"].get("application/json", {})
    if "schema" in content:
        out.append(f"<h3>Answer</h3>{_example(content)}{_nested(schemas[_record(content['schema'])], schemas)}")
    told = ", ".join(f"<code>{status}</code> {escape(one['description'])}" for status, one in refusals)
    return "".join(out) + f'<p class="more">Refusals: {told}.</p>'


def _example(content: Schema) -> str:
    if "example" not in content:
        return ""
    shown = json.dumps(content["example"], indent=1, ensure_ascii=False)
    short = re.sub(r"[\[{]\s+([^][{}]{0,110}?)\s+[]}]", lambda found: re.sub(r"\s+", " ", found[0]), shown)
    return f'<details><summary>Example</summary><pre tabindex="0"><code>{escape(short)}</code></pre></details>'


def _nested(schema: Schema, schemas: Schema, depth: int = 0) -> str:
    """The fields of an answer, and below them those of the records it holds."""
    out = _table(schema, schemas)
    for name, field in schema.get("properties", {}).items():
        title = _record(field)
        if title and depth < 3:
            inner = schemas[title]
            out += (
                f"<details><summary><code>{escape(name)}</code>: {title}</summary>"
                f"{_prose(inner.get('description', ''))}{_nested(inner, schemas, depth + 1)}</details>"
            )
    return out


def _table(schema: Schema, schemas: Schema) -> str:
    rows = ""
    for name, field in schema.get("properties", {}).items():
        meaning = _inline(field.get("description") or schemas.get(_record(field), {}).get("description", ""))
        default = field.get("default")
        if name not in schema.get("required", ()) and default not in (None, "", [], {}):
            meaning += f" <span class=more>Default {escape(json.dumps(default))}.</span>"
        rows += f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kind(field))}</td><td>{meaning}</td></tr>"
    return f'<div class="scroll"><table><tr><th>field<th>type<th>meaning</tr>{rows}</table></div>' if rows else ""


def _kind(field: Schema) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    if "$ref" in field:
        return _record(field)
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_kind(field['additionalProperties'])}"
    return str(field.get("type", "value"))


def _record(field: Schema) -> str:
    """The name of the record that a field is or holds, in a list or not; nothing if it holds none."""
    for one in [field, *field.get("anyOf", ()), field.get("items", {}), field.get("additionalProperties", {})]:
        if isinstance(one, dict) and "$ref" in one:
            return str(one["$ref"]).rsplit("/", 1)[-1]
    return ""


def _anchor(path: str) -> str:
    return re.sub(r"[^a-z]+", "-", path.lower()).strip("-")


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.strip().split("\n\n") if part)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
