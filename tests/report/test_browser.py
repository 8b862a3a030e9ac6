"""Pages in a real browser: charts are drawn and answer, nothing is asked for elsewhere, no error is said."""

import json
import re
import shutil
import subprocess
import tempfile

import pytest
from made_runs import MARKUP

from solver.report import comparison_page, report_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
pytestmark = pytest.mark.skipif(not BROWSER, reason="no Chromium here: apt-get install chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom",
]  # fmt: skip
# what a reader does: move each slider to the start, turn an axis logarithmic, hide a curve, zoom, point at a curve
USE = """<script>
const count = () => [...document.querySelectorAll(".chart .curve")].map((c) => c.getAttribute("d")).join("|");
const note = (name, value) => {
  const p = document.createElement("p"); p.className = "noted"; p.id = name; p.textContent = String(value);
  document.body.append(p);
};
const pointer = (svg, kind, x, y) => {
  const box = svg.getBoundingClientRect();
  const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true };
  svg.dispatchEvent(new PointerEvent(kind, at));
};
const changes = (act) => { const before = count(); act(); return before !== count(); };
const chart = document.querySelector(".chart"), svg = chart.querySelector("svg");
const slider = document.querySelector("input[type=range]");
if (slider) note("slides", changes(() => { slider.value = 0; slider.dispatchEvent(new Event("input")); }));
note("logs", changes(() => chart.querySelectorAll(".tools button")[1].click()));
pointer(svg, "pointermove", 0.5, 0.5);
note("reads", chart.querySelector(".readout").textContent);
note("zooms", changes(() => {
  pointer(svg, "pointerdown", 0.3, 0.2); pointer(svg, "pointermove", 0.7, 0.8); pointer(svg, "pointerup", 0.7, 0.8);
}));
note("unzooms", changes(() => svg.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }))));
const legend = document.querySelector(".legend button");
if (legend) note("hides", changes(() => legend.click()));
</script></body>"""


def opened(page, tmp_path, *, used=False):
    """The page's document after its scripts ran, what the browser said, and what it asked for by network."""
    text = page.replace("</html>", f"{USE}</html>") if used else page
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        words = [BROWSER, *FLAGS, f"--user-data-dir={profile}", f"--log-net-log={tmp_path / 'net.json'}"]
        done = subprocess.run(
            [*words, (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=90, check=True
        )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, said, requests(tmp_path / "net.json")


def requests(log):
    """Addresses that a page asked for, its own file and data left out, and what the browser asks for itself."""
    events = [event["params"] for event in json.loads(log.read_text())["events"] if "url" in event.get("params", {})]
    of_pages = {event["url"] for event in events if event.get("initiator", "not an origin") != "not an origin"}
    return sorted(url for url in of_pages if not url.startswith(("file:", "data:")))


def drawn(document):
    """Charts that have a curve with more than one point."""
    return len(re.findall(r'<svg viewBox="0 0[^>]*>(?:(?!</h3>).)*?class="curve" d="M[^"]*L', document))


@pytest.mark.slow
def test_every_chart_of_a_page_is_drawn_and_nothing_is_asked_for(finished, tmp_path):
    page = report_page(finished)
    charts = page.count('class="chart"')
    document, said, asked = opened(page, tmp_path)
    assert charts >= 6
    assert drawn(document) == charts
    assert document.count('<input type="range"') == 1
    assert said == []
    assert asked == []


@pytest.mark.slow
def test_charts_answer(finished, tmp_path):
    document, said, _ = opened(report_page(finished), tmp_path, used=True)
    noted = dict(re.findall(r'<p class="noted" id="(\w+)">([^<]*)</p>', document))
    assert said == []
    assert re.fullmatch(r"[\d.]+ → [\d.e-]+", noted.pop("reads"))
    assert noted == dict.fromkeys(("slides", "logs", "zooms", "unzooms", "hides"), "true")


@pytest.mark.slow
def test_markup_stays_text_in_a_browser(blown_up, empty, tmp_path):
    for page in (report_page(blown_up), comparison_page([blown_up, empty])):
        document, said, asked = opened(page, tmp_path)
        assert (said, asked) == ([], [])
        assert "</body>" in document  # what the title's script would have removed
        shown = (
            re.search(r"<h1>(.*?)</h1>", document)[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        )
        assert MARKUP in shown


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["running", "empty", "line"])
def test_other_runs_have_pages_without_errors(request, kind, tmp_path):
    page = report_page(request.getfixturevalue(kind))
    document, said, asked = opened(page, tmp_path)
    assert (said, asked) == ([], [])
    assert drawn(document) == page.count('class="chart"')


@pytest.mark.slow
def test_a_request_or_an_error_would_be_seen(tmp_path):
    """The tests above can fail: a page that asks for a picture and throws is found out."""
    bad = "<html><body><img src='http://127.0.0.1:9/x.png'><script>throw new Error('seen')</script></body></html>"
    _, said, asked = opened(bad, tmp_path)
    assert any("seen" in line for line in said)
    assert asked == ["http://127.0.0.1:9/x.png"]


@pytest.mark.slow
def test_the_policy_holds_what_a_page_may_load(finished, tmp_path):
    page = report_page(finished).replace("</html>", "<img src='http://127.0.0.1:9/x.png'></html>")
    _, said, asked = opened(page, tmp_path)
    assert asked == []
    assert any("Content Security Policy" in line for line in said)
