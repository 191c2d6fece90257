#!/usr/bin/env python3
"""Drives the service's page in headless Chromium, as a person would.

test_page.py LOOKALIKE_SERVE [--screenshots FOLDER [--all]]
"""

import argparse
import atexit
import base64
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
FIXTURES = ROOT / "Tests/ImagingTests/Fixtures"
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
# Phones, one on its side, a tablet and two desktops, with the colors that a short run looks at.
LOOKS = [
    *((320, 640, "light"), (360, 780, "dark"), (844, 390, "light"), (768, 1024, "dark"), (1280, 860, "light")),
    (1440, 900, "dark"),
]


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

    def put_cover(self, cover, entity, query, catalog="covers", headers=None):
        path = f"/v1/catalogs/{catalog}/entities/{urllib.parse.quote(entity, safe='')}?{query}"
        image = (DEMO / f"covers/{cover}.jpg").read_bytes()
        self.send("PUT", path, image, {"Content-Type": "image/jpeg", **(headers or {})})

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
        """Waits until the page asks nothing."""
        expect(self.page.locator("body.busy")).to_have_count(0)
        expect(self.page.locator(".card, .empty, #error:not([hidden])").first).to_be_visible()

    def held_request(self):
        """The first held request, when the page has sent it."""
        self.wait("no request was held", lambda: self.requests)
        return self.requests[0]

    def wait_until(self, condition):
        """Waits for a condition; the browser's own way to wait is not allowed by the page's policy."""
        self.wait(condition, lambda: self.page.evaluate(condition))

    def wait(self, otherwise, condition):
        for _ in range(200):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(otherwise)

    def shows(self, titles):
        """Waits for the cards of a search."""
        expect(self.page.locator(".card h3")).to_have_text(titles)

    def titles(self):
        return self.page.locator(".card h3").all_text_contents()

    def check(self, what, with_axe=True):
        """No violation of WCAG 2 at level A and AA, and no scrolling sideways."""
        # What is being replaced is faint.
        expect(self.page.locator("body.busy")).to_have_count(0)
        if with_axe:
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
        expect(page.locator("#shelf li")).to_have_count(18)
        page.search("screenshot-1.png")
        page.shows(["Copper Horizon"])
        expect(page.locator("#status")).to_have_text(re.compile("^1 match: \u2068Copper Horizon\u2069.$"))
        assert page.locator("#status").bounding_box()["width"] <= 1
        # What had the focus is gone; it is where the answer starts.
        expect(page.locator("#results-title")).to_be_focused()
        expect(page.locator("#outlines polygon:not(.halo)")).to_have_count(1)
        page.hover(".card")
        expect(page.locator("#outlines polygon.lit")).to_have_count(1)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.4)
        expect(page.locator(".card.lit")).to_have_count(1)
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        expect(page.locator(".card.lit")).to_have_count(0)
        page.click("text=Another photo")
        expect(page.locator(".card")).to_have_count(0)
        expect(page.locator("#status")).to_be_empty()
        expect(page.locator("#choose")).to_be_focused()
        page.click("#samples li:nth-child(1) button")
        page.shows(["Night Bus to Porto"])


def an_outline_alone(browser, server):
    """Colors repeat after six outlines, and then there are numbers; a click searches what an outline holds."""
    with Page(browser, server.url) as page:
        search_bytes(page, wall(page, 3, 2))
        expect(page.locator("#cards .card")).to_have_count(6)
        expect(page.locator("#numbers span, .card .number")).to_have_count(0)
        search_bytes(page, wall(page, 4, 2))
        expect(page.locator("#cards .card")).to_have_count(8)
        expect(page.locator("#numbers span")).to_have_text([str(number) for number in range(1, 9)])
        expect(page.locator(".card .number")).to_have_text([str(number) for number in range(1, 9)])
        names = page.titles()
        number = page.locator("#numbers span").nth(7).bounding_box()
        with page.expect_request(re.compile("search.*region=")):
            page.mouse.click(number["x"] + number["width"] / 2, number["y"] + number["height"] / 2)
        page.shows([names[7]])
        page.click("#part")
        expect(page.locator("#cards .card")).to_have_count(8)


def mirrored_matches(browser, server):
    """A match says that the photo shows it as in a mirror."""

    def mark(route):
        # The browser does not show tests the body of an upload.
        answer = route.fetch(post_data=(DEMO / "queries/screenshot-2.png").read_bytes())
        found = answer.json()
        found["results"][0]["mirrored"] = True
        route.fulfill(response=answer, json=found)

    with Page(browser, server.url) as page:
        page.search("screenshot-1.png")
        expect(page.locator(".card .sure")).to_have_text("This is it")
        page.route(re.compile(r"/search\?"), mark)
        page.search("screenshot-2.png")
        expect(page.locator(".card .sure")).to_contain_text(", mirrored")
        page.unroute_all(behavior="wait")


def many_matches(browser, server):
    """Matches come in pages; what is less likely comes after the last of them, also when its address is opened."""
    with Page(browser, server.url, PHONE) as page:
        search_bytes(page, wall(page, 6, 3))
        expect(page.locator("#cards .card")).to_have_count(12)
        page.click("text=More matches")
        expect(page.locator("#more")).to_have_text("Show less likely ones")
        page.settle()
        count = page.locator("#cards .card").count()
        assert count > 12
        expect(page.locator("#cards .card").nth(12).locator("button")).to_be_focused()
        # Each number is in a line of its own.
        heights = page.evaluate("[...document.querySelectorAll('#numbers span')].map(item => item.clientHeight)")
        assert len(heights) == count and set(heights) == {24}, heights
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(18 - count)
        page.reload()
        expect(page.locator("#small-cards .card")).to_have_count(18 - count)
        expect(page.locator("#cards .card")).to_have_count(count)


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

        def drag(start, end):
            page.mouse.move(box["x"] + box["width"] * start[0], box["y"] + box["height"] * start[1])
            page.mouse.down()
            for part in [0.5, 1]:
                x, y = [start[axis] + (end[axis] - start[axis]) * part for axis in range(2)]
                page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y)
            with page.expect_request(re.compile("search.*region=")) as request:
                page.mouse.up()
            found = urllib.parse.parse_qs(urllib.parse.urlparse(request.value.url).query)["region"][0]
            return [float(value) for value in found.split(",")]

        def are_near(values, expected):
            assert all(abs(a - b) < 0.03 for a, b in zip(values, expected, strict=True)), (values, expected)

        # A corner, a side, and the whole; the opposite corner stays.
        are_near(drag((0.05, 0.75), (0.1, 0.1)), [0.1, 0.1, 0.8, 0.85])
        are_near(drag((0.5, 0.95), (0.2, 0.5)), [0.1, 0.1, 0.8, 0.4])
        are_near(drag((0.5, 0.3), (0.55, 0.4)), [0.15, 0.2, 0.8, 0.4])
        # The same with keys: the rectangle of the button, moved and made larger, holds the cover.
        page.click("#part")
        expect(page.locator("#region")).to_be_hidden()
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


