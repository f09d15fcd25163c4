"""The public names of the Python package, with their signatures and texts.

Sources are parsed, not imported, so that nothing that they need has to be installed. Classes of the extension module take their
signatures from _core.pyi, and their texts from the module itself, which must be importable.
"""
import ast
import importlib
import inspect
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "capball"
# In the order of the pages; a tree without contrib/ lacks the last ones.
MODULES = {"capball": PACKAGE / "__init__.py", "capball.sklearn": PACKAGE / "sklearn.py", "capball.pyod": PACKAGE / "pyod.py",
           "capball.engines": PACKAGE / "engines" / "__init__.py", "capball.torch": PACKAGE / "torch" / "__init__.py",
           "capball.plots": PACKAGE / "plots.py", "capball.convert": PACKAGE / "convert.py",
           "capball.spark": ROOT / "contrib" / "spark" / "capball_spark" / "__init__.py",
           "capball.duckdb": ROOT / "contrib" / "sql" / "python" / "duckdb.py"}
CORE = PACKAGE / "_core.pyi"


@dataclass
class Name:
    """A module, class, function, property, field or constant; `text` is None where it has none."""

    path: str
    kind: str
    signature: str = ""
    text: str | None = None
    bases: list[str] = field(default_factory=list)
    members: list["Name"] = field(default_factory=list)

    @property
    def name(self):
        return self.path.rpartition(".")[2]


class Source:
    """A parsed file and the names that it defines or imports from the package."""

    opened: dict[Path, "Source"] = {}

    def __init__(self, path):
        self.path, self.tree = path, ast.parse(path.read_text(encoding="utf-8"))
        self.defined, self.imported = {}, {}
        for node in self.statements():
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.defined[node.name] = node
            elif isinstance(node, ast.Assign):
                self.defined.update({t.id: node for t in node.targets if isinstance(t, ast.Name)})
            elif isinstance(node, ast.AnnAssign):
                self.defined[node.target.id] = node
            elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("capball")):
                self.imported.update({alias.asname or alias.name: (node, alias.name) for alias in node.names})

    def statements(self):
        for node in self.tree.body:
            yield from node.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else [node]

    @classmethod
    def of(cls, path):
        if path not in cls.opened:
            cls.opened[path] = cls(path)
        return cls.opened[path]

    def module_path(self, node, name=None):
        """The file that `from node.module import name` reads; None outside of the package."""
        if node.level:
            folder = self.path.parents[node.level - 1]
        else:
            folder = PACKAGE.parent
        parts = (node.module or "").split(".") if node.module else []
        for tail in ([*parts, name], parts) if name else (parts,):
            base = folder.joinpath(*tail)
            for path in (base.with_suffix(".py"), base / "__init__.py", base.with_suffix(".pyi")):
                if path.is_file():
                    return path
        return None

    def find(self, name):
        """(source, node) of a name, which may be imported; None where it is not of the package."""
        if "." in name:
            module, _, name = name.rpartition(".")
            if module == "capball":
                return Source.of(MODULES[module]).find(name)
            if module not in self.imported:
                return None
            path = self.module_path(self.imported[module][0], self.imported[module][1])
            return None if path is None else Source.of(path).find(name)
        if name in self.defined:
            return self, self.defined[name]
        if name in self.imported:
            node, original = self.imported[name]
            path = self.module_path(node)
            return None if path is None else Source.of(path).find(original)
        return None

    def public(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
                return ast.literal_eval(node.value)
        return [name for name, node in self.defined.items()
                if not name.startswith("_") and isinstance(node, (ast.ClassDef, ast.FunctionDef))]


def signature_of(node, method):
    """The parameters as they are written, without self or cls, and the result."""
    given = ast.unparse(node.args)
    decorators = {ast.unparse(d) for d in node.decorator_list}
    if method and "staticmethod" not in decorators:
        given = given.partition(", ")[2] if ", " in given else ""
        given = given.removeprefix("/, ").removeprefix("/")
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"({given}){result}".replace('"', "'")


def core_text(*names):
    """The text that the extension module has for one of its names."""
    value = importlib.import_module("capball._core")
    for name in names:
        value = getattr(value, name)
    return inspect.getdoc(value)


def text_of(source, node, names):
    return (core_text(*names) if source.path == CORE else None) or ast.get_docstring(node)


def own_members(source, node, path):
    """What the body of a class defines, in its order."""
    found = {}
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
            decorators = {ast.unparse(d) for d in inner.decorator_list}
            if any(d.endswith(".setter") for d in decorators):
                continue
            kind = "property" if decorators & {"property", "functools.cached_property", "cached_property"} else \
                "classmethod" if "classmethod" in decorators else "method"
            text = text_of(source, inner, (node.name, inner.name))
            shown = "" if kind == "property" else signature_of(inner, True)
            if kind == "property" and inner.returns is not None:
                shown = f": {ast.unparse(inner.returns)}"
            found[inner.name] = Name(f"{path}.{inner.name}", kind, shown, text)
        elif isinstance(inner, ast.AnnAssign) and not inner.target.id.startswith("_"):
            text = core_text(node.name, inner.target.id) if source.path == CORE else \
                described(ast.get_docstring(node), inner.target.id) or comment_at(source, inner)
            found[inner.target.id] = Name(f"{path}.{inner.target.id}", "field", f": {ast.unparse(inner.annotation)}", text)
        elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Call) and ast.unparse(inner.value.func) == "param":
            name, text = (ast.literal_eval(a) for a in inner.value.args[:2])  # of Spark
            found[name] = Name(f"{path}.{name}", "param", "", text)
        elif isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name) and isinstance(inner.value, ast.Name) \
                and not inner.targets[0].id.startswith("_") and inner.value.id in found:
            same = found[inner.value.id]
            found[inner.targets[0].id] = Name(f"{path}.{inner.targets[0].id}", same.kind, same.signature, f"The same as {same.name}.")
    return found


