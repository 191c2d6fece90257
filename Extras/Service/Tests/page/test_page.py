#!/usr/bin/env python3
"""Drives the service's page in headless Chromium, as a person would.

test_page.py LOOKALIKE_SERVE [--screenshots FOLDER]
"""

import argparse
import atexit
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import axe_core_python
from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[4]
DEMO = ROOT / "Examples/Demo"
AXE = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}


class Server:
    """A service with the demo's covers."""

    def __init__(self, program, folder, *options):
        self.folder = folder
        self.process = subprocess.Popen(
            [
                *(program, "--catalogs", folder, "--port", "0", "--log-level", "error"),
                *("--samples", DEMO / "queries", *options),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().strip().rstrip("/")
        assert self.url, "the service did not start"
        # However the test ends.
        atexit.register(self.process.kill)

    def send(self, method, path, body=None, headers=None):
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers or {})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def add_covers(self):
        self.send("PUT", "/v1/catalogs/covers")
        lines = []
        for row in csv.DictReader((DEMO / "covers/albums.csv").open()):
            query = urllib.parse.urlencode(
                {
                    "title": row["title"],
                    "subtitle": row["subtitle"],
                    # Two types, so that there is something to filter by.
                    "type": "album" if int(row["year"]) % 2 else "single",
                    "labels": row["labels"],
                    "attribute.year": row["year"],
                }
            )
            image = (DEMO / "covers" / row["image"]).read_bytes()
            self.send("PUT", f"/v1/catalogs/covers/entities/{row['id']}?{query}", image, {"Content-Type": "image/jpeg"})
            lines.append(row)
        return lines

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=30) == 0


class Page:
    """The page in a browser window; any message on the console fails the test."""

    def __init__(self, browser, url, viewport=DESKTOP, scheme="light", held=None, **options):
        """The requests whose paths match `held` wait until the test lets them go on."""
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.messages = []
        self.expected = ()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.requests = []
        if held:
            self.page.route(re.compile(held), lambda route: self.requests.append(route))
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            unexpected = [text for text in self.messages if not any(word in text for word in self.expected)]
            assert not unexpected, unexpected
        self.context.close()

    def __getattr__(self, name):
        return getattr(self.page, name)

    def search(self, name):
        with self.page.expect_response(re.compile("/search")):
            self.page.set_input_files("#file", DEMO / "queries" / name)
        self.settle()

    def settle(self):
        expect(self.page.locator("body.busy")).to_have_count(0)
        expect(self.page.locator(".card, .empty, #error:not([hidden])").first).to_be_visible()

    def wait_until(self, condition):
        """Waits for a condition; the browser's own way to wait is not allowed by the page's policy."""
        for _ in range(200):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    def shows(self, titles):
        """Waits for the cards of a search."""
        expect(self.page.locator(".card h3")).to_have_text(titles)

    def titles(self):
        return self.page.locator(".card h3").all_text_contents()

    def check(self, what):
        """No violation of WCAG 2 at level A and AA, and no scrolling sideways."""
        # What is being replaced is faint.
        expect(self.page.locator("body.busy")).to_have_count(0)
        self.page.evaluate(AXE)
        found = self.page.evaluate(
            "async () => (await axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})).violations"
            ".map(violation => ({id: violation.id, nodes: violation.nodes.map(node => node.html)}))"
        )
        assert not found, f"{what}: {json.dumps(found, indent=1)}"
        widths = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], f"{what}: scrolls sideways, {widths}"


def transfer(page, path, kind):
    """A data transfer with an image, as a drop or a paste has it."""
    data = list(path.read_bytes())
    return page.evaluate_handle(
        "([bytes, name, kind]) => { const transfer = new DataTransfer();"
        " transfer.items.add(new File([new Uint8Array(bytes)], name, {type: kind})); return transfer; }",
        [data, path.name, kind],
    )


def choosing_and_outlines(browser, server):
    with Page(browser, server.url) as page:
        expect(page.locator("#samples img")).to_have_count(9)
        page.search("screenshot-1.png")
        page.shows(["Copper Horizon"])
        expect(page.locator("#status")).to_contain_text("1 match")
        expect(page.locator("#outlines polygon:not(.halo)")).to_have_count(1)
        page.hover(".card")
        expect(page.locator("#outlines polygon.lit")).to_have_count(1)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.4)
        expect(page.locator(".card.lit")).to_have_count(1)
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        expect(page.locator(".card.lit")).to_have_count(0)
        page.click("text=Another photo")
        page.click("#samples li:nth-child(1) button")
        page.shows(["Night Bus to Porto"])


def mirrored_matches(browser, server):
    """A match says that the photo shows it as in a mirror."""

    def mark(route):
        answer = route.fetch()
        found = answer.json()
        found["results"][0]["mirrored"] = True
        route.fulfill(response=answer, json=found)

    with Page(browser, server.url) as page:
        page.search("screenshot-1.png")
        expect(page.locator(".card .sure")).not_to_contain_text("mirrored")
        page.route(re.compile("/search"), mark)
        page.search("screenshot-2.png")
        expect(page.locator(".card .sure")).to_contain_text(", mirrored")
        page.unroute_all(behavior="wait")