def fingers(browser, server):
    """A finger moves the frame in any direction, without scrolling the page, and two zoom."""
    with Page(browser, server.url, PHONE, has_touch=True, is_mobile=True) as page:
        page.search("screenshot-1.png")
        page.tap("#part")
        page.settle()
        send = page.context.new_cdp_session(page.page).send

        def touch(kind, *points):
            points = [{"x": x, "y": y, "id": index} for index, (x, y) in enumerate(points)]
            send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

        grip = page.locator("[data-grip=se]").bounding_box()
        x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
        before = page.locator("#region").bounding_box()
        scrolled = page.evaluate("scrollY")
        touch("Start", (x, y))
        for step in range(1, 9):
            touch("Move", (x + step * 5, y + step * 5))
        with page.expect_request(re.compile("search.*region=")):
            touch("End")
        after = page.locator("#region").bounding_box()
        assert abs(after["width"] - before["width"] - 40) < 4 and abs(after["height"] - before["height"] - 40) < 4
        assert page.evaluate("scrollY") == scrolled
        page.settle()
        box = page.locator("#canvas").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch("Start", (x - 20, y), (x + 20, y))
        for step in range(1, 6):
            touch("Move", (x - 20 - step * 8, y), (x + 20 + step * 8, y))
        touch("End")
        zoomed = page.locator("#photo").bounding_box()
        assert zoomed["width"] > box["width"] * 2, (zoomed, box)
        # The frame is where it was in the photo, and its grips are as large as before.
        assert abs(page.locator("[data-grip=se]").bounding_box()["width"] - grip["width"]) < 1
        page.tap("#part")
        page.settle()
        photo, canvas = [page.locator(name).bounding_box()["width"] for name in ["#photo", "#canvas"]]
        assert abs(photo - canvas) < 1
        # A tap on an outline, without the frame before.
        search_bytes(page, wall(page, 3, 2))
        name = page.titles()[3]
        page.locator("#canvas").scroll_into_view_if_needed()
        points = page.locator("#outlines polygon:not(.halo)").nth(3).bounding_box()
        with page.expect_request(re.compile("search.*region=")):
            page.touchscreen.tap(points["x"] + points["width"] / 2, points["y"] + points["height"] / 2)
        page.shows([name])


def filters_and_pages(browser, server):
    with Page(browser, server.url) as page:
        page.search("photo-1.jpg")
        page.shows(["Night Bus to Porto"])
        # One match has nothing to choose from.
        expect(page.locator("#filters")).to_be_hidden()
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(12)
        expect(page.locator("#small-title")).to_have_text("Less likely")
        assert "%" not in page.locator("#small-cards").inner_text()
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(17)
        expect(page.locator("#more")).to_be_hidden()
        assert len(set(page.titles())) == 18
        page.click("#filters summary:has-text('Type')")
        page.check("an open filter")
        expect(page.locator("#filters details[open] .count")).to_have_text(["9", "9"])
        page.page.check("#filters input[value=single]")
        page.settle()
        expect(page.locator(".card")).to_have_count(9)
        # The choice does not hide the other values of its filter, and the focus stays with it.
        expect(page.locator("#filters input[value=single]")).to_be_focused()
        expect(page.locator("#filters details[open] .count")).to_have_text(["9", "9"])
        page.keyboard.press("Escape")
        page.click("#filters summary:has-text('Year')")
        expect(page.locator("#filters details[open] .count")).to_have_text(["1"] * 9)
        page.page.check("#filters input[value='2004']")
        page.settle()
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator("#filters .on")).to_have_count(2)
        # Nothing lies under an open filter.
        fields = page.locator("#filters details[open] fieldset").bounding_box()
        for name in ["#results-title", ".card >> nth=0"]:
            other = page.locator(name).bounding_box()
            above, below = other["y"] + other["height"] <= fields["y"], other["y"] >= fields["y"] + fields["height"]
            assert above or below, (name, other, fields)
        page.keyboard.press("Escape")
        expect(page.locator("#filters")).to_have_css("margin-bottom", "14.4px")
        page.click(".card .links button")
        expect(page.locator("#results-title")).to_contain_text("Similar to")
        expect(page.locator("#results-title")).to_be_focused()
        expect(page.locator("#small-cards .card")).to_have_count(12)
        expect(page.locator("#cards .card")).to_have_count(0)


def what_divides_the_results(browser, server):
    """Filters are of what some results have and others have not, those that divide best; a card has few tags."""
    server.send("PUT", "/v1/catalogs/tags")
    many = [f"tag {number}" for number in range(40)]
    for index, cover in enumerate(["slow-meridian", "copper-horizon", "glass-orchard", "salt-signal"]):
        labels = [*many, "sale"] if index == 0 else many
        fields = {"title": cover, "labels": ",".join(labels), "type": "record", "attribute.size": "12"}
        fields |= {"attribute.price": "low"} if index < 2 else {}
        fields |= {f"attribute.a{number}": str(index % 2) for number in range(7)}
        server.put_cover(cover, cover, urllib.parse.urlencode(fields), "tags")
    with Page(browser, f"{server.url}/?catalog=tags") as page:
        page.search("screenshot-1.png")
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(3)
        expect(page.locator("#filters summary").first).to_be_visible()
        names = page.locator("#filters summary").all_text_contents()
        # Neither the type nor the size, which all have; at most six.
        assert len(names) == 6 and not {"Type", "Size"} & set(names) and names[0].startswith("A"), names
        expect(page.locator("#cards .tags span")).to_have_count(7)
        expect(page.locator("#cards .tags .rest")).to_have_text(re.compile(r"^\+\d+$"))
        page.click("#cards summary")
        expect(page.locator("#cards dl")).to_contain_text("tag 39")
    server.send("DELETE", "/v1/catalogs/tags")