def described(text, name):
    """What the list of a docstring says of a name: "name   text" or "one, name   text"."""
    for line in (text or "").splitlines():
        head, gap, rest = line.strip().partition("  ")
        if gap and rest and name in head.split(", "):
            return rest.strip()
    return None


def all_members(source, node, path):
    """Own members first, then those of the bases that belong to the package."""
    found = own_members(source, node, path)
    for base in node.bases:
        where = source.find(ast.unparse(base))
        if where is not None and isinstance(where[1], ast.ClassDef):
            for name, member in all_members(*where, path).items():
                if name not in found:
                    found[name] = member
                elif found[name].text is None:
                    found[name].text = member.text  # as help() shows it
    for name, member in found.items():
        if member.kind == "field" and member.text is None:
            member.text = described(ast.get_docstring(node), name)
    return found


def class_of(source, node, path):
    init = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name in ("__init__", "__new__")), None)
    if init is None:
        for base in node.bases:
            where = source.find(ast.unparse(base))
            if where is not None and isinstance(where[1], ast.ClassDef):
                init = next((f for f in where[1].body if isinstance(f, ast.FunctionDef) and f.name in ("__init__", "__new__")), None)
                break
    bases = [ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith("_core.")]
    bases = [base.rpartition(".")[2] for base in bases]
    return Name(path, "class", signature_of(init, True).partition(" ->")[0] if init is not None else "", text_of(source, node, (node.name,)),
                [base for base in bases if not base.startswith("_")], list(all_members(source, node, path).values()))


def comment_at(source, node):
    """The comment at the end of the line of a constant, or on the lines above it."""
    lines = source.path.read_text(encoding="utf-8").splitlines()
    _, mark, rest = lines[node.lineno - 1].partition("  # ")
    if mark and not rest.startswith(("type:", "noqa")):
        return rest
    above = []
    for line in reversed(lines[:node.lineno - 1]):
        if not line.startswith("# "):
            break
        above.insert(0, line[2:])
    return " ".join(above) or None


def module_of(module, path):
    source = Source.of(path)
    found = Name(module, "module", "", ast.get_docstring(source.tree))
    for name in sorted(source.public(), key=lambda name: (name.lower(), name)):
        where = source.find(name)
        if where is None:
            raise SystemExit(f"{path}: {name} is public, and there is no source of it")
        origin, node = where
        if isinstance(node, ast.ClassDef):
            found.members.append(class_of(origin, node, f"{module}.{name}"))
        elif isinstance(node, ast.FunctionDef):
            found.members.append(Name(f"{module}.{name}", "function", signature_of(node, False), text_of(origin, node, (node.name,))))
        else:
            found.members.append(Name(f"{module}.{name}", "constant", "", comment_at(origin, node)))
    return found


def modules():
    return [module_of(name, path) for name, path in MODULES.items() if path.exists()]


def every(name):
    """A name and all inside of it."""
    yield name
    for member in name.members:
        yield from every(member)


def missing():
    """(number of public names, paths of those without a text)."""
    names = [name for module in modules() for name in every(module)]
    return len(names), [name.path for name in names if not (name.text or "").strip()]


if __name__ == "__main__":
    count, without = missing()
    print("\n".join(without))
    print(f"{count - len(without)} of {count} public names of Python have their text")
