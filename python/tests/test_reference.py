"""Every public name of Python, and every function of C, has its text: what `make docs` counts, without its packages."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "site"))
import headers  # noqa: E402
import python_api  # noqa: E402


def test_every_public_name_has_its_text():
    count, without = python_api.missing()
    assert without == [] and count > 400


def test_every_function_of_c_has_its_text():
    count, without = headers.missing(headers.headers())
    assert without == [] and count > 200


def test_a_name_without_a_text_is_found(tmp_path):
    path = tmp_path / "part.py"
    path.write_text('class Bare:\n    """A class.\n\n    told   a field\n    """\n\n    told: int\n    silent: int\n\n    def work(self):\n'
                    '        """Works."""\n\n    def hidden_fault(self):\n        return 1\n\n\ndef bare(x):\n    return x\n')
    module = python_api.module_of("part", path)
    without = {name.path for name in python_api.every(module) if not name.text}
    assert without == {"part", "part.Bare.silent", "part.Bare.hidden_fault", "part.bare"}


def test_a_function_without_a_contract_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "INCLUDE", tmp_path)
    path = tmp_path / "part.h"
    path.write_text("/* A header. */\n\n/** Adds one. */\nCPB_API int cpb_told(int x);\n\n/* Prose. */\nCPB_API int cpb_silent(int x,\n    int y);\n")
    header = headers.Header(path)
    assert header.says("cpb_told") == "Adds one." and header.says("cpb_silent") is None


@pytest.mark.parametrize("code, names", [("typedef struct cpb_map cpb_map;", ["cpb_map"]), ("enum { CPB_GOALS = 5 };", ["CPB_GOALS"]),
                                         ("CPB_API const char *cpb_goal_name(cpb_goal goal);", ["cpb_goal_name"]),
                                         ("typedef void cpb_take(void *context, size_t n);", ["cpb_take"]),
                                         ("typedef struct cpb_out {\n  void (*call)(int); /* x; */\n} cpb_out;", ["cpb_out"])])
def test_names_of_declarations(code, names):
    functions, types = headers.names_in(code)
    assert functions + types == names