def browsing(browser, server):
    """The start shows what is in the catalog, by filters with counts and in an order, which the address keeps."""
    rows = list(csv.DictReader((DEMO / "covers/albums.csv").open()))
    with Page(browser, server.url) as page:
        items = page.locator("#shelf li")
        expect(items).to_have_count(18)
        expect(page.locator("#shelf-title")).to_have_text("18 in the catalog")
        page.click("#shelf-filters summary:has-text('Type')")
        albums = [row for row in rows if int(row["year"]) % 2]
        expect(page.locator("#shelf-filters label:has-text('album') .count")).to_have_text(str(len(albums)))
        page.page.check("#shelf-filters input[value=album]")
        expect(page.locator("#shelf-title")).to_have_text(f"{len(albums)} of the 18 in the catalog")
        # The other value can be chosen at once.
        expect(page.locator("#shelf-filters input[value=single]")).to_have_count(1)
        page.keyboard.press("Escape")
        page.select_option("#order", "-attribute.year")
        latest = sorted(albums, key=lambda row: -int(row["year"]))
        expect(items.first).to_have_text(latest[0]["title"])
        assert {row["title"] for row in latest} == set(items.all_text_contents())
        page.reload()
        expect(items.first).to_have_text(latest[0]["title"])
        expect(page.locator("#shelf-title")).to_have_text(f"{len(albums)} of the 18 in the catalog")
        page.check("browsing")
        items.nth(1).locator("button").click()
        expect(page.locator("#results-title")).to_contain_text(latest[1]["title"])
        page.go_back()
        expect(items.first).to_have_text(latest[0]["title"])
        expect(page.locator("#order")).to_have_value("-attribute.year")
    # More than a page, with texts that conditions quote; without an address they are all shown again.
    server.send("PUT", "/v1/catalogs/many")
    for number in range(30):
        query = {"title": f"{number:02}", "attribute.a \\b": 'x "y" \\z' if number % 2 else "plain", "type": "t"}
        server.put_cover("salt-signal", f"e{number}", urllib.parse.urlencode(query), "many")
    with Page(browser, f"{server.url}/?catalog=many&sort=title") as page:
        expect(page.locator("#shelf li")).to_have_count(24)
        page.click("#shelf-more")
        expect(page.locator("#shelf li")).to_have_count(30)
        expect(page.locator("#shelf-more")).to_be_hidden()
        expect(page.locator("#shelf li").nth(24).locator("button")).to_be_focused()
        assert page.locator("#shelf li").all_text_contents() == [f"{number:02}" for number in range(30)]
        # What all have divides nothing.
        expect(page.locator("#shelf-filters summary")).to_have_count(1)
        page.click("#shelf-filters summary")
        page.click("#shelf-filters label:has-text('\"y\"')")
        expect(page.locator("#shelf-title")).to_have_text("15 of the 30 in the catalog")
        expect(page.locator("#shelf li").first).to_have_text("01")
    server.send("DELETE", "/v1/catalogs/many")


def more_like_this(browser, server):
    """It starts from the picture of the catalog, also when its address is opened; a part of that can be searched."""
    with Page(browser, server.url) as page:
        page.search("photo-2.jpg")
        page.shows(["Seventh Weather"])
        photo = page.get_attribute("#photo", "src")
        page.click(".card .links button")
        expect(page.locator("#results-title")).to_contain_text("Similar to")
        assert page.get_attribute("#photo", "src") != photo
        expect(page.locator("#photo")).to_have_attribute("alt", "Seventh Weather, of the catalog")
        link = page.url
        with page.expect_request(re.compile("search.*region=")):
            page.click("#part")
        page.settle()
        page.go_back()
        page.go_back()
        page.shows(["Seventh Weather"])
        expect(page.locator("#photo")).to_have_attribute("alt", "Your photo")
        page.goto(link)
        expect(page.locator("#results-title")).to_contain_text("Seventh Weather")
        expect(page.locator("#photo")).to_have_attribute("alt", "Seventh Weather, of the catalog")


def wrong_links(browser, server):
    """A link that leads nowhere says so, and the page can be used all the same."""
    with Page(browser, server.url) as page:
        page.expected = ("404",)
        for query in ["catalog=nothing&name=night", "like=nothing", "sample=nothing.jpg"]:
            page.goto(f"{server.url}/?{query}")
            expect(page.locator("#results-title")).to_have_text("Wrong link")
            expect(page.locator("#error")).to_contain_text("nothing" if "sample" not in query else "sample")
            expect(page.locator(".card")).to_have_count(0)
            page.check("a wrong link")
            page.fill("#text", "night")
            page.keyboard.press("Enter")
            page.shows(["Night Bus to Porto"])
            expect(page.locator("#error")).to_be_hidden()
        page.goto(f"{server.url}/no/where")
        page.check("a wrong path")
        page.click("a")
        expect(page.locator("#shelf li")).to_have_count(18)


def by_words(browser, server):
    """Where the model reads texts, the field finds names and what looks like the words, and says which is which."""

    def reads_texts(route):
        answer = route.fetch()
        details = answer.json()
        details["model"]["readsTexts"] = True
        route.fulfill(response=answer, json=details)

    def described(route):
        words = urllib.parse.parse_qs(urllib.parse.urlparse(route.request.url).query)["words"]
        answer = route.fetch(
            url=f"{server.url}/v1/catalogs/covers/search",
            method="POST",
            headers={"Content-Type": "application/json"},
            post_data=json.dumps({"entity": "night-bus-to-porto", "limit": 5}),
        )
        found = answer.json()
        route.fulfill(response=answer, json=found | {"query": words[0]})

    with Page(browser, server.url) as page:
        page.expected = ("404",)
        page.route(re.compile("/v1/catalogs/covers$"), reads_texts)
        page.route(re.compile(r"/search\?words="), described)
        page.reload()
        expect(page.locator("#text-label")).to_have_text("Or describe it, or search by name")
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        expect(page.locator("#cards .card h3")).to_have_text(["Night Bus to Porto"])
        expect(page.locator("#small-title")).to_contain_text("look like")
        # What has the name is not shown twice.
        expect(page.locator("#small-cards .card")).to_have_count(5)
        assert "Night Bus to Porto" not in page.locator("#small-cards").inner_text()
        page.fill("#text", "zzz")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_text("Nothing has this name.")
        expect(page.locator("#small-cards .card")).to_have_count(5)
        page.check("found by words")
        page.unroute_all(behavior="wait")


