"""Writes null_calls.inc for tests/base/null_objects.c: for every exported function a C function that calls it, with valid
arguments or with NULL for some of them, and a table of all of them.

    null_calls.py null_objects.c null_calls.inc header ..

Arguments are made by functions of null_objects.c, found by name: queries_of_hamming_knn() for one function, queries_view() for all
parameters of this name and type, a_view() for all others of the type. Results are given memory, and numbers are those below. A
parameter that this does not cover is an error: a new function needs its makers."""

import re
import sys

NUMBERS = {
    "confidence": "0.9", "rate": "0.1", "factor": "2", "low": "0.01", "high": "100", "s": "1", "w": "1",
    "bins": "8", "count": "COUNT", "d": "D", "k": "K", "size": "CPB_PLAN_SIZE", "max_rows": "10", "n": "2", "room": "10",
    "rows": "N", "sign": "1", "threads": "1",
}

# Parameters that may be NULL: in every function that has one of this name, but for those after it; or in one function.
OPTIONAL = {
    "b": [], "bad_rows": [], "columns": [], "context": [], "error": [], "estimate": [], "exec": [], "filter": [], "format": [],
    "grad_t": [], "high": [], "low": [], "matrix": [], "mean": [], "multipliers": [], "name": [], "origin": [], "reports": [],
    "sigma": [], "slope": [], "to": ["cpb_view_widen"], "v": [], "values": [], "weights": [],
    "center": ["cpb_svdd"],
    "counts": ["cpb_hits_merge"],
    "options": ["cpb_classes_new", "cpb_dual_line", "cpb_index_new", "cpb_map_new", "cpb_model_new", "cpb_search_new", "cpb_search_run",
                "cpb_statistics_new", "cpb_transform_new", "cpb_writer_open"],
    "report": ["cpb_engine_measure"],
}
OPTIONAL_IN = {
    "cpb_classes_to_c.name", "cpb_index_add.ids", "cpb_index_read.ids", "cpb_index_read.rows", "cpb_index_remove.removed",
    "cpb_index_refresh.changed", "cpb_model_to_c.name", "cpb_recommend_fit.queries",
    "cpb_engine_from_command.engine->ask", "cpb_reader_store.store->get", "cpb_view_get.store->get",
    "cpb_view_next.source->next", "cpb_view_next.source->rewind", "cpb_view_rewind.source->next", "cpb_view_rewind.source->rewind",
}

# Members of structs that are NULL in turn, too.
MEMBERS = {
    "cpb_view": ["data"], "cpb_out": ["data"], "cpb_candidates": ["ids"], "cpb_gram_side": ["norm2"],
    "cpb_abid_scales": ["s", "abid"], "cpb_cap": ["p"], "cpb_region": ["c"], "cpb_ball_out": ["center"],
    "cpb_rescore_out": ["hits"], "cpb_external": ["search", "row"], "cpb_source": ["next", "rewind"], "cpb_store": ["get"],
    "cpb_engine_calls": ["ask"], "cpb_engine_command": ["command"],
}

KINDS = {"void": "NOTHING", "double": "DOUBLE", "cpb_status": "STATUS", "cpb_source": "SOURCE"}


def read_headers(paths):
    """Prototypes (result, name, parameters), and the names of structs with a body, and of those that begin with their size."""
    prototypes, structs, sized = [], set(), set()
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
        for result, name, parameters in re.findall(r"^CPB_(?:API|CALL) ([^;{]*?)(cpb_\w+)\(([^;]*?)\);", text, re.M | re.S):
            split = [] if parameters == "void" else [" ".join(p.split()) for p in parameters.split(",")]
            prototypes.append((result.strip(), name, [re.match(r"(.*?)(\w+)$", p).groups() for p in split]))
        for name, first in re.findall(r"^(?:typedef )?struct (cpb_\w+) \{\s*([^;]*);", text, re.M):
            structs.add(name)
            if first == "size_t size":
                sized.add(name)
    return prototypes, structs, sized


