"""The pictures of docs/gallery, each made by a program of its own process.

  python gallery.py FOLDER    writes FOLDER/NAME.png for each program docs/gallery/NAME.py
"""
import ast
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
WANTED = 12


def title_and_text(program):
    """The first line of the docstring, and the rest."""
    title, _, text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))).partition("\n")
    return title, " ".join(text.split())


def code_of(program):
    return program.read_text(encoding="utf-8").split('"""', 2)[2].lstrip("\n")


def draw(program, picture):
    """Runs a program whose plt.show() writes the picture, with the same bytes each time."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"figure.figsize": (6.5, 4.5), "figure.dpi": 100, "savefig.bbox": "tight", "axes.spines.top": False,
                                "axes.spines.right": False, "legend.frameon": False})
    import io

    import matplotlib.pyplot as plt
    from PIL import Image

    def save():
        """In 64 colours, which a picture of points and lines does not need more of."""
        whole = io.BytesIO()
        plt.savefig(whole)
        Image.open(whole).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(picture, optimize=True)

    plt.show = save
    runpy.run_path(str(program), run_name="__main__")


def draw_all(folder):
    """Each in an empty directory; a warning is an error. The number of pictures."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        picture = folder / f"{program.stem}.png"
        with tempfile.TemporaryDirectory() as empty:
            subprocess.run([sys.executable, "-W", "error:::__main__", __file__, str(program), str(picture)], cwd=empty, check=True,
                           env={**os.environ, "MPLBACKEND": "Agg"})
        if not picture.is_file():
            raise SystemExit(f"docs/gallery/{program.name}: shows no picture")
    if len(PROGRAMS) < WANTED:
        raise SystemExit(f"docs/gallery: {len(PROGRAMS)} programs, {WANTED} are wanted")
    return len(PROGRAMS)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        draw(*map(Path, sys.argv[1:]))
    else:
        print(draw_all(sys.argv[1]), "pictures")
