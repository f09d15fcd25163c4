"""Every example in a docstring runs."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name, needs", [("capball", "numpy"), ("capball.dual", "numpy"), ("capball._map", "numpy"),
                                         ("capball._model", "numpy"), ("capball._recommend", "numpy"), ("capball.engines", "numpy"),
                                         ("capball.sklearn", "sklearn"), ("capball.pyod", "pyod"),
                                         ("capball.torch", "torch")])
def test_examples(name, needs):
    pytest.importorskip(needs)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