class Writer:
    def __init__(self, makers, prototypes, structs, sized):
        self.makers, self.structs, self.sized = makers, structs, sized
        self.functions = {name for _, name, _ in prototypes}

    def maker(self, function, declared, name):
        """The function of null_objects.c that makes this argument, or None."""
        short = base_of(declared).removeprefix("cpb_")
        for maker in (f"{name}_of_{function.removeprefix('cpb_')}", f"{name}_{short}", f"a_{short}"):
            made = self.makers.get(maker)
            if made is not None and made in (declared, declared.removeprefix("const ")):
                return maker
        return None

    def argument(self, function, declared, name, first):
        """Statements that declare the argument."""
        base, stars, maker = base_of(declared), declared.count("*"), self.maker(function, declared, name)
        if base == "cpb_error":
            return "cpb_error *error = &seen->error;"
        if maker:
            return f"{declared.removeprefix('const ') if base in MEMBERS else declared}{name} = {maker}();"
        if stars == 2 and not declared.endswith("const *"):
            return f"{declared.strip()[:-1]}{name}_ = NULL, **{name} = &{name}_;"
        if stars == 1 and base in self.sized and (not declared.startswith("const") or f"{base}_init" in self.functions):
            fill = f"{base}_init({name}, sizeof {name}_);" if declared.startswith("const") else f"unset({name}, sizeof {name}_);"
            return f"{base} {name}_, *{name} = &{name}_; {fill}"
        if stars == 1 and not declared.startswith("const") and f"{base}_free" not in self.functions:
            return f"{declared}{name} = memory();"
        if stars == 0 and base not in self.structs:
            value = f"sizeof {first}_" if function.endswith("_init") else NUMBERS.get(name, "0")
            return f"{declared}{name} = ({declared.strip()}){value};"
        sys.exit(f"{function}: there is no maker for {declared}{name}; add one to tests/base/null_objects.c")

    def call(self, number, result, function, parameters):
        lines, nulls = [], []
        for declared, name in parameters:
            base, stars = base_of(declared), declared.count("*")
            lines.append(self.argument(function, declared, name, parameters[0][1]))
            optional = function not in OPTIONAL.get(name, [function]) or f"{function}.{name}" in OPTIONAL_IN
            if base in MEMBERS and (stars == 0 or self.maker(function, declared, name)):
                for member in MEMBERS[base]:
                    part = f"{name}{'->' if stars else '.'}{member}"
                    lines.append(f"if (null(nulls, {len(nulls)})) {part} = NULL;")
                    nulls.append((part, f"{function}.{part}" in OPTIONAL_IN))
            if stars:
                lines.append(f"if (null(nulls, {len(nulls)})) {name} = NULL;")
                nulls.append((name, optional))
        arguments = ", ".join(name for _, name in parameters)
        kind = KINDS.get(result, "POINTER" if "*" in result else "NUMBER")
        target = {"NOTHING": "", "STATUS": "seen->status = ", "SOURCE": "seen->source = ", "POINTER": "seen->pointer = ",
                  "NUMBER": "seen->number = (double)", "DOUBLE": "seen->number = "}[kind]
        lines.append(f"{target}{function}({arguments});")
        if function.endswith("_describe") and len(nulls) == 2:
            name = parameters[1][1]
            lines.append(f"if (nulls == 1) seen->number = bytes_set({name}, sizeof {name}_);")
        body = "\n".join("  " + line for line in lines)
        text = f"static void call_{number}(uint32_t nulls, outcome *seen) {{\n  (void)nulls, (void)seen;\n{body}\n}}\n"
        table = ", ".join(f'{{"{name}", {"true" if optional else "false"}}}' for name, optional in nulls)
        row = f'  {{"{function}", call_{number}, GIVES_{kind}, {len(nulls)}, {{{table or "{NULL, true}"}}}}},\n'
        return text, row


def base_of(declared):
    return declared.replace("const", "").replace("*", "").strip()


def main(source, target, headers):
    text = open(source, encoding="utf-8").read()
    makers = {name: made for made, name in re.findall(r"^static ([^;={}\n]*?)(\w+)\(void\) \{", text, re.M)}
    prototypes, structs, sized = read_headers(headers)
    writer = Writer(makers, prototypes, structs, sized)
    calls = [writer.call(number, *prototype) for number, prototype in enumerate(prototypes)]
    with open(target, "w", encoding="utf-8") as out:
        out.write("".join(text for text, _ in calls))
        out.write("static const function functions[] = {\n" + "".join(row for _, row in calls) + "};\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
