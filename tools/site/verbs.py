"""The pages of the command: one for each verb, from what `capball help` prints."""
import re
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTION = re.compile(r"  (-\w, |    )(--[\w-]+)(.*?)(?:  +(\S.*))?$")


def said(*words):
    run = subprocess.run([ROOT / "build" / "capball", *words], capture_output=True, text=True, check=True)
    return run.stdout


def verbs():
    """[(verb, what it does)] in the order of the command."""
    found = []
    for line in said("help").partition("Commands\n")[2].partition("\n\n")[0].splitlines():
        match = re.match(r"  (\S+(?: \S+)?) {2,}(\S.*)$", line)
        if match:
            found.append([match[1], match[2]])
        elif line.strip() and found:
            found[-1][1] += " " + line.strip()
    return [tuple(pair) for pair in found]


def options(text):
    """[(option, what it does)] of the list that help prints."""
    found = []
    for line in text.splitlines():
        match = OPTION.match(line)
        if match:
            found.append([match[1].strip() + (" " if match[1].strip() else "") + match[2] + match[3].rstrip(), [match[4] or ""]])
        elif line.strip() and found:
            found[-1][1].append(line.strip())
    return [(name, " ".join(" ".join(words).split())) for name, words in found]


def page(verb):
    """Usage, description, [(option, text)] and example of a verb."""
    text = said("help", *verb.split())
    head, _, example = text.partition("\nExample")
    head, _, listed = head.partition("\nOptions\n")
    usage, _, rest = head.partition("\n")
    while rest.startswith("    ") and not rest.startswith("  " + rest.strip()[:1]):  # a usage of several lines
        line, _, rest = rest.partition("\n")
        usage += "\n" + line
    example = example.partition("\n")[2]
    return usage, textwrap.dedent(rest).strip("\n"), options(listed), textwrap.dedent(example).strip("\n")