def dropping_and_pasting(browser, server):
    with Page(browser, server.url) as page:
        dropped = transfer(page, DEMO / "queries/screenshot-2.png", "image/png")
        page.dispatch_event("#drop", "dragover", {"dataTransfer": dropped})
        expect(page.locator("#query.over")).to_have_count(1)
        page.dispatch_event("#drop", "drop", {"dataTransfer": dropped})
        page.shows(["Left of Centre"])
        pasted = transfer(page, DEMO / "queries/photo-2.jpg", "image/jpeg")
        page.evaluate(
            "transfer => document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: transfer}))", pasted
        )
        page.shows(["Seventh Weather"])


def regions(browser, server):
    with Page(browser, server.url) as page:
        page.search("screenshot-1.png")
        box = page.locator("#canvas").bounding_box()
        with page.expect_request(re.compile("search.*region=")) as request:
            page.mouse.move(box["x"] + box["width"] * 0.05, box["y"] + box["height"] * 0.75)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.8, steps=4)
            page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.95, steps=4)
            page.mouse.up()
        region = urllib.parse.parse_qs(urllib.parse.urlparse(request.value.url).query)["region"][0]
        values = [float(value) for value in region.split(",")]
        assert all(abs(a - b) < 0.03 for a, b in zip(values, [0.05, 0.75, 0.85, 0.2])), values
        expect(page.locator(".empty")).to_be_visible()
        # The same with keys: the rectangle of the button, moved and made larger, holds the cover.
        page.click("#part")
        page.shows(["Copper Horizon"])
        page.focus("#part")
        page.keyboard.press("Enter")
        expect(page.locator("#region")).to_be_focused()
        for _ in range(5):
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("Shift+ArrowRight")
            page.keyboard.press("Shift+ArrowDown")
        for _ in range(10):
            page.keyboard.press("Shift+ArrowRight")
        with page.expect_request(re.compile("search.*region=")):
            page.keyboard.press("Enter")
        page.shows(["Copper Horizon"])
        page.focus("#region")
        page.check("a region")
        page.keyboard.press("Escape")
        expect(page.locator("#region")).to_be_hidden()


def filters_and_pages(browser, server):
    with Page(browser, server.url) as page:
        page.search("photo-1.jpg")
        page.shows(["Night Bus to Porto"])
        page.click("#more")
        expect(page.locator(".card")).to_have_count(12)
        page.click("#more")
        expect(page.locator(".card")).to_have_count(18)
        expect(page.locator("#more")).to_be_hidden()
        assert len(set(page.titles())) == 18
        page.click("#filters summary:has-text('Type')")
        page.check("an open filter")
        page.page.check("#filters input[value=single]")
        expect(page.locator(".card")).to_have_count(9)
        page.keyboard.press("Escape")
        page.click("#filters summary:has-text('Year')")
        page.page.check("#filters input[value='2004']")
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator("#filters .on")).to_have_count(2)
        page.click(".card .more-like")
        expect(page.locator("#status")).to_contain_text("More like")
        expect(page.locator(".card")).to_have_count(12)


def by_name(browser, server):
    with Page(browser, server.url) as page:
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        page.shows(["Night Bus to Porto"])
        page.fill("#text", "zzz")
        page.keyboard.press("Enter")
        expect(page.locator(".empty")).to_contain_text("Nothing has this name")


def asked_before_the_catalog_is_known(browser, server):
    with Page(browser, server.url, held="/v1/catalogs$") as page:
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        expect(page.locator("body.busy")).to_have_count(1)
        page.requests[0].continue_()
        page.shows(["Night Bus to Porto"])


def a_catalog_that_cannot_be_opened(browser, server):
    server.send("PUT", "/v1/catalogs/other")
    with Page(browser, server.url) as page:
        page.expected = ("507",)
        expect(page.locator("#catalog")).to_have_value("covers")
        problem = json.dumps({"status": 507, "code": "storage", "detail": "It is damaged."})
        page.route(
            re.compile("/v1/catalogs/other$"),
            lambda route: route.fulfill(status=507, content_type="application/problem+json", body=problem),
        )
        page.select_option("#catalog", "other")
        expect(page.locator("#error")).to_have_text("It is damaged.")
        expect(page.locator("#catalog")).to_have_value("covers")
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        page.shows(["Night Bus to Porto"])
        expect(page.locator("#error")).to_be_hidden()
    server.send("DELETE", "/v1/catalogs/other")


def a_busy_service_is_asked_again(browser, server):
    with Page(browser, server.url) as page:
        page.expected = ("503",)
        problem = json.dumps({"status": 503, "code": "overloaded", "detail": "Too many requests wait already."})
        answers = []

        def answer(route):
            answers.append(route)
            if len(answers) > 1:
                return route.continue_()
            return route.fulfill(
                status=503, headers={"Retry-After": "1"}, content_type="application/problem+json", body=problem
            )

        page.route(re.compile("/search"), answer)
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_contain_text("The next try is in 1 s")
        page.shows(["Night Bus to Porto"])
        expect(page.locator("#error")).to_be_hidden()
        assert len(answers) == 2, answers


