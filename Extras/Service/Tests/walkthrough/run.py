#!/usr/bin/env python3
"""Runs the commands of Documentation/WebShop.md in an empty folder, and uses the page that they make in Chromium.

run.py LOOKALIKE LOOKALIKE_SERVE [--screenshots FOLDER]

Blocks of “sh” are one program. A block of “text” is what the one before it prints. Every other block is a file, whose
first line, a comment, has its name.
"""

import argparse
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[4]
ARTICLE = ROOT / "Extras/Service/Documentation/WebShop.md"
DEMO = ROOT / "Examples/Demo"
END = "end of the file"


def blocks(article: str) -> list[tuple[int, str, str]]:
    """The line, the language and the content of each block."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", article, re.MULTILINE | re.DOTALL)
    return [(article[: block.start()].count("\n") + 1, block[1], block[2]) for block in found]


def program(article: str, outputs: Path) -> str:
    """All commands, with the outputs of those that print in files."""
    lines = ["set -eu"]
    output = None
    for line, language, content in blocks(article):
        lines.append(f"echo {ARTICLE.name}:{line} > {outputs}/line")
        if language == "sh":
            output = outputs / str(line)
            lines += ["{", content, f"}} > {output}"]
        elif language == "text":
            # Answers of the service do not end a line.
            lines += [f"awk 1 {output} > {output}.text", f"diff - {output}.text <<'{END}' >&2", content + END]
        else:
            name, content = content.split("\n", 1)
            lines += [f"cat > {shlex.quote(name.split()[1])} <<'{END}'", content + END]
    return "\n".join(lines) + "\n"


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def use(url: str, screenshots: Path | None) -> None:
    """Searches on the page as people do."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        photo, price, status = page.get_by_label("Photo"), page.get_by_label("Price"), page.get_by_role("status")
        link = page.get_by_role("link")

        def picture(name: str) -> None:
            if screenshots:
                page.screenshot(path=screenshots / f"shop-{name}.png")

        picture("start")
        photo.set_input_files(DEMO / "queries/photo-1.jpg")
        expect(status).to_have_text("We have it:")
        expect(link).to_have_count(1)
        expect(link).to_contain_text("Night Bus to Porto")
        expect(link).to_contain_text("€24.90")
        expect(link).to_have_attribute("href", "/records/night-bus")
        page.wait_for_function("document.querySelector('a img').naturalWidth > 0")
        picture("match")
        page.emulate_media(color_scheme="dark")
        picture("match-dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1024, "height": 560})
        picture("match-wide")
        price.fill("20")
        expect(status).to_have_text("We have none that this photo shows.")
        expect(link).to_have_count(0)
        price.fill("")
        expect(link).to_have_count(1)
        photo.set_input_files(DEMO / "queries/photo-of-another-record.jpg")
        expect(status).to_have_text("We have none that this photo shows.")
        photo.set_input_files(ARTICLE)
        expect(status).to_contain_text("That did not work.")
        picture("error")
        assert not errors, errors
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--page", help="use a page, instead")
    parser.add_argument("--screenshots", type=Path)
    arguments = parser.parse_args()
    if arguments.page:
        expect.set_options(timeout=20_000)
        use(arguments.page, arguments.screenshots)
        return 0
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    article = ARTICLE.read_text()
    for port, free in zip(["8700", "8080"], free_ports(2)):
        article = article.replace(port, str(free))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)  # nginx gives up root's rights.
        (home / "lookalike").symlink_to(ROOT)
        for name in ["bin", "outputs", "work"]:
            (home / name).mkdir()
        for program_, name in zip(arguments.programs, ["lookalike", "lookalike-serve"]):
            (home / "bin" / name).symlink_to(program_.resolve())
        browse = [sys.executable, __file__]
        if arguments.screenshots:
            browse += ["--screenshots", str(arguments.screenshots.resolve())]
        (home / "bin/xdg-open").write_text(f'#!/bin/sh\nexec {shlex.join(browse)} --page "$1"\n')
        (home / "bin/xdg-open").chmod(0o755)
        environment = {**os.environ, "HOME": folder, "PATH": f"{home}/bin:{os.environ['PATH']}"}
        (home / "outputs/program").write_text(program(article, home / "outputs"))
        shell = subprocess.Popen(
            ["sh", home / "outputs/program"], cwd=home / "work", env=environment, start_new_session=True
        )
        try:
            shell.wait(timeout=300)
        finally:
            # What runs in the background, too.
            try:
                os.killpg(shell.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        if shell.returncode:
            place = (home / "outputs/line").read_text().strip()
            print(f"{place} failed.")
            for log in [home / "outputs" / place.split(":")[1], *(home / "work/shop").glob("*.log")]:
                print(log.read_text(errors="replace") if log.exists() else "")
            return 1
    print(f"{ARTICLE.name}: every command works.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