def by_name(browser, server):
    with Page(browser, server.url) as page:
        page.fill("#text", "nig")
        expect(page.locator("#titles option")).to_have_count(1)
        assert page.locator("#titles option").get_attribute("value") == "Night Bus to Porto"
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        page.shows(["Night Bus to Porto"])
        expect(page.locator("#results-title")).to_contain_text("night")
        page.expected = ("404",)
        for name in ["zzz", "z"]:
            page.fill("#text", name)
            page.keyboard.press("Enter")
            expect(page.locator("#status")).to_have_text("Nothing has this name.")
        page.check("no name")
        # Letters that are swapped, missing and wrong.
        mistyped = {"Meridain": "Slow Meridian", "cpper": "Copper Horizon", "night buz": "Night Bus to Porto"}
        for name, title in mistyped.items():
            page.fill("#text", name)
            page.keyboard.press("Enter")
            expect(page.locator("#status")).to_contain_text("Did you mean")
            assert page.titles()[0] == title, (name, page.titles())
        # An id that is no word of a title.
        server.put_cover("slow-meridian", "A7/2", "title=A")
        page.fill("#text", "A7/2")
        page.keyboard.press("Enter")
        page.shows(["A"])
        server.send("DELETE", "/v1/catalogs/covers/entities/A7%2F2")


def addresses(browser, server):
    """What is shown has an address: for the way back, and for others."""
    with Page(browser, server.url) as page:
        page.click("#samples li:nth-child(1) button")
        page.shows(["Night Bus to Porto"])
        sample = page.url
        assert "sample=photo-1.jpg" in sample, sample
        page.search("photo-2.jpg")
        page.shows(["Seventh Weather"])
        page.click(".card .links button")
        expect(page.locator("#results-title")).to_contain_text("Similar to")
        page.go_back()
        page.shows(["Seventh Weather"])
        expect(page.locator("#outlines polygon:not(.halo)")).to_have_count(1)
        expect(page.locator("#results-title")).to_have_text("The match")
        shared = page.url
        page.go_back()
        page.shows(["Night Bus to Porto"])
        page.go_forward()
        page.shows(["Seventh Weather"])
        # A part of a photo that was gone back to is one of that photo.
        page.search("screenshot-1.png")
        page.shows(["Copper Horizon"])
        page.go_back()
        page.shows(["Seventh Weather"])
        width = page.evaluate("document.getElementById('photo').naturalWidth")
        page.click("#part")
        page.settle()
        page.go_back()
        expect(page.locator("#region")).to_be_hidden()
        page.go_forward()
        expect(page.locator("#region")).to_be_visible()
        page.shows(["Seventh Weather"])
        assert page.evaluate("document.getElementById('photo').naturalWidth") == width
        # What is asked while the photo of an earlier address comes back replaces it.
        page.evaluate("""() => {
            const text = document.getElementById("text");
            const ask = () => { text.value = "slow"; text.form.requestSubmit(); };
            addEventListener("popstate", ask, { once: true });
            history.back();
        }""")
        page.shows(["Slow Meridian"])
        page.settle()
        page.shows(["Slow Meridian"])
        named = page.url
        page.go_back()
        page.go_back()
        page.go_back()
        expect(page.locator("#welcome")).to_be_visible()
        expect(page.locator("#drop")).to_be_visible()
    with Page(browser, server.url) as page:
        page.search("photo-2.jpg")
        page.click("#more")
        page.click("#filters summary:has-text('Type')")
        page.page.check("#filters input[value=single]")
        page.settle()
        expect(page.locator("#small-cards .card")).to_have_count(9)
        filtered = page.url
    # Others have no photo of it.
    with Page(browser, filtered) as page:
        expect(page.locator("#small-cards .card")).to_have_count(9)
        expect(page.locator("#filters .on summary")).to_have_text(["Type: single"])
        for address, title in [(sample, "Night Bus to Porto"), (shared, "Seventh Weather"), (named, "Slow Meridian")]:
            page.goto(address)
            page.shows([title])
        page.expected = ("410",)
        page.goto(shared + "x")
        expect(page.locator("#error")).to_contain_text("no longer kept")
        expect(page.locator("#drop")).to_be_visible()


def a_query_that_is_gone(browser, server):
    """As after a restart: the page sends the photo again by itself."""
    with Page(browser, server.url) as page:
        page.expected = ("410",)
        page.search("photo-1.jpg")
        page.shows(["Night Bus to Porto"])
        problem = json.dumps({"status": 410, "code": "query-expired", "detail": "The query is no longer kept."})
        first = json.loads(page.evaluate("JSON.stringify(location.search.match(/query=([^&]+)/)[1])"))

        def answer(route):
            if first in (route.request.post_data or ""):
                return route.fulfill(status=410, content_type="application/problem+json", body=problem)
            return route.continue_()

        page.route(re.compile("/search$"), answer)
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(12)
        expect(page.locator("#error")).to_be_hidden()
        page.unroute_all(behavior="wait")


def strange_texts(browser, server):
    """Texts that turn the direction, and long ones without spaces, stay within their cards; links lead to the web."""
    server.send("PUT", "/v1/catalogs/odd")
    long = "x" * 200
    fields = {"title": f"\u202e{long}", "subtitle": "\u202emirrored", "labels": f"{long},\u202enoisy"}
    texts = {"attribute.url": "javascript:alert(1)", "attribute.note": long}
    server.put_cover("slow-meridian", "a", urllib.parse.urlencode(fields | texts), "odd")
    server.put_cover("copper-horizon", "b", "title=B&attribute.URL=https://www.shop.example/b?c=1", "odd")
    with Page(browser, f"{server.url}/?catalog=odd", {"width": 320, "height": 640}) as page:
        page.search("screenshot-1.png")
        page.shows(["B"])
        expect(page.locator(".card a")).to_have_text("See it at shop.example")
        expect(page.locator(".card a")).to_have_attribute("href", "https://www.shop.example/b?c=1")
        expect(page.locator(".card a")).to_have_attribute("rel", "noopener noreferrer")
        page.click("#more")
        expect(page.locator("#small-cards .card")).to_have_count(1)
        page.check("a small card with strange texts")
        page.goto(f"{server.url}/?catalog=odd&name=mirrored")
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator(".card a")).to_have_count(0)
        page.click(".card summary")
        page.check("a card with strange texts")
        outside = page.evaluate(
            """() => {
                const card = document.querySelector(".card").getBoundingClientRect();
                return [...document.querySelectorAll(".card *")].filter((item) => {
                    const box = item.getBoundingClientRect();
                    return box.left < card.left || box.right > card.right + 1;
                }).map((item) => item.outerHTML);
            }"""
        )
        assert not outside, outside
        isolates = page.evaluate(
            "[...document.querySelectorAll('.card h3, .card .sub, .tags span')]"
            ".map(item => getComputedStyle(item).unicodeBidi)"
        )
        assert set(isolates) == {"isolate"}, isolates
    server.send("DELETE", "/v1/catalogs/odd")


