"""Checks a built site: every address leads to a file of it and to an anchor there, and no page weighs more than a megabyte.

  python check_site.py FOLDER

The weight of a page is that of all that it loads: style, scripts, pictures, and the index of the search.
"""
import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

MOST = 1_000_000


class Reader(HTMLParser):
    """Anchors, addresses and what is loaded of one page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self.wrong, self.open = set(), [], [], [], []
        self.feed(text)
        self.wrong += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id") is not None:
            if given["id"] in self.anchors:
                self.wrong.append(f"the anchor {given['id']} stands twice")
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "link") and (given.get("src") or given.get("href")):
            self.loaded.append(given.get("src") or given["href"])
        if tag == "img" and not given.get("alt"):
            self.wrong.append(f"{given.get('src')} has no alt")
        if tag not in ("meta", "link", "img", "input", "br", "hr", "source"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.wrong.append(f"</{tag}> closes nothing")


def is_outside(address):
    return re.match(r"\w+:", address) is not None


def check(folder):
    """(what is wrong, pages, addresses, addresses of other sites, weight and name of the heaviest page)."""
    own = {path: Reader(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html")) if path.relative_to(folder).parts[0] != "try"}
    search = (folder / "assets/search.js").stat().st_size
    wrong, outside, count, heaviest = [], set(), 0, (0, "")
    for path, page in own.items():
        name = path.relative_to(folder).as_posix()
        wrong += [f"{name}: {what}" for what in page.wrong]
        for address in page.links + page.loaded:
            count += 1
            if is_outside(address):
                outside.update([address] if not address.startswith("data:") else [])
                if address in page.loaded and not address.startswith("data:"):
                    wrong.append(f"{name}: loads {address} from elsewhere")
                continue
            file, _, anchor = unquote(address).partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.is_file():
                wrong.append(f"{name}: there is no {address}")
            elif anchor and target in own and anchor not in own[target].anchors:
                wrong.append(f"{name}: {file or 'the page'} has no anchor #{anchor}")
        files = {(path.parent / unquote(address)).resolve() for address in page.loaded if not is_outside(address)}
        weight = path.stat().st_size + search + sum(file.stat().st_size for file in files if file.is_file())
        heaviest = max(heaviest, (weight, name))
        if weight > MOST:
            wrong.append(f"{name}: weighs {weight} bytes with the search")
    # an address of the search leads somewhere, too
    packed = json.loads((folder / "assets/search.js").read_text(encoding="utf-8").removeprefix("window.capballIndex = ").rstrip(";\n"))
    index, sections = json.loads(gzip.decompress(base64.b64decode(packed)))
    for number, anchor, *_ in sections:
        file, address = index[number][0], f"{index[number][0]}#{anchor}"
        count += 1
        target = (folder / file).resolve()
        if target not in own or (anchor and anchor not in own[target].anchors):
            wrong.append(f"assets/search.js: there is no {address}")
    return wrong, len(own), count, outside, heaviest


if __name__ == "__main__":
    wrong, pages, count, outside, (weight, name) = check(Path(sys.argv[1]).resolve())
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{pages} pages, {count} links, {len(wrong)} dead or wrong; {len(outside)} addresses of other sites, not tried")
    print(f"the heaviest page is {name}: {weight} bytes with style, scripts, pictures and search")
    sys.exit(bool(wrong))
