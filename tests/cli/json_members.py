"""json_members.py PAGE LINES..: the members that the page lists, section by section, beside those that commands printed. Prints TAP
lines without numbers: "ok SENTENCE" or "not ok SENTENCE". A file of lines is called SECTION.jsonl."""
import json
import pathlib
import re
import sys


def listed(page):
    sections, name = {}, None
    for line in pathlib.Path(page).read_text().splitlines():
        if heading := re.match(r"#+ (.*)", line):
            name = "lines" if heading[1].startswith("Lines") else heading[1]
        elif member := re.match(r"\| `([^`]+)` \|", line):
            sections.setdefault(name, set()).add(member[1])
    return sections


def members(value, path=""):
    """a.b and a[].b; arrays of numbers, of texts and of arrays are members themselves. `pick` is one of rows[]."""
    if isinstance(value, dict) and path != "pick":
        for key, inner in value.items():
            yield from members(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from members(inner, path + "[]")
    else:
        yield path


def main():
    told = listed(sys.argv[1])
    printed = {}
    for name in sys.argv[2:]:
        section = pathlib.Path(name).stem
        for line in pathlib.Path(name).read_text().splitlines():
            value = json.loads(line)
            printed.setdefault(section, set()).update(members(value))
            right = section == "lines" or value.get("schema") == f"capball/{section}/1" and next(iter(value)) == "schema"
            if not right:
                print(f"not ok {section}: the schema comes first: {line[:60]}")
    for section in sorted(told.keys() | printed.keys()):
        page, run = told.get(section, set()), printed.get(section, set())
        faults = [f"{m} is printed, and not on the page" for m in sorted(run - page)]
        faults += [f"{m} is on the page, and printed by no command here" for m in sorted(page - run)]
        print(f"{'not ok' if faults else 'ok'} {section}: {'; '.join(faults) or f'{len(page)} members as on the page'}")


main()