def formats(browser, server):
    """Photos that browsers cannot show come back as JPEG."""
    with Page(browser, server.url) as page:
        for name in ["Formats/16-bits.tiff", "Formats/alpha.heic"]:
            with page.expect_response(re.compile("/search")), page.expect_response(re.compile("/v1/previews")):
                page.set_input_files("#file", FIXTURES / name)
            page.settle()
            expect(page.locator("#stage")).to_be_visible()
            expect(page.locator("#error")).to_be_hidden()
            assert page.evaluate("document.getElementById('photo').naturalWidth") > 0


def a_slow_network(browser, server):
    """Sending the photo has a progress of its own, apart from the search."""
    with Page(browser, server.url) as page:
        expect(page.locator("#samples img")).to_have_count(9)
        send = page.context.new_cdp_session(page.page).send
        # Half a second for a picture of a wall.
        data = wall(page, 4, 2)
        rate = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": 2 * len(data)}
        send("Network.emulateNetworkConditions", {"offline": False, **rate})
        page.set_input_files("#file", {"name": "wall.png", "mimeType": "image/png", "buffer": data})
        expect(page.locator("#sending")).to_be_visible()
        expect(page.locator("#status")).to_have_text("Sending your photo…")
        expect(page.locator("#cards .card")).to_have_count(8)
        expect(page.locator("#sending")).to_be_hidden()


def without_programs(browser, server):
    with Page(browser, server.url, java_script_enabled=False) as page:
        expect(page.locator("noscript p")).to_contain_text("JavaScript")
    with Page(browser, server.url) as page:
        page.expected = ("Failed to load", "404")
        page.route(re.compile("stage.js"), lambda route: route.fulfill(status=404))
        page.reload()
        # It shows after some seconds, for those who wait for a slow network.
        page.evaluate("document.getAnimations().forEach(animation => animation.finish())")
        expect(page.locator("#loading")).to_be_visible()
        expect(page.locator("#loading")).to_contain_text("did not load")


def asked_before_the_catalog_is_known(browser, server):
    with Page(browser, server.url, held="/v1/catalogs$") as page:
        page.fill("#text", "night")
        page.keyboard.press("Enter")
        expect(page.locator("body.busy")).to_have_count(1)
        # The page asks what its key allows before it asks for the catalogs.
        page.held_request().continue_()
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
        expect(page.locator("#results-title")).to_have_text("No match")
        page.check("not in the catalog")
        page.click("text=Show the nearest all the same")
        expect(page.locator("#small-cards .card")).to_have_count(12)
        expect(page.locator("#small-title")).to_contain_text("probably not the same")
        expect(page.locator("#small-title")).to_be_focused()


def camera(browser, server, folder):
    """The answer slides over the picture, and another one is a tap away."""
    with Page(browser, server.url, PHONE, permissions=["camera"]) as page:
        drawn = page.evaluate(
            "fetch('v1/samples/photo-2.jpg').then(answer => answer.blob()).then(createImageBitmap).then(bitmap => {"
            " const canvas = document.createElement('canvas'); canvas.id = 'scene';"
            " [canvas.width, canvas.height] = [bitmap.width, bitmap.height];"
            " const context = canvas.getContext('2d'); context.drawImage(bitmap, 0, 0);"
            " const stream = canvas.captureStream(5); setInterval(() => context.drawImage(bitmap, 0, 0), 200);"
            " navigator.mediaDevices.getUserMedia = async () => stream.clone();"
            " return [bitmap.width, bitmap.height]; })"
        )
        # What the camera sees is searched without a touch; the outline lies on it, wherever the picture has bars.
        searches = []
        page.on("request", lambda request: searches.append(request.url) if "/search" in request.url else None)
        page.click("#photograph")
        page.wait_until("document.getElementById('video').videoWidth > 0")
        expect(page.locator("#shoot")).to_be_focused()
        expect(page.locator("#live-names button")).to_have_text(["Seventh Weather"])
        expect(page.locator("#live-outlines polygon:not(.halo)")).to_have_count(1)
        outline = page.locator("#live-outlines polygon:not(.halo)").bounding_box()
        scale = min(PHONE["width"] / drawn[0], PHONE["height"] / drawn[1])
        top = (PHONE["height"] - drawn[1] * scale) / 2
        assert outline["y"] > top and outline["y"] + outline["height"] < PHONE["height"] - top, (outline, top)
        assert outline["width"] > drawn[0] * scale / 3, outline
        # A picture that stays is not searched again.
        count = len(searches)
        page.wait_for_timeout(2500)
        assert len(searches) == count, searches
        page.check("the camera")
        if folder:
            page.screenshot(path=folder / "camera-390.png")
        with page.expect_response(re.compile("/search")):
            page.click("#live-names button")
        page.shows(["Seventh Weather"])
        page.wait_until("!document.getAnimations().length")
        page.keyboard.press("Escape")
        expect(page.locator("#camera")).to_be_hidden()
    with Page(browser, server.url, PHONE, permissions=["camera"]) as page:
        page.click("#photograph")
        page.wait_until("document.getElementById('video').videoWidth > 0")
        expect(page.locator("#shoot")).to_be_focused()
        page.check("the camera")
        with page.expect_response(re.compile("/search")):
            page.click("#shoot")
        page.settle()
        expect(page.locator("#photo")).to_be_visible()
        page.check("an answer over the camera")
        # It slides for a while.
        page.wait_until("!document.getAnimations().length")
        sheet = page.locator("#results").bounding_box()
        assert sheet["y"] + sheet["height"] == PHONE["height"] and sheet["y"] > PHONE["height"] * 0.4
        page.click("#camera-again")
        page.wait_until("document.getElementById('video').videoWidth > 0")
        page.keyboard.press("Escape")
        expect(page.locator("#camera")).to_be_hidden()
        expect(page.locator("#stage")).to_be_visible()
        assert not page.evaluate("document.getElementById('video').srcObject")
    with Page(browser, server.url, PHONE) as page:
        page.evaluate("void (navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error()))")
        page.click("#photograph")
        expect(page.locator("#camera-status")).to_contain_text("no camera")
        expect(page.locator("#camera-pick")).to_be_visible()
        page.check("no camera")