def not_in_the_catalog(browser, server):
    with Page(browser, server.url) as page:
        page.search("photo-of-another-record.jpg")
        expect(page.locator(".empty")).to_contain_text("Not in the catalog")
        page.check("not in the catalog")
        page.click("text=Show the nearest all the same")
        expect(page.locator(".card")).to_have_count(12)


def camera(browser, server):
    with Page(browser, server.url, permissions=["camera"]) as page:
        page.click("#photograph")
        page.wait_until("document.getElementById('video').videoWidth > 0")
        page.check("the camera")
        with page.expect_response(re.compile("/search")):
            page.click("#shoot")
        page.settle()
        expect(page.locator("#stage")).to_be_visible()
        expect(page.locator("#camera-dialog")).to_be_hidden()


def errors(browser, server):
    with Page(browser, server.url) as page:
        page.expected = ("Failed to load resource", "415", "422")
        page.set_input_files("#file", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": b"%PDF-1.7"})
        expect(page.locator("#error")).to_contain_text("PDF")
        page.check("an error")
        page.search("screenshot-1.png")
        expect(page.locator("#error")).to_be_hidden()
        page.expected += ("ERR_CONNECTION_REFUSED",)
        server.stop()
        page.set_input_files("#file", DEMO / "queries/screenshot-1.png")
        expect(page.locator("#error")).to_contain_text("cannot be reached")


def adding(browser, server, keys):
    with Page(browser, server.url) as page:
        page.expected = ("401", "403")
        expect(page.locator("#key-dialog")).to_be_visible()
        page.check("the key")
        page.fill("#key", keys["read"])
        page.click("text=Use this key")
        expect(page.locator("#catalog option")).to_have_count(1)
        page.click("#add summary")
        image = DEMO / "queries/photo-of-another-record.jpg"
        page.set_input_files("#add-files", image)
        expect(page.locator("#add-list .bad")).to_contain_text("reading alone")
        expect(page.locator("#key-dialog")).to_be_visible()
        page.fill("#key", keys["write"])
        page.keyboard.press("Enter")
        expect(page.locator("#key-dialog")).to_be_hidden()
        page.fill("#add-title", "Nobody's Record")
        dropped = transfer(page, image, "image/jpeg")
        page.dispatch_event("#add-drop", "drop", {"dataTransfer": dropped})
        expect(page.locator("#add-list .good")).to_contain_text("Nobody's Record was added")
        expect(page.locator("#catalog option")).to_contain_text(["(19)"])
        page.check("adding")
        page.search("photo-of-another-record.jpg")
        page.shows(["Nobody's Record"])
        # With a key, an image element could not load its thumbnail by itself.
        page.wait_until("document.querySelector('.card .thumb').naturalWidth > 0")
        page.fill("#add-title", "")
        page.set_input_files("#add-files", [DEMO / "queries/photo-1.jpg", DEMO / "queries/photo-2.jpg"])
        expect(page.locator("#add-status")).to_have_text("2 of 2 added.")
        page.click("#overview summary")
        expect(page.locator("#facts")).to_contain_text("21")


def looks(browser, server, folder):
    for size, viewport in [("desktop", DESKTOP), ("phone", PHONE)]:
        for scheme in ["light", "dark"]:
            with Page(browser, server.url, viewport, scheme) as page:
                expect(page.locator("#samples img")).to_have_count(9)
                page.check(f"the start, {size}, {scheme}")
                page.wait_for_load_state("networkidle")
                if folder:
                    page.screenshot(path=folder / f"start-{size}-{scheme}.png")
                page.search("photo-2.jpg")
                expect(page.locator("#filters details").first).to_be_visible()
                page.click("#more")
                expect(page.locator(".card")).to_have_count(12)
                page.check(f"results, {size}, {scheme}")
                page.wait_for_load_state("networkidle")
                if folder:
                    page.screenshot(path=folder / f"results-{size}-{scheme}.png")


def make_key(program, scope):
    made = subprocess.run(
        [program, "make-key", "--scope", scope, "--name", scope], capture_output=True, text=True, check=True
    )
    return made.stdout, made.stderr.split(": ", 1)[1].strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=20_000)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
        )
        server = Server(arguments.program, folder)
        server.add_covers()
        looks(browser, server, arguments.screenshots)
        tests = [choosing_and_outlines, mirrored_matches, dropping_and_pasting, regions, filters_and_pages, by_name]
        tests += [asked_before_the_catalog_is_known, a_catalog_that_cannot_be_opened, a_busy_service_is_asked_again]
        tests += [not_in_the_catalog]
        for test in [*tests, camera, errors]:
            test(browser, server)
            print(f"page: {test.__name__}: passed", flush=True)
        lines = {scope: make_key(arguments.program, scope) for scope in ["read", "write"]}
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write("".join(line for line, _ in lines.values()))
            file.flush()
            server = Server(arguments.program, folder, "--keys-file", file.name)
            adding(browser, server, {scope: key for scope, (_, key) in lines.items()})
            server.stop()
        print("page: adding: passed")
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
