"""Writes the site of the documentation into a folder: pages that link by relative addresses and need no server.

  python pages.py FOLDER PICTURES    PICTURES: what gallery.py has drawn

Pages are README.md, docs/ and what they link to. Navigation is the list of docs/README.md. A warning is an error.
"""
import base64
import gzip
import json
import os
import re
import shutil
import string
import sys
from pathlib import Path

import gallery
import headers
import prose
import python_api
import verbs

ROOT = Path(__file__).resolve().parents[2]
THEME = Path(__file__).with_name("theme")
TITLE = "capball"
# Pages whose address is not that of their source.
NAMED = {"README.md": "index.html", "docs/README.md": "pages.html", "CHANGELOG.md": "changes.html", "CONTRIBUTING.md": "contributing.html",
         "SECURITY.md": "security.html", "docs/gallery/README.md": "gallery.html", "contrib/web/npm/README.md": "reference/npm.html"}
MODULES, HEADERS, VERBS = "reference/python/", "reference/c/", "reference/command/"
KINDS = {"method": "", "classmethod": "class method", "property": "", "field": "", "param": "", "class": "class", "function": "", "constant": ""}


class Page:
    """What one file of the site shows; headings are (level, anchor, text)."""

    def __init__(self, address, title, body, headings, source=""):
        self.address, self.title, self.body, self.headings, self.source = address, title, body, headings, source