def errors(browser, server):
    with Page(browser, server.url) as page:
        page.expected = ("Failed to load resource", "415", "422")
        page.search("screenshot-1.png")
        page.shows(["Copper Horizon"])
        for name, content, words in [
            ("a.jpg", b"%PDF-1.7", "PDF document"),
            ("a.mp4", b"\0\0\0\x18ftypmp42", "video"),
            ("a.jpg", b"", "empty"),
            ("a.jpg", b"plain text", "not a photo"),
            ("a.jpg", (DEMO / "queries/photo-1.jpg").read_bytes()[:500], "damaged"),
        ]:
            page.set_input_files("#file", {"name": name, "mimeType": "image/jpeg", "buffer": content})
            expect(page.locator("#error")).to_contain_text(words)
            # It stands alone: without the photo and the answer before it.
            expect(page.locator("#stage")).to_be_hidden()
            expect(page.locator(".card")).to_have_count(0)
            expect(page.locator("#drop")).to_be_visible()
        page.check("an error")
        page.search("screenshot-1.png")
        expect(page.locator("#error")).to_be_hidden()
        page.expected += ("ERR_CONNECTION_REFUSED",)
        server.stop()
        page.set_input_files("#file", DEMO / "queries/screenshot-1.png")
        expect(page.locator("#error")).to_contain_text("cannot be reached")
        expect(page.locator("#error button")).to_have_text("Try again")


