"""Text as HTML: pages in Markdown, docstrings and contracts of headers, source code."""
import html
import re
import textwrap

import pygments
import pygments.formatters
import pygments.lexers
from markdown_it import MarkdownIt

LANGUAGES = {"sh": "bash", "console": "console", "": "text", "text": "text", "py": "python", "h": "c", "inc": "c", "mjs": "javascript",
             "ipynb": "json", "svg": "xml"}
FORMATTER = pygments.formatters.HtmlFormatter(nowrap=True)


def escape(text):
    return html.escape(text, quote=True)


def plain(markup):
    """The words of HTML, for the index of the search."""
    text = re.sub(r"<(/?)(p|li|td|th|tr|dt|dd|pre|div|h\d|br)\b[^>]*>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def code(text, language=""):
    """A block of code; a language that pygments does not know is plain text."""
    language = LANGUAGES.get(language, language)
    try:
        lexer = pygments.lexers.get_lexer_by_name("pycon" if language == "python" and text.lstrip().startswith(">>>") else language)
    except pygments.util.ClassNotFound:
        lexer = pygments.lexers.TextLexer()
    return f'<pre tabindex="0"><code>{pygments.highlight(text, lexer, FORMATTER)}</code></pre>\n'


def slug(heading):
    """The anchor that GitHub makes of a heading, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Anchors:
    """Anchors of a page; one that stands twice is told apart as on GitHub."""

    def __init__(self):
        self.count = {}

    def of(self, heading):
        name = slug(heading)
        seen = self.count[name] = self.count.get(name, -1) + 1
        return f"{name}-{seen}" if seen else name


class Markdown:
    """Pages: `link` maps an address in the source to one of the site, `name` an inline code to an address, or None."""

    def __init__(self, link, name):
        self.link, self.name = link, name
        self.parser = MarkdownIt("commonmark", {"html": True, "highlight": lambda text, language, _: code(text, language)})
        self.parser.enable(["table", "strikethrough"])
        rules = self.parser.renderer.rules
        rules["code_inline"] = self._code
        rules["table_open"] = lambda *_: '<div class="wide" tabindex="0"><table>\n'
        rules["table_close"] = lambda *_: "</table></div>\n"
        rules["fence"] = lambda tokens, i, *_: code(tokens[i].content, tokens[i].info.strip().partition(" ")[0])

    def _code(self, tokens, i, *_):
        text = tokens[i].content
        shown = f"<code>{escape(text)}</code>"
        inside = any(token.type == "link_open" for token in tokens[:i]) and \
            sum({"link_open": 1, "link_close": -1}.get(token.type, 0) for token in tokens[:i]) > 0
        address = None if inside else self.name(text)
        return shown if address is None else f'<a class="name" href="{escape(address)}">{shown}</a>'

    def render(self, text):
        """(HTML, [(level, anchor, heading)])."""
        tokens, anchors, headings = self.parser.parse(text), Anchors(), []
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                inline = tokens[i + 1]
                words = "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))
                # GitHub makes the anchor of what is shown
                anchor = anchors.of(words)
                token.attrSet("id", anchor)
                headings.append((int(token.tag[1]), anchor, words))
            for child in token.children or ():
                for attribute in ("href", "src"):
                    if child.attrGet(attribute) is not None:
                        child.attrSet(attribute, self.link(child.attrGet(attribute)))
        return self.parser.renderer.render(tokens, self.parser.options, {}), headings


# ---- docstrings and contracts

ITEM = re.compile(r"( *)(\S(?:[^ ]| (?! ))*?) {2,}(\S.*)$")


NAMES = re.compile(r"[A-Za-z_][\w.>*-]*(, [A-Za-z_][\w.>*-]*)*$")


def inline(text, name):
    """Text with `code`; names of the interface are links."""
    def link(match):
        word = match[1] or match[0]
        shown = f"<code>{escape(word)}</code>"
        address = name(word)
        if address is None:
            return shown if match[1] else escape(word)
        return f'<a class="name" href="{escape(address)}">{shown}</a>'

    parts, end = [], 0
    for match in re.finditer(r"`([^`]+)`|\bcpb_[a-z0-9_]+\b", text):
        parts += [escape(text[end:match.start()]), link(match)]
        end = match.end()
    return "".join(parts) + escape(text[end:])


def _joined(lines):
    """One line; what stands apart at the end of one, as "borrowed for the call", is told apart by a dot."""
    return " ".join(re.sub(r"(\S) {3,}(?=\S)", r"\1 · ", " ".join(line.strip() for line in lines)).split())


def _is_list(lines):
    match = ITEM.match(lines[0])
    return match is not None and len(match[2]) <= 40


def _list(lines, name):
    """Lines "name   what it is", whose continuations are indented further."""
    items = []
    indent = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        match = ITEM.match(line)
        if match and len(match[1]) <= indent and len(match[2]) <= 40:
            items.append([match[2], [match[3]]])
        elif items:
            items[-1][1].append(line.strip())
    rows = "".join(f"<dt><code>{escape(head)}</code></dt><dd>{inline(_joined(text), name)}</dd>" for head, text in items)
    return f"<dl>{rows}</dl>\n"


def _pieces(paragraph):
    """A paragraph is cut where a list begins or ends inside of it."""
    piece, kind, indent = [], None, 0
    for line in paragraph:
        depth = len(line) - len(line.lstrip())
        match = ITEM.match(line)
        if kind == "list" and depth > indent and not (match and depth == indent):
            piece.append(line)  # continues an item
            continue
        is_item = match and len(match[2]) <= 24 and (depth >= 2 or kind == "list" or not piece or NAMES.match(match[2]))
        now = "list" if is_item and not match[2].endswith((".", ",", ";")) else "formula" if depth >= 2 else "text"
        if now != kind and piece:
            yield kind, piece
            piece = []
        piece, kind, indent = [*piece, line], now, depth if now == "list" else indent
    if piece:
        yield kind, piece


def help_text(text, name):
    """What help prints: paragraphs, and lines whose columns are set by spaces, which stay lines."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if re.search(r"\S {2,}\S|^ ", paragraph, re.M):
            made.append(f'<pre class="formula" tabindex="0">{escape(paragraph)}</pre>\n')
        else:
            made.append(f"<p>{inline(' '.join(paragraph.split()), name)}</p>\n")
    return "".join(made)


def docstring(text, name):
    """Paragraphs, lists of "name   text", formulas and examples, as docstrings and contracts have them."""
    made = []
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        lines = paragraph.splitlines()
        if len(lines) > 1 and re.match(r" *-{3,}$", lines[1]):  # a section of numpydoc, as scikit-learn's users expect it
            made.append(f"<p><b>{escape(lines[0].strip())}</b></p>\n" + _list([re.sub(r"^(\S[^:]*) : ", r"\1   ", line) for line in lines[2:]], name))
            continue
        if lines and lines[0].lstrip().startswith(">>>"):
            made.append(code(textwrap.dedent(paragraph), "python"))
            continue
        for kind, piece in _pieces(lines):
            if kind == "list" and _is_list(piece):
                made.append(_list(piece, name))
            elif kind == "formula":
                made.append(f'<pre class="formula" tabindex="0">{escape(textwrap.dedent(chr(10).join(piece)))}</pre>\n')
            else:
                made.append(f"<p>{inline(_joined(piece), name)}</p>\n")
    return "".join(made)