class Site:
    def __init__(self):
        self.pages, self.assets, self.wrong = {}, {}, []
        self.waiting = []  # sources that pages link to, and that are not written yet
        self.addresses = {}  # of sources
        self.anchors = {}  # of names of the interfaces
        self.version = re.findall(r"#define CPB_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/capball/status.h").read_text())
        self.version = ".".join(self.version)

    def add(self, page):
        if page.address in self.pages:
            self.wrong.append(f"{page.address}: there are two such pages")
        self.pages[page.address] = page

    def relative(self, page, address):
        path, mark, anchor = address.partition("#")
        if path == page:
            return mark + anchor or os.path.basename(page)
        return os.path.relpath(path, os.path.dirname(page) or ".").replace(os.sep, "/") + mark + anchor

    # ---- addresses of sources

    def address(self, source):
        """Where a file or folder of the tree is shown; it becomes a page when it is linked."""
        if source in self.addresses:
            return self.addresses[source]
        path = ROOT / source
        if source in NAMED:
            address = NAMED[source]
        elif re.fullmatch(r"include/capball/.*\.h", source):
            name = source.removeprefix("include/capball/").removesuffix(".h")
            return f"{HEADERS}{name}.html"
        elif re.fullmatch(r"docs/.*\.md", source):
            address = source.removeprefix("docs/").removesuffix(".md") + ".html"
        elif source.endswith(".ipynb"):
            address = f"tutorials/{path.stem.replace('_', '-')}-notebook.html"
        elif path.is_dir():
            address = f"source/{source}/index.html"
        else:
            address = f"source/{source}.html"
        self.addresses[source] = address
        self.waiting.append(source)
        return address

    def linker(self, page, source):
        """Maps the addresses in a page's source to addresses of the site."""
        folder = os.path.dirname(source)

        def link(given):
            if re.match(r"\w+:", given) or given.startswith("#"):
                return given
            path, mark, anchor = given.partition("#")
            target = os.path.normpath(os.path.join(folder, path))
            if not (ROOT / target).exists():
                self.wrong.append(f"{source}: there is no {target}")
                return given
            if target.endswith((".svg", ".png", ".json")):
                self.assets["assets/" + os.path.basename(target)] = ROOT / target
                return self.relative(page, "assets/" + os.path.basename(target))
            if target == ".":
                target = "README.md"
            return self.relative(page, self.address(target) + mark + anchor)
        return link

    def namer(self, page):
        """Maps inline code to the page of a function or command."""
        def name(text):
            word = text.removesuffix("()")
            found = self.anchors.get(word)
            if found is None and text.startswith("capball "):
                words = [w for w in text.split()[1:] if not w.startswith("-")]
                found = self.anchors.get(" ".join(["capball", *words[:2]])) or self.anchors.get(" ".join(["capball", *words[:1]]))
            return None if found is None or found == page else self.relative(page, found)
        return name

    # ---- pages of the tree

    def markdown(self, source, extra=None):
        address = self.address(source)
        text = (ROOT / source).read_text(encoding="utf-8")
        body, headings = prose.Markdown(self.linker(address, source), self.namer(address)).render(text)
        title = next((heading for level, _, heading in headings if level == 1), source)
        if extra is not None:
            more, more_headings = extra(address)
            body, headings = body + more, headings + more_headings
        self.add(Page(address, title, body, headings, source))

    def notebook(self, source):
        address, parts, cells = self.address(source), [], json.loads((ROOT / source).read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        body, headings = prose.Markdown(self.linker(address, source), self.namer(address)).render("\n\n".join(parts))
        note = f'<p class="note">A notebook of the source tree: <code>{source}</code></p>\n'
        self.add(Page(address, next((h for level, _, h in headings if level == 1), source), note + body, headings, source))

    def listing(self, source):
        """A folder: its pages are links, other names are names only."""
        address = self.address(source)
        items = []
        for path in sorted((ROOT / source).iterdir()):
            name = path.relative_to(ROOT).as_posix()
            shown = f"<code>{prose.escape(path.name)}{'/' if path.is_dir() else ''}</code>"
            if name in self.addresses or path.suffix == ".ipynb" or (source == "examples" and path.suffix == ".c"):
                shown = f'<a href="{self.relative(address, self.address(name))}">{shown}</a>'
            if not path.name.startswith((".", "__")):
                items.append(f"<li>{shown}</li>")
        self.add(Page(address, source, f"<h1><code>{source}/</code></h1>\n<p>A folder of the source tree.</p>\n<ul>{''.join(items)}</ul>\n", [], source))

    def source_code(self, source):
        text = (ROOT / source).read_text(encoding="utf-8")
        body = f"<h1><code>{source}</code></h1>\n<p>A file of the source tree.</p>\n" + prose.code(text, Path(source).suffix[1:])
        self.add(Page(self.address(source), source, body, [], source))

    def write_source(self, source):
        if source == "docs/gallery/README.md":
            self.markdown(source, self.gallery)
        elif source.endswith(".md"):
            self.markdown(source)
        elif source.endswith(".ipynb"):
            self.notebook(source)
        elif (ROOT / source).is_dir():
            self.listing(source)
        else:
            self.source_code(source)

    def gallery(self, address):
        parts, headings = [], []
        for program in gallery.PROGRAMS:
            title, text = gallery.title_and_text(program)
            anchor = prose.slug(title)
            headings.append((2, anchor, title))
            picture = f"assets/{program.stem}.png"
            self.assets[picture] = self.pictures / f"{program.stem}.png"
            parts.append(f'<h2 id="{anchor}">{prose.escape(title)}</h2>\n<p>{prose.inline(text, self.namer(address))}</p>\n'
                         f'<p><img class="picture" loading="lazy" src="{self.relative(address, picture)}" alt="{prose.escape(title)}"></p>\n'
                         f"<details><summary>The program, <code>{program.name}</code></summary>\n{prose.code(gallery.code_of(program), 'python')}</details>\n")
        return "".join(parts), headings

    # ---- the interfaces

    def know_names(self):
        """The addresses of all names, before any page is written."""
        for header in self.headers:
            address = f"{HEADERS}{header.name.removesuffix('.h')}.html"
            self.anchors["capball/" + header.name] = address
            self.anchors.update({name: f"{address}#{name}" for part in header.parts for name in part.names})
        for verb, _ in self.verbs:
            self.anchors[f"capball {verb}"] = f"{VERBS}{verb.replace(' ', '-')}.html"
        self.anchors["capball/capball.h"], self.anchors["capball help"] = HEADERS + "capball.html", VERBS + "index.html"
        for module in self.modules:
            address = f"{MODULES}{module.path}.html"
            self.anchors[module.path] = address
            for name in python_api.every(module):
                if name is not module:
                    self.anchors[name.path] = f"{address}#{name.path}"
                    # the short name, where it is that of a class or function of capball itself
                    if name.path.count(".") == 1 and module.path == "capball" and name.name.lower() not in ("fit", "ball", "search"):
                        self.anchors.setdefault(name.name, f"{address}#{name.path}")

    def header_page(self, header):
        address = f"{HEADERS}{header.name.removesuffix('.h')}.html"
        name, headings, parts = self.namer(address), [], []
        last = {each: part for part in header.parts for each in part.names}  # a type may be declared before it is defined
        for part in header.parts:
            if not part.code:
                parts.append(f'<div class="section">{prose.docstring(part.text, name)}</div>\n')
                continue
            named = [each for each in part.names if last[each] is part]
            for each in named:
                headings.append((3 if part.functions and each in part.types else 2, each, each))
            ids = "".join(f'<h2 id="{each}" class="entry"><code>{each}</code></h2>\n' for each in named)
            text = part.text or next((header.says(f) or "" for f in part.functions), "")
            parts.append(ids + prose.code(headers.shown(part.code) + "\n", "c") +
                         (prose.docstring(text, name) if text else ""))
        tier = "can change between releases of a minor version" if header.name.startswith("advanced/") else "is stable within a minor version"
        body = (f"<h1><code>{header.title}</code></h1>\n{prose.docstring(header.intro, name)}"
                f'<p class="note">What is declared here {tier}. <code>#include &lt;{header.title}&gt;</code></p>\n' + "".join(parts))
        self.add(Page(address, header.title, body, [h for h in headings if h[0] == 2], f"include/capball/{header.name}"))

    def headers_index(self):
        address = HEADERS + "capball.html"
        intro = headers.words_of(headers.COMMENT.search((ROOT / "include/capball/capball.h").read_text(encoding="utf-8"))[0])
        rows = []
        for header in self.headers:
            page = f"{HEADERS}{header.name.removesuffix('.h')}.html"
            functions = [name for part in header.parts for name in part.functions]
            links = ", ".join(f'<a href="{self.relative(address, page)}#{name}"><code>{name}</code></a>' for name in functions)
            rows.append(f'<h2 id="{prose.slug(header.name)}"><a href="{self.relative(address, page)}"><code>{header.title}</code></a></h2>\n'
                        f"<p>{prose.escape(' '.join(header.intro.split(chr(10) + chr(10))[0].split()))}</p>\n<p class=\"names\">{links}</p>\n")
        body = f"<h1>The C interface</h1>\n{prose.docstring(intro, self.namer(address))}" + "".join(rows)
        self.add(Page(address, "The C interface", body, [(2, prose.slug(h.name), h.title) for h in self.headers], "include/capball/capball.h"))

    def verb_page(self, verb, what):
        address = f"{VERBS}{verb.replace(' ', '-')}.html"
        usage, text, options, example = verbs.page(verb)
        listed = "".join(f"<dt><code>{prose.escape(option)}</code></dt><dd>{prose.escape(words)}</dd>" for option, words in options)
        about = text.partition("\n\n")[2]
        body = (f"<h1><code>capball {verb}</code></h1>\n<p>{prose.escape(what)}</p>\n{prose.code(usage + chr(10), 'text')}"
                + (prose.help_text(about, self.namer(address)) if about else "")
                + (f'<h2 id="options">Options</h2>\n<dl class="options">{listed}</dl>\n' if listed else "")
                + (f'<h2 id="example">Example</h2>\n{prose.code(example + chr(10), "sh")}' if example else ""))
        self.add(Page(address, f"capball {verb}", body, [], f"cli: capball help {verb}"))

    def verbs_index(self):
        address = VERBS + "index.html"
        rows = "".join(f'<tr><td><a href="{verb.replace(" ", "-")}.html"><code>{verb}</code></a></td><td>{prose.escape(what)}</td></tr>\n'
                       for verb, what in self.verbs)
        body = f"<h1>The command</h1>\n<p>What <code>capball help</code> prints, a page for each verb.</p>\n<div class=\"wide\" tabindex=\"0\"><table>{rows}</table></div>\n"
        self.add(Page(address, "The command", body, [], "cli"))

    def entry(self, member, level, name, module):
        """A class, function or member of a class."""
        kind = KINDS[member.kind]
        shown = member.path.removeprefix(module + ".")
        signature = "" if member.kind == "class" and not member.signature else member.signature
        text = prose.docstring(member.text, name)
        head = (f'<h{level} id="{member.path}" class="entry">{f"<small>{kind}</small> " if kind else ""}<code>{prose.escape(shown)}</code></h{level}>\n'
                f'<p class="signature"><code>{prose.escape(member.name + signature)}</code></p>\n')
        bases = f'<p class="note">Of {", ".join(f"<code>{prose.escape(base)}</code>" for base in member.bases)}</p>\n' if member.bases else ""
        facts = [inner for inner in member.members if inner.kind in ("field", "param")]
        listed = "".join(f'<dt id="{inner.path}"><code>{inner.name}{prose.escape(inner.signature)}</code></dt><dd>{prose.inline(inner.text, name)}</dd>'
                         for inner in facts)
        rest = "".join(self.entry(inner, level + 1, name, module) for inner in member.members if inner not in facts)
        return head + bases + text + (f"<dl>{listed}</dl>\n" if listed else "") + rest

    def module_page(self, module):
        address = f"{MODULES}{module.path}.html"
        name = self.namer(address)
        links = ", ".join(f'<a href="#{member.path}"><code>{member.name}</code></a>' for member in module.members)
        body = (f"<h1><code>{module.path}</code></h1>\n{prose.docstring(module.text, name)}<p class=\"names\">{links}</p>\n"
                + "".join(self.entry(member, 2, name, module.path) for member in module.members))
        headings = [(2, member.path, member.name) for member in module.members]
        self.add(Page(address, module.path, body, headings, f"python: {module.path}"))

    def modules_index(self):
        address = MODULES + "index.html"
        rows = "".join(f'<tr><td><a href="{m.path}.html"><code>{m.path}</code></a></td>'
                       f"<td>{prose.escape(' '.join(m.text.partition(chr(10) * 2)[0].split()))}</td></tr>\n" for m in self.modules)
        body = f"<h1>The Python package, name by name</h1>\n<div class=\"wide\" tabindex=\"0\"><table>{rows}</table></div>\n"
        self.add(Page(address, "The Python package, name by name", body, [], "python"))

    def try_page(self):
        """The interactive page stands beside the site, as it was built: its policy lets nothing else in."""
        built = ROOT / "build" / "web" / "index.html"
        if not built.is_file():
            raise SystemExit("there is no build/web/index.html: make web")
        self.assets["try/page.html"] = built
        body = ('<h1>Try your data</h1>\n<p>One page with the whole library, compiled for the browser. It reads a file of vectors or a table, '
                "shows what each transform keeps of its neighbours, finds outliers with reasons, and writes the same files as the command. "
                "Your data stay on your machine: the page may not use the network.</p>\n"
                '<p><a class="button" href="try/page.html">Open the page</a></p>\n'
                '<p>It is one file, which works without a server: save it, or write it by <code>capball page -o page.html</code>. '
                f'<a href="{self.address("docs/how-to/web.md")}">How it is built</a>.</p>\n')
        self.add(Page("try.html", "Try your data", body, [], "build/web/index.html"))

    # ---- navigation

    def navigation(self):
        """[(section, [(title, address, [children])])] from docs/README.md, with the pages that are made from sources."""
        sections, seen = [], set()
        for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                sections.append((line[3:].partition(":")[0], []))
            for title, target in re.findall(r"\[([^\]]+)\]\(([^)#]+)[^)]*\)", line) if sections else ():
                address = self.address(os.path.normpath("docs/" + target))
                if address not in seen:
                    seen.add(address)
                    sections[-1][1].append((title.strip("`")[0].upper() + title.strip("`")[1:], address, []))
        for name, items in sections:
            if name == "Reference":
                items[:0] = [("Python", MODULES + "index.html", [(m.path, f"{MODULES}{m.path}.html", []) for m in self.modules]),
                             ("C", HEADERS + "capball.html", [(h.name, f"{HEADERS}{h.name.removesuffix('.h')}.html", []) for h in self.headers]),
                             ("Command", VERBS + "index.html", [(v, f"{VERBS}{v.replace(' ', '-')}.html", []) for v, _ in self.verbs])]
                items[:] = [item for i, item in enumerate(items) if i < 3 or item[1] != HEADERS + "capball.html"]
                items[:] = [("Python, by samples" if item[1] == "reference/python.html" else item[0], *item[1:]) for item in items]
        return [("", [("capball", "index.html", []), ("Try your data", "try.html", [])]), *sections]

    def menu(self, page):
        def link(title, address):
            here = ' aria-current="page"' if address == page.address else ""
            return f'<a href="{self.relative(page.address, address)}"{here}>{prose.escape(title)}</a>'

        def item(title, address, children):
            if not children:
                return f"<li>{link(title, address)}</li>"
            inside = page.address == address or any(page.address == child[1] for child in children)
            return (f"<li><details{' open' if inside else ''}><summary>{prose.escape(title)}</summary><ul><li>{link('All', address)}</li>"
                    f"{''.join(item(*child) for child in children)}</ul></details></li>")

        return "".join(f"{f'<h2>{prose.escape(name)}</h2>' if name else ''}<ul>{''.join(item(*i) for i in items)}</ul>" for name, items in self.sections)

    # ---- output

    def contents(self, page):
        items = [(level, anchor, text) for level, anchor, text in page.headings if level in (2, 3)]
        if len(items) < 2:
            return ""
        listed = "".join(f'<li class="level{level}"><a href="#{anchor}">{prose.escape(text)}</a></li>' for level, anchor, text in items)
        return f'<nav class="contents" aria-label="On this page"><details open><summary>On this page</summary><ul>{listed}</ul></details></nav>'

    def search_index(self):
        """([[address, title]], [[page, anchor, heading, text]]) of all pages but those of source. What inherits a text is found by its name."""
        entries, pages, said = [], [], set()
        for page in self.pages.values():
            if page.address.startswith("source/"):
                continue
            pages.append([page.address, page.title])
            pieces = re.split(r'(?=<(?:h[1-6]|dt) [^>]*?id=")', page.body)
            for piece in pieces:
                found = re.match(r'<(h[1-6]|dt) [^>]*?id="([^"]*)"[^>]*>(.*?)</\1>', piece, re.S)
                heading = prose.plain(found[3]) if found else ""
                text = prose.plain(piece[found.end():] if found else piece)
                if text in said and len(text) > 40:
                    text = ""
                said.add(text)
                if text or heading:
                    entries.append([len(pages) - 1, found[2] if found and found[1] != "h1" else "", heading if heading != page.title else "", text])
        return pages, entries

    def write(self, folder):
        template = string.Template((THEME / "page.html").read_text(encoding="utf-8"))
        folder.mkdir(parents=True)
        for page in self.pages.values():
            root = self.relative(page.address, "index.html").removesuffix("index.html")
            text = template.substitute(title=prose.escape(page.title if page.title.startswith(TITLE) else f"{page.title} · {TITLE}"), root=root, version=self.version,
                                       menu=self.menu(page), contents=self.contents(page), body=page.body)
            target = folder / page.address
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for address, source in self.assets.items():
            (folder / address).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / address)
        for name in ("style.css", "site.js"):
            shutil.copyfile(THEME / name, folder / "assets" / name)
        index = gzip.compress(json.dumps(self.search_index(), ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
        (folder / "assets" / "search.js").write_text(f'window.capballIndex = "{base64.b64encode(index).decode()}";\n', encoding="utf-8")

    def build(self, folder, pictures):
        self.pictures, self.modules, self.headers, self.verbs = pictures, python_api.modules(), headers.headers(), verbs.verbs()
        self.know_names()
        self.address("README.md")
        self.sections = self.navigation()
        while self.waiting:
            self.write_source(self.waiting.pop(0))
            if not self.waiting and "try.html" not in self.pages:
                self.try_page()
        for header in self.headers:
            self.header_page(header)
        for verb, what in self.verbs:
            self.verb_page(verb, what)
        for module in self.modules:
            self.module_page(module)
        self.headers_index()
        self.verbs_index()
        self.modules_index()
        self.write(folder)


def texts():
    """Every public name of Python and function of C has its text, or this is an error."""
    names, without = python_api.missing()
    functions, silent = headers.missing(headers.headers())
    print(f"{names - len(without)} of {names} public names of Python and {functions - len(silent)} of {functions} functions of C have their text")
    return [f"{name} has no text" for name in without + silent]


if __name__ == "__main__":
    folder, pictures = map(Path, sys.argv[1:])
    site = Site()
    wrong = texts()
    if not wrong:
        shutil.rmtree(folder, ignore_errors=True)
        site.build(folder, pictures)
    wrong += site.wrong
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{len(site.pages)} pages, {len(wrong)} warnings")
    sys.exit(bool(wrong))