def managing(browser, server, keys, folder):
    image = DEMO / "queries/photo-of-another-record.jpg"
    with Page(browser, server.url) as page:
        page.expected = ("401", "403", "404")
        # A visitor without a key meets no dialog.
        expect(page.locator("#error button")).to_have_text("Enter an API key")
        expect(page.locator("#key-dialog")).to_be_hidden()
        page.click("#error button")
        expect(page.locator("#key-dialog")).to_be_visible()
        page.check("the key")
        page.fill("#key", keys["read"])
        page.click("text=Use this key")
        expect(page.locator("#catalog option")).to_have_count(1)
        expect(page.locator("#manage-open")).to_be_hidden()
        page.click("#key-button")
        page.fill("#key", keys["write"])
        page.keyboard.press("Enter")
        page.click("#manage-open")
        expect(page.locator("#manage-title")).to_be_focused()
        expect(page.locator("#entities li")).to_have_count(18)
        # The key is taken back, and given again.
        page.click("#key-button")
        page.fill("#key", keys["read"])
        page.keyboard.press("Enter")
        expect(page.locator("#manage-open")).to_be_hidden()
        # Nothing is sent before the person says so.
        sent = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
        page.set_input_files("#add-files", [image, DEMO / "queries/photo-1.jpg"])
        expect(page.locator("#add-items input")).to_have_count(2)
        page.click("#add-items li:nth-child(2) button")
        expect(page.locator("#add-items input")).to_have_value("photo of another record")
        page.check("adding")
        assert not sent
        page.click("#add-send")
        expect(page.locator("#add-list .bad")).to_contain_text("reading alone")
        expect(page.locator("#key-dialog")).to_be_visible()
        page.fill("#key", keys["write"])
        page.keyboard.press("Enter")
        expect(page.locator("#key-dialog")).to_be_hidden()
        # What was not sent is still there.
        page.fill("#add-items input", "Nobody's Record")
        page.fill("#add-url", "https://shop.example/nobody")
        page.click("#add-send")
        expect(page.locator("#add-list .good")).to_contain_text("Nobody's Record\u2069 was added")
        expect(page.locator("#entities li")).to_have_count(19)
        expect(page.locator("#facts")).to_contain_text("19")
        page.click("#manage-close")
        page.search(image.name)
        page.shows(["Nobody's Record"])
        expect(page.locator(".card a")).to_have_attribute("href", "https://shop.example/nobody")
        # With a key, an image element could not load its thumbnail by itself.
        page.wait_until("document.querySelector('.card .thumb').naturalWidth > 0")
        # Two phones' image.jpg are two entities; the second is taken back.
        page.click("#manage-open")
        for _ in range(2):
            file = {"name": "image.jpg", "mimeType": "image/jpeg", "buffer": image.read_bytes()}
            page.set_input_files("#add-files", file)
            expect(page.locator("#add-items input")).to_have_value("")
            page.click("#add-send")
            expect(page.locator("#add-status")).to_have_text("1 of 1 sent.")
        expect(page.locator("#entities li")).to_have_count(21)
        page.click("#add-list li:first-child button")
        expect(page.locator("#add-list li:first-child")).to_contain_text("not added after all")
        expect(page.locator("#entities li")).to_have_count(20)
        # An id that is there is replaced if that is said twice.
        page.set_input_files("#add-files", image)
        page.fill("#add-id", "slow-meridian")
        page.click("#add-send")
        expect(page.locator("#add-warning")).to_contain_text("replaces it")
        expect(page.locator("#add-send")).to_have_text("Replace it")
        page.click("#add-send")
        expect(page.locator("#add-list li:first-child")).to_contain_text("was replaced")
        expect(page.locator("#entities li")).to_have_count(20)
        page.click("#add-list li:first-child button")
        expect(page.locator("#add-list li:first-child")).to_contain_text("not replaced after all")
        stored = json.loads(server.send("GET", "/v1/catalogs/covers/entities/slow-meridian", headers=keys["header"]))
        assert stored["title"] == "Slow Meridian", stored
        # What the catalog has already is said before it is added again, and what is typed meanwhile stays.
        page.set_input_files("#add-files", [DEMO / "queries/photo-2.jpg", DEMO / "covers/seventh-weather.jpg"])
        page.fill("#add-items li:nth-child(2) input", "typed")
        expect(page.locator("#add-items .known")).to_have_count(2)
        expect(page.locator("#add-items .known").first).to_contain_text("Seventh Weather")
        assert page.input_value("#add-items li:nth-child(2) input") == "typed"
        # Several photos of one thing.
        page.page.check("#add-together")
        expect(page.locator("#add-items input:visible")).to_have_count(1)
        page.fill("#add-items input", "Twice")
        page.fill("#add-id", "twice")
        page.click("#add-send")
        expect(page.locator("#add-list li:first-child")).to_contain_text("Twice\u2069 was added")
        stored = json.loads(server.send("GET", "/v1/catalogs/covers/entities/twice", headers=keys["header"]))
        assert stored["imageCount"] == 2, stored
        page.click("#add-list li:first-child button")
        expect(page.locator("#entities li")).to_have_count(20)
        # Several entities at once.
        page.click("[data-id=salt-signal] input")
        expect(page.locator("#selected-count")).to_have_text("1 entity selected")
        page.click("#select-all")
        expect(page.locator("#selected-count")).to_have_text("20 entities selected")
        expect(page.locator("#entities input:checked")).to_have_count(20)
        page.click("[data-id=salt-signal] input")
        page.click("#many-edit")
        page.click("#many-form button.primary")
        expect(page.locator("#many-error")).to_contain_text("Nothing")
        page.fill("#many-type", "disc")
        page.fill("#many-add", "summer")
        page.fill("#many-remove", "rings")
        page.fill("#many-attributes", "price: 9\nyear:")
        page.check("changing many")
        page.click("#many-form button.primary")
        expect(page.locator("#manage-status")).to_have_text("19 entities changed.")
        path = "/v1/catalogs/covers/entities?filter=type%20%3D%20disc"
        found = json.loads(server.send("GET", path, headers=keys["header"]))["entities"]
        assert len(found) == 19, found
        assert all("summer" in entity["labels"] and "rings" not in entity["labels"] for entity in found), found
        assert all("year" not in entity["attributes"] for entity in found), found
        assert all(entity["attributes"]["price"] == "9" for entity in found), found
        page.fill("#browse", "summer")
        expect(page.locator("#entities li")).to_have_count(19)
        removed = ["paper-lanterns", "glass-orchard"]
        for cover in removed:
            page.click(f"[data-id={cover}] input")
        # One of them is gone already.
        own = {"X-API-Key": keys["write"]}
        server.send("DELETE", f"/v1/catalogs/covers/entities/{removed[0]}", headers=own)
        page.click("#many-delete")
        page.click("text=Delete 2 entities for good")
        expect(page.locator("#manage-status")).to_have_text("2 entities deleted.")
        expect(page.locator("#entities li")).to_have_count(17)
        expect(page.locator("#selected")).to_be_hidden()
        for cover in removed:
            server.put_cover(cover, cover, "title=again", headers=own)
        # Change and delete.
        page.fill("#browse", "copper")
        expect(page.locator("#entities li")).to_have_count(1)
        page.click("#entities button")
        page.fill("#edit-name", "Copper & Tin")
        page.fill("#edit-attributes", "year 2000")
        page.click("text=Save")
        expect(page.locator("#edit-error")).to_contain_text("name: value")
        page.fill("#edit-attributes", "color: red\nurl: https://shop.example/copper")
        page.check("changing")
        page.click("text=Save")
        expect(page.locator("#entities strong")).to_have_text("Copper & Tin")
        expect(page.locator("#entities button")).to_be_focused()
        stored = json.loads(server.send("GET", "/v1/catalogs/covers/entities/copper-horizon", headers=keys["header"]))
        assert stored["attributes"] == {"color": "red", "url": "https://shop.example/copper"}, stored
        # Its pictures: one that it has is not added again, and what is removed can be put back.
        page.click("#entities button")
        expect(page.locator("#edit-images li")).to_have_count(1)
        expect(page.locator("#edit-images button")).to_have_count(0)
        page.set_input_files("#edit-files", [image, DEMO / "queries/photo-1.jpg"])
        expect(page.locator("#edit-status")).to_have_text("2 pictures were added.")
        expect(page.locator("#edit-images li")).to_have_count(3)
        page.wait_until("[...document.querySelectorAll('#edit-images img')].every((one) => one.naturalWidth > 0)")
        if folder:
            page.screenshot(path=folder / "pictures.png")
        page.check("changing pictures")
        page.set_input_files("#edit-files", image)
        expect(page.locator("#edit-status")).to_have_text("It has this picture already.")
        page.set_input_files("#edit-files", {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1"})
        expect(page.locator("#edit-error")).to_contain_text("PDF")
        page.click("#edit-images button >> nth=0")
        expect(page.locator("#edit-status")).to_have_text("The picture was removed.")
        expect(page.locator("#edit-status")).to_be_focused()
        expect(page.locator("#edit-images li")).to_have_count(2)
        expect(page.locator("#edit-error")).to_be_hidden()
        page.click("#edit-undo")
        expect(page.locator("#edit-status")).to_have_text("It is as it was.")
        expect(page.locator("#edit-images li")).to_have_count(3)
        page.click("#edit-images button >> nth=2")
        page.click("#edit-images button >> nth=1")
        expect(page.locator("#edit-images button")).to_have_count(0)
        page.click("#edit-close")
        page.click("#entities button")
        page.click("#edit-delete")
        page.click("text=Delete it for good")
        expect(page.locator("#manage-status")).to_contain_text("was deleted")
        expect(page.locator("#facts")).to_contain_text("19")
        # Catalogs.
        page.fill("#create-name", "second")
        page.click("#create-form button")
        expect(page.locator("#manage-title")).to_have_text("Manage “second”")
        expect(page.locator("#entities")).to_contain_text("Nothing yet")
        page.fill("#remove-name", "covers")
        page.click("#remove-form button")
        expect(page.locator("#manage-error")).to_contain_text("nothing was deleted")
        page.fill("#remove-name", "second")
        page.click("#remove-form button")
        expect(page.locator("#manage-title")).to_have_text("Manage “covers”")
        page.check("managing")
        page.fill("#remove-name", "covers")
        page.click("#remove-form button")
        expect(page.locator("#manage-title")).to_have_text("There is no catalog yet")
        expect(page.locator("#add-form")).to_be_hidden()
        page.fill("#create-name", "first")
        page.click("#create-form button")
        expect(page.locator("#manage-title")).to_have_text("Manage “first”")
        expect(page.locator("#add-form")).to_be_visible()


def wall(page, columns, rows):
    """A photo of a wall of covers, as bytes of a PNG file."""
    drawn = page.evaluate(
        """async ([columns, rows]) => {
            const answer = await fetch("v1/catalogs/covers/search", {
                method: "POST", headers: {"Content-Type": "application/json"}, body: '{"types": [], "limit": 18}'});
            const {results} = await answer.json();
            const canvas = document.createElement("canvas");
            const cell = 280;
            [canvas.width, canvas.height] = [columns * cell, rows * cell];
            const context = canvas.getContext("2d");
            context.fillStyle = "#d8cfc0";
            context.fillRect(0, 0, canvas.width, canvas.height);
            for (let index = 0; index < columns * rows; index += 1) {
                const image = new Image();
                image.src = results[index].entity.thumbnail;
                await image.decode();
                const [x, y] = [index % columns, Math.floor(index / columns)];
                context.drawImage(image, x * cell + 20, y * cell + 20, 240, 240);
            }
            return canvas.toDataURL("image/png").split(",")[1];
        }""",
        [columns, rows],
    )
    return base64.b64decode(drawn)


def search_bytes(page, data, name="wall.png", kind="image/png"):
    with page.expect_response(re.compile("/search")):
        page.set_input_files("#file", {"name": name, "mimeType": kind, "buffer": data})
    page.settle()


def looks(browser, server, folder, is_all):
    """What the page looks like in each of its states, at each size; nothing leaves the window."""
    sizes = [(*size, scheme) for *size, _ in LOOKS for scheme in ["light", "dark"]] if is_all else LOOKS
    for width, height, scheme in sizes:
        viewport = {"width": width, "height": height}
        with Page(browser, server.url, viewport, scheme, has_touch=width < 1000) as page:

            def look(state, page=page, name=f"{width}-{scheme}"):
                # axe sees the same at each size.
                page.check(f"{state}, {name}", with_axe=name in ["360-dark", "1280-light"])
                if folder:
                    page.wait_until(
                        "[...document.images].every(image => image.complete || !image.checkVisibility()"
                        " || image.getBoundingClientRect().top > innerHeight)"
                    )
                    page.screenshot(path=folder / f"{state}-{name}.png")

            expect(page.locator("#samples img")).to_have_count(9)
            look("start")
            page.search("photo-2.jpg")
            page.shows(["Seventh Weather"])
            # The answer is in the window.
            card = page.locator(".card").bounding_box()
            assert card["y"] < height - 60, (width, card)
            look("match")
            search_bytes(page, wall(page, 4, 2))
            expect(page.locator("#cards .card")).to_have_count(8)
            look("wall")
            if width >= 1200:
                # A grid of matches, and the photo beside it as far as one scrolls.
                first, second = [page.locator("#cards .card").nth(index).bounding_box() for index in range(2)]
                assert first["y"] == second["y"] and second["x"] > first["x"], (width, first, second)
                page.mouse.wheel(0, 400)
                expect(page.locator("#canvas")).to_be_in_viewport(ratio=1)
                page.evaluate("scrollTo(0, 0)")
            if width in [768, 844] and not is_all:
                continue
            page.click("#part")
            page.settle()
            look("part")
            page.search("photo-of-another-record.jpg")
            look("no-match")
            page.click("text=Show the nearest all the same")
            expect(page.locator("#small-cards .card")).to_have_count(12)
            page.click("#filters summary:has-text('Type')")
            look("less-likely")
            page.keyboard.press("Escape")
            page.set_input_files("#file", {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"})
            expect(page.locator("#error")).to_contain_text("PDF")
            expect(page.locator("#error")).to_be_in_viewport(ratio=1)
            look("error")
            page.expected = ("ERR_INTERNET_DISCONNECTED",)
            page.context.set_offline(True)
            page.set_input_files("#file", DEMO / "queries/photo-1.jpg")
            expect(page.locator("#error")).to_contain_text("offline")
            look("offline")
            # It tries again by itself.
            page.context.set_offline(False)
            page.shows(["Night Bus to Porto"])
            page.click("#manage-open")
            expect(page.locator("#entities li")).to_have_count(18)
            page.set_input_files("#add-files", DEMO / "queries/photo-of-a-mug.jpg")
            expect(page.locator("#add-items li")).to_have_count(1)
            look("adding")
            page.click("#add-cancel")
            page.click("#select-all")
            page.locator("#selected").scroll_into_view_if_needed()
            look("selecting")
            page.click("#many-edit")
            look("changing-many")
            page.keyboard.press("Escape")
            page.expected += ("404",)
            page.goto(f"{server.url}/?catalog=covers&like=copper-horizon")
            expect(page.locator("#small-cards .card")).to_have_count(12)
            look("like")
            page.goto(f"{server.url}/?catalog=nothing")
            expect(page.locator("#results-title")).to_have_text("Wrong link")
            look("wrong-link")
            page.goto(f"{server.url}/nothing")
            expect(page.locator("h1")).to_have_text("There is nothing at this address")
            look("wrong-path")


def make_key(program, scope):
    made = subprocess.run(
        [program, "make-key", "--scope", scope, "--name", scope], capture_output=True, text=True, check=True
    )
    return made.stdout, made.stderr.split(": ", 1)[1].strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every size in light and dark")
    parser.add_argument("--only", default="", help="a pattern of the names of tests")
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
        if re.search(arguments.only, "looks"):
            looks(browser, server, arguments.screenshots, arguments.all)
        tests = [
            choosing_and_outlines,
            an_outline_alone,
            many_matches,
            mirrored_matches,
            dropping_and_pasting,
            regions,
            fingers,
        ]
        tests += [filters_and_pages, by_name, addresses, a_query_that_is_gone, strange_texts, formats]
        tests += [a_slow_network]
        tests += [without_programs, asked_before_the_catalog_is_known, a_catalog_that_cannot_be_opened]
        tests += [a_busy_service_is_asked_again, not_in_the_catalog]
        tests += [browsing, what_divides_the_results, more_like_this, wrong_links, by_words]
        for test in [*tests, camera, errors]:
            if not re.search(arguments.only, test.__name__):
                continue
            test(browser, server, *([arguments.screenshots] if test is camera else []))
            print(f"page: {test.__name__}: passed", flush=True)
        if not re.search(arguments.only, "managing"):
            return
        lines = {scope: make_key(arguments.program, scope) for scope in ["read", "write"]}
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write("".join(line for line, _ in lines.values()))
            file.flush()
            server = Server(arguments.program, folder, "--keys-file", file.name)
            keys = {scope: key for scope, (_, key) in lines.items()}
            managing(browser, server, keys | {"header": {"X-API-Key": keys["read"]}}, arguments.screenshots)
            server.stop()
        print("page: managing: passed")
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
