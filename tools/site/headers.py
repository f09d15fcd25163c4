"""The pages of the C interface: one for each public header, from its comments."""
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "capball"
COMMENT = re.compile(r"/\*.*?\*/", re.S)


@dataclass
class Part:
    """A piece of a header: prose between declarations, or declarations with the contract above them."""

    text: str
    code: str = ""
    functions: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)

    @property
    def names(self):
        return self.types + self.functions


def words_of(comment):
    """A comment without its frame."""
    lines = comment.removeprefix("/**").removeprefix("/*").removesuffix("*/").splitlines()
    first, rest = lines[0].strip(" "), [re.sub(r"^ ?\*? ?", "", line, count=1) if line.lstrip().startswith("*") else line.strip() for line in lines[1:]]
    return "\n".join([first, *rest]).rstrip()


def declarations(text):
    """(comment or None, code) in the order of a header; code ends with a ; outside of braces."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("/*", at):
            end = COMMENT.match(text, at).end()
            yield text[at:end], None
            at = end
        elif text[at] == "#" or text.startswith(("CPB_BEGIN", "CPB_END"), at):
            end = at
            while True:
                end = (text.find("\n", end) + 1) or len(text)
                if text[end - 2:end - 1] != "\\":
                    break
            yield None, text[at:end].rstrip()
            at = end
        else:
            end, depth = at, 0
            while end < len(text):
                if text.startswith("/*", end):
                    end = COMMENT.match(text, end).end()
                    continue
                depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(text[end], 0)
                end += 1
                if (text[end - 1] == ";" and depth == 0) or (text[end - 1] == "}" and depth <= 0 and not re.match(r"[^;\n]*;", text[end:])):
                    break
            yield None, text[at:end].strip()
            at = end


def names_in(code):
    """(functions, types) that a declaration declares."""
    bare = COMMENT.sub("", code)
    if re.match(r"CPB_(API|CALL)\b", bare):
        return [re.search(r"(\w+)\s*\(", re.sub(r"^CPB_(API|CALL)\s*", "", bare))[1]], []
    if bare.startswith("typedef"):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(|\b(\w+)\s*\([^{}]*\)\s*;$", bare)
        name = (pointer[1] or pointer[2]) if pointer and "{" not in bare else re.search(r"(\w+)\s*;$", bare)[1]
        return [], [name]
    if bare.startswith("enum") or bare.startswith("struct"):
        found = re.match(r"(?:enum|struct)\s+(\w+)", bare)
        return [], [found[1]] if found else re.findall(r"\b(CPB_\w+)\b", bare)[:1]
    inline = re.search(r"(\w+)\s*\([^()]*\)\s*\{", bare)
    return ([], [inline[1]]) if inline else ([], [])


def shown(code):
    """A declaration as it is shown: prototypes that are long have a line for each parameter."""
    made = []
    for each in re.split(r"\n(?=CPB_(?:API|CALL) )", code):
        prototype = re.match(r"CPB_(?:API|CALL) (.*)\);$", each, re.S)
        if prototype:
            each = re.sub(r"\s+", " ", prototype[1]) + ");"
            if len(each) > 80:
                head, _, given = each.removesuffix(");").partition("(")
                each = head + "(\n    " + ",\n    ".join(part.strip() for part in given.split(",")) + ");"
        made.append(each)
    return "\n".join(made)


class Header:
    """A header: its opening comment and its parts."""

    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(INCLUDE).as_posix()
        self.title = "capball/" + self.name
        self.intro, self.parts = "", []
        self._read(path.read_text(encoding="utf-8"))

    def _read(self, text):
        text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", "", text, flags=re.S | re.M)
        contract, last = None, None
        for comment, code in declarations(text):
            if comment is not None and not self.intro and not self.parts:
                self.intro = words_of(comment)
            elif comment is not None and comment.startswith("/**"):
                contract, last = words_of(comment), None
            elif comment is not None:
                self.parts.append(Part(words_of(comment)))
                contract, last = None, None
            else:
                functions, types = names_in(code)
                if not functions and not types:
                    if code.startswith("#define CPB_") and contract is not None:
                        types = [re.match(r"#define (\w+)", code)[1]]
                    else:
                        continue
                last = self._add(contract, code, functions, types, last)
                contract = None

    def _add(self, contract, code, functions, types, last):
        """Prototypes that follow one another, or a type, belong to the contract above the first of them."""
        if contract is None and last is not None and functions:
            last.code += "\n" + code
            last.functions += functions
            return last
        part = Part(contract or "", code, functions, types)
        self.parts.append(part)
        return part

    def says(self, function):
        """The text that a function has: that of its part, or of another part that names it."""
        for part in self.parts:
            if function in part.functions and part.text:
                return part.text
        return next((part.text for part in self.parts if part.code and re.search(rf"\b{function}\b", part.text)), None)


def headers():
    """In the reading order of capball.h, then the advanced ones."""
    reading = re.findall(r'#include "capball/(.*?)"', (INCLUDE / "capball.h").read_text(encoding="utf-8"))
    first = [INCLUDE / name for name in reading if (INCLUDE / name).exists()]
    rest = sorted(path for path in INCLUDE.rglob("*.h") if path not in first and path.name != "capball.h")
    return [Header(path) for path in [*first, *rest]]


def missing(found):
    """(number of exported functions, those without a text)."""
    exported = [line.split()[0] for line in (ROOT / "tools" / "symbols.txt").read_text().splitlines()]
    return len(exported), [name for name in exported if not any(header.says(name) for header in found)]


if __name__ == "__main__":
    count, without = missing(headers())
    print("\n".join(without))
    print(f"{count - len(without)} of {count} exported functions of C have their text")
