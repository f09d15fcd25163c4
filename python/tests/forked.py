"""Scripts and modules as programs, each forked from a process that has imported what they would take seconds to import."""

import multiprocessing
import os
import runpy
import sys
import tempfile

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["capball.sklearn", "sklearn.datasets", "sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics",
                                "sklearn.neighbors", "sklearn.pipeline", "sklearn.svm"])


def program(said, argv, folder):
    for number in (1, 2):
        os.dup2(os.open(said, os.O_WRONLY | os.O_APPEND), number)
    sys.stdout = sys.stderr = open(1, "w", closefd=False)
    sys.argv = argv
    os.chdir(folder)
    if argv[0].endswith(".py"):
        runpy.run_path(argv[0], run_name="__main__")
    else:
        runpy.run_module(argv[0], run_name="__main__", alter_sys=True)


def run(argv, folder):
    """Exit code and output of argv, whose first word is the path of a script or the name of a module."""
    with tempfile.NamedTemporaryFile("r") as said:
        child = CONTEXT.Process(target=program, args=(said.name, [str(word) for word in argv], folder))
        child.start()
        child.join()
        return child.exitcode, said.read()
