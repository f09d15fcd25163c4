"""Writes the page as one file: python bundle.py NPM_FOLDER INDEX.html

Modules become functions that return their exports, in the order of their imports, so that the result is one script
whose hash the content security policy names. Only `import {..} from` and `export` before a declaration are supported.
"""
import base64
import hashlib
import pathlib
import re
import sys
import zlib

IMPORT = re.compile(r"^import \{([^}]*)\} from '([^']+)';\n", re.M)
EXPORT = re.compile(r"^export (async function|function|class|const|let) (\w+)", re.M)
MOST_BYTES = 700_000


def collect(path, found):
    """All modules that a module needs, itself last, as {path: source}."""
    source = path.read_text()
    for _, target in IMPORT.findall(source):
        needed = (path.parent / target).resolve()
        if needed not in found:
            collect(needed, found)
    found[path] = source
    return found


def variable(path):
    return "module_" + path.stem


def wrap(path, source):
    imports = "".join(
        f"  const {{{names}}} = {variable((path.parent / target).resolve())};\n" for names, target in IMPORT.findall(source)
    )
    names = [name for _, name in EXPORT.findall(source)]
    body = EXPORT.sub(r"\1 \2", IMPORT.sub("", source))
    assert not re.search(r"^(import|export) ", body, re.M), f"{path}: an import or export that bundle.py does not know"
    return f"const {variable(path)} = (() => {{\n{imports}{body}\nreturn {{ {', '.join(names)} }};\n}})();\n"


def bundle(path):
    modules = collect(path.resolve(), {})
    script = "'use strict';\n" + "".join(wrap(where, source) for where, source in modules.items())
    assert "</script" not in script
    return re.sub(r"^\s*//.*\n", "", script, flags=re.M)


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def deflated(path):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return base64.b64encode(packer.compress(path.read_bytes()) + packer.flush()).decode()


def page(package):
    here = pathlib.Path(__file__).parent / "page"
    style, script = (here / "style.css").read_text(), bundle(here / "main.js")
    policy = "; ".join([
        "default-src 'none'",
        f"script-src {digest(script)} 'wasm-unsafe-eval'",
        f"style-src {digest(style)}",
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ])
    parts = {
        "policy": policy,
        "style": style,
        "script": script,
        "worker": bundle(here / "worker.js"),
        "wasm": deflated(package / "capball.wasm"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], (here / "index.html").read_text())


def main():
    text = page(pathlib.Path(sys.argv[1]))
    assert len(text.encode()) < MOST_BYTES, f"the page has {len(text.encode())} bytes, more than {MOST_BYTES}"
    pathlib.Path(sys.argv[2]).write_text(text)


main()
