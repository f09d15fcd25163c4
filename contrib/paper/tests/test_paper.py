"""The short form of `make paper`: generated data, what is installed here; the invariants of the report."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).resolve().parents[3]
pytest.importorskip("capball_paper", reason="the paper's experiments are not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from capball_paper import claims, report_files  # noqa: E402

SETTINGS = {"0.1"}  # decimals in the text of claims that are settings, not results


def run(out):
    code, said = forked.run(["capball_paper", "--short", "--out", out], out)
    assert code == 0, said
    return said, json.loads((out / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    return out, *run(out)


def numbers_of(told):
    return {**told.get("counts", {}), **{key: number for section in told["sections"] for key, number in section["numbers"].items()}}


def unexplained(told):
    """Decimals in what was found that are no number of the report."""
    shown = {number["shown"] for number in numbers_of(told).values()}
    found = [c["found"] for c in told["claims"] if c["verdict"] != claims.OPEN]
    return [n for text in found for n in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", text) if n not in shown and n not in SETTINGS]


def test_first_line_estimates(report):
    assert re.match(r"short run of \d+ experiments, \d+ steps: about .* left to do", report[1])


def test_every_number_has_its_origin(report):
    for key, number in numbers_of(report[2]).items():
        assert number["command"].startswith("capball-paper --only"), key
    assert unexplained(report[2]) == []


def test_printed_formulas(report):
    told = {c["claim"]: c["verdict"] for c in report[2]["claims"]}
    assert told["Every cap with b + p₀ > 0 is a ball, with this centre and radius"] == claims.HOLDS
    assert told["Every ball is a cap, with this direction and bias"] == claims.LIMIT
    assert told["Chained embeddings reach every ellipsoid"] == claims.FAILS


def test_ball_queries_and_rescoring(report):
    numbers = numbers_of(report[2])
    assert numbers["table_scann_annoy.ball.worst"]["value"] >= -1
    assert numbers["table_scann_annoy.rescored.ceiling-gap"]["value"] == 0
    for name in report[2]["sets"]:
        point, ball = (numbers[f"table_scann_annoy.scan.{name}.S.{form}.recall"]["value"] for form in ("point", "ball"))
        assert ball >= point
        assert numbers[f"table_scann_annoy.scan.{name}.S.ball.rescored"]["value"] >= ball


def test_svm_as_svdd(report):
    numbers = numbers_of(report[2])
    for kind in ("1-Gaussian", "3-Gaussians"):
        assert numbers[f"fig5_svm_svdd.{kind}.cap-svm.spearman"]["value"] > 0.99
        assert numbers[f"fig5_svm_svdd.{kind}.cap-svm-paper.objective"]["value"] > 1.05


def test_sets_that_are_missing_are_told(report):
    assert "fashion-mnist-784-euclidean" in report[2]["missing sets"]
    assert "this set is not here" in (report[0] / "report.html").read_text(encoding="utf-8")


def test_page_needs_nothing_else(report):
    page = (report[0] / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=['"]?https?:""", page)
    assert all('alt="' in tag and 'alt=""' not in tag for tag in re.findall(r"<img [^>]*>", page))


def test_second_run_does_nothing(report):
    said, told = run(report[0])
    assert "about 0 s" in said
    assert told["claims"] == report[2]["claims"]


def test_page_of_claims_is_that_of_the_record():
    record = ROOT / "docs" / "explanation" / "paper.json"
    if not record.exists():
        pytest.skip("docs/explanation/paper.json is not there")
    told = json.loads(record.read_text(encoding="utf-8"))
    assert report_files.claims_page(told) == (ROOT / "docs" / "explanation" / "paper.md").read_text(encoding="utf-8")
    assert unexplained(told) == []


def test_figures_lack_nothing(report):
    figures = [figure for section in report[2]["sections"] for figure in section["figures"]]
    assert figures == [figure for figure in figures if figure["title"] and figure["alt"] and not figure["lacks"]]


@pytest.mark.parametrize("width", [390, 1200])
def test_page_in_a_browser(report, tmp_path, width):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium here")
    page = (report[0] / "report.html").read_text(encoding="utf-8")
    script = (ROOT / "tests" / "support" / "page_check.js").read_text(encoding="utf-8")
    (tmp_path / "checked.html").write_text(page.replace("<body>", f'<body data-page="paper"><script>{script}</script>', 1), encoding="utf-8")
    (tmp_path / "frame.html").write_text(f"""<!doctype html><meta charset="utf-8"><pre id="found">nothing</pre><script>
        addEventListener("message", (event) => {{ document.getElementById("found").textContent = JSON.stringify(event.data.faults); }});
        </script><iframe src="checked.html" width="{width}" height="800"></iframe>""", encoding="utf-8")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}",
                           "--allow-file-access-from-files", "--virtual-time-budget=8000", "--window-size=1400,900", "--dump-dom", (tmp_path / "frame.html").as_uri()],
                          capture_output=True, text=True, timeout=300)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    assert found and html.unescape(found[1]) == "[]", found and found[1][:2000]
