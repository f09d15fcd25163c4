"""Opens a built site in a browser, from files, as a person would: at the width of a phone and of a desk, in light and dark.

  python browser.py FOLDER PICTURES    writes screenshots of some pages to PICTURES

No page may be wider than its window, log an error or ask the network for anything; the search must find names and open their page; the menu
and the theme must work. Speaks the protocol of the developer tools over a pipe, and needs only chromium.
"""
import base64
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = {"phone": (360, 740), "desk": (1280, 900)}
# Queries, and the page that must be the first answer; "": any, None: nothing.
QUERIES = {"cpb_map_embed": "reference/c/map.html#cpb_map_embed", "range_search": "reference/python/capball.html#capball.range_search",
           "capball recommend": "reference/command/recommend.html", "<p,y> >= b": "", "S(x) |x|^2": "", "notatallaword": None}
SHOWN = ("index.html", "gallery.html", "reference/c/map.html", "reference/python/capball.html", "reference/command/fit.html",
         "explanation/theory.html", "try.html")


class Browser:
    def __init__(self, name):
        self.profile, self.server = tempfile.TemporaryDirectory(), "file:"
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()

        def give_pipes():  # as 3 and 4, where the browser expects them
            low, high = os.dup(to_read), os.dup(from_write)
            low, high = (os.dup(low) if low < 5 else low), (os.dup(high) if high < 5 else high)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen([name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                                         "--no-first-run", f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"],
                                        preexec_fn=give_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise SystemExit("browser: it has ended")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while True:
            told = self.message()
            if told.get("id") == self.number:
                if "error" in told:
                    raise SystemExit(f"browser: {method}: {told['error']['message']}")
                return told["result"]
            self.events.append(told)

    def run(self, script):
        """The value of a script, which may be a promise."""
        told = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise SystemExit(f"browser: {script}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def open(self, address):
        self.ask("Page.navigate", url=address)
        self.until(f"document.readyState === 'complete' && location.href.split('#')[0] === {json.dumps(address.split('#')[0])}")

    def until(self, script, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return True
            time.sleep(0.05)
        return False

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def dark(self, is_dark):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def picture(self, path):
        Path(path).write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def key(self, name, text=None):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode={"Enter": 13, "ArrowDown": 40}.get(name, 0),
                     **({"text": text} if text and kind == "keyDown" else {}))

    def faults(self):
        """Errors of scripts, and addresses that are no files, since it was last asked."""
        found = [event["params"] for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        found += [event["params"]["entry"]["text"] for event in self.events if event.get("method") == "Log.entryAdded" and
                  event["params"]["entry"]["level"] == "error"]
        asked = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        found += [f"asked for {url}" for url in asked if not url.startswith(("file:", "data:", "about:", self.server))]
        self.events.clear()
        return found

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()


def widths(browser, folder, wrong):
    """No page scrolls sideways at any width."""
    pages = sorted(path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "try")
    for name, (width, height) in WIDTHS.items():
        browser.size(width, height)
        for path in pages:
            browser.open(path.as_uri())
            wide = browser.run("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
            page = path.relative_to(folder).as_posix()
            if wide > width:
                wrong.append(f"{page}: {wide} pixels wide on a {name} of {width}")
            wrong += [f"{page}: {fault}" for fault in browser.faults()]
    return len(pages)


def search(browser, base, wrong):
    """Typing finds, and Enter opens the first answer."""
    for query, wanted in QUERIES.items():
        browser.open(f"{base}/reference/words.html")
        browser.key("/", "/")
        browser.ask("Input.insertText", text=query)
        if wanted is None:
            if not browser.until("document.querySelector('#found p') !== null"):
                wrong.append(f"search: {query!r} finds something")
            continue
        if not browser.until("document.querySelector('#found a') !== null"):
            wrong.append(f"search: {query!r} finds nothing")
            continue
        place = browser.run("(({ left, right }) => [left, right, innerWidth])(document.getElementById('found').getBoundingClientRect())")
        if place[0] < 0 or place[1] > place[2]:
            wrong.append(f"search: the answers stand from {place[0]} to {place[1]} of {place[2]} pixels")
        if wanted == "":
            continue
        browser.key("Enter", "\r")
        if not browser.until(f"location.href.endsWith({json.dumps(wanted)}) && document.readyState === 'complete'", 5):
            wrong.append(f"search: {query!r} opens {browser.run('location.href')}, not {wanted}")
    wrong += [f"search: {fault}" for fault in browser.faults()]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def served(browser, folder, wrong):
    """The same behind a server of this machine, below a path: the search, and a page by its links."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.server = f"http://127.0.0.1:{server.server_port}/"
        base = browser.server + folder.name
        search(browser, base, wrong)
        browser.open(f"{base}/index.html")
        browser.run("document.querySelector('#menu a[href$=\"fit.html\"]').click()")
        if not browser.until(f"location.href === {json.dumps(base + '/reference/command/fit.html')}", 5):
            wrong.append(f"served: a link leads to {browser.run('location.href')}")
        browser.until("document.readyState === 'complete'")
        wrong += [f"served: {fault}" for fault in browser.faults()]
        server.shutdown()
    browser.server = "file:"


def menu_and_theme(browser, folder, wrong):
    browser.size(*WIDTHS["phone"])
    browser.dark(False)
    browser.open((folder / "index.html").as_uri())
    shown = "getComputedStyle(document.getElementById('menu')).display"
    before = browser.run(shown)
    browser.run("scrollTo(0, 500); document.getElementById('menu-button').click()")
    top = browser.run("document.getElementById('menu').getBoundingClientRect().top")
    if (before, browser.run(shown)) != ("none", "block") or not 0 <= top < WIDTHS["phone"][1]:
        wrong.append("the menu of a phone does not open")
    back = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(back)
    browser.run("document.getElementById('theme-button').click()")
    if browser.run(back) == light:
        wrong.append("the button does not change the theme")
    browser.run("try { localStorage.clear() } catch {}")
    browser.dark(True)
    browser.open((folder / "index.html").as_uri())
    if browser.run(back) == light:
        wrong.append("a system in dark has a light page")


def pictures(browser, folder, target):
    target.mkdir(parents=True, exist_ok=True)
    for is_dark in (False, True):
        browser.dark(is_dark)
        for name, (width, height) in WIDTHS.items():
            browser.size(width, height)
            for page in SHOWN:
                browser.open((folder / page).as_uri())
                browser.picture(target / f"{page.removesuffix('.html').replace('/', '-')}-{name}-{'dark' if is_dark else 'light'}.png")


if __name__ == "__main__":
    folder, target = (Path(word).resolve() for word in sys.argv[1:])
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        print(f"not tried in a browser: there is none of {', '.join(BROWSERS)}")
        sys.exit()
    browser, wrong = Browser(found), []
    try:
        browser.dark(False)
        count = widths(browser, folder, wrong)
        browser.size(*WIDTHS["desk"])
        search(browser, folder.as_uri(), wrong)
        browser.size(*WIDTHS["phone"])
        search(browser, folder.as_uri(), wrong)
        browser.size(*WIDTHS["desk"])
        served(browser, folder, wrong)
        menu_and_theme(browser, folder, wrong)
        pictures(browser, folder, target)
    finally:
        browser.close()
    print("\n".join(wrong), end="\n" if wrong else "")
    sizes = " and ".join(f"{name} ({width} pixels)" for name, (width, _) in WIDTHS.items())
    print(f"{count} pages in {Path(found).name}, from files, at the width of {sizes}: {len(wrong)} faults")
    print("search, menu and theme tried, the search and links also behind a server, below a path")
    sys.exit(bool(wrong))
