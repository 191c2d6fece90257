"""A service that runs with a catalog of the demo's covers. Used by the tests that break it."""

import contextlib
import http.client
import json
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COVERS = [path.read_bytes() for path in sorted((ROOT / "Examples/Demo/covers").glob("*.jpg"))]
CATALOG = "/v1/catalogs/shop"


class Service:
    def __init__(self, program, folder, environment=None, options=()):
        arguments = [program, "--catalogs", folder, "--port", "0", "--log-level", "critical", *options]
        self.process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            # Where calls fail, Swift says how it ended.
            stderr=subprocess.DEVNULL if environment else None,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        # Its URL; nothing if it cannot start.
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1].strip().strip("/")) if line else None
        if self.port:
            self.wait_until_ready()

    def wait_until_ready(self):
        """Waits until the catalogs are open, so that faults meet the changes that follow and not their opening."""
        deadline = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < deadline:
            # It may be broken already.
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.send("GET", "/health/ready")[0] == 200:
                    return
            time.sleep(0.005)

    def send(self, method, path, body=b"", kind="image/jpeg", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": kind, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def stored(self, entity, allowed):
        """An entity's title, None if it is not there, and what is wrong with it; its title has to be an allowed one."""
        status, body = self.send("GET", f"{CATALOG}/entities/{entity}")
        title = json.loads(body).get("title") if status == 200 else None
        wrong = []
        if title not in allowed:
            wrong.append(f"{entity} has the title {title}, not {sorted(map(str, allowed))}")
        if status == 200 and self.send("GET", f"{CATALOG}/entities/{entity}/thumbnail")[0] != 200:
            wrong.append(f"{entity} has no thumbnail")
        return title, wrong

    def end(self, signal):
        """Its exit status."""
        self.process.send_signal(signal)
        status = self.process.wait()
        self.process.stdout.close()
        return status
