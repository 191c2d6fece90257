#!/usr/bin/env python3
"""Loads a service that runs, and measures it.

load.py fill URL CATALOG PHOTO --count N        puts entities with random prints
load.py closed URL CATALOG PHOTO --clients N    each client sends its next search after an answer
load.py open URL CATALOG PHOTO --rate R         searches arrive at a rate, whether or not others are answered; then how
                                                soon a single client is answered as before
load.py soak URL CATALOG PHOTO --requests N     96 of 100 search by the photo's print, one by the photo, and one each
                                                puts, changes and removes an entity; memory and open files

Searches are by the photo, or with --print by its print. --effort is that of “lookalike search”. --path sends the photo
to another service, such as glue.py.
"""

import argparse
import asyncio
import base64
import json
import math
import random
import statistics
import struct
import sys
import time
import urllib.parse
import urllib.request

# A unit vector of 256 components of ±1/16, from 256 random bits.
BITS = [struct.pack("<8e", *(1 / 16 if byte >> bit & 1 else -1 / 16 for bit in range(8))) for byte in range(256)]


class Connection:
    """One connection that is kept open."""

    def __init__(self, url):
        self.host, self.port = urllib.parse.urlparse(url).hostname, urllib.parse.urlparse(url).port
        self.reader = self.writer = None

    async def send(self, method, path, body=b"", kind="application/octet-stream"):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:] if line)}
        answer = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return status, answer

    def close(self):
        if self.writer:
            self.writer.close()
            self.writer = None


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def metrics(url):
    with urllib.request.urlopen(url + "/metrics") as answer:
        lines = answer.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return float(values["process_resident_memory_bytes"]) / 2**20, float(values["process_open_fds"])


def photo_print(options):
    """The photo's print, as the service makes it."""
    with open(options.photo, "rb") as photo:
        request = urllib.request.Request(options.url + "/v1/prints", data=photo.read())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["prints"][0]


def search(options):
    """The path, body and media type of a search."""
    if options.path:
        path = options.path
    else:
        path = f"/v1/catalogs/{options.catalog}/search"
    if options.print:
        body = {"print": photo_print(options), "limit": 10, "minConfidence": 0}
        return path, json.dumps(body).encode(), "application/json"
    if not options.path:
        path += f"?limit=10&effort={options.effort}"
    with open(options.photo, "rb") as photo:
        return path, photo.read(), "application/octet-stream"


def fill(options):
    random.seed(1)
    model = photo_print(options)["model"]
    url = f"{options.url}/v1/catalogs/{options.catalog}"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT"))
    start = time.monotonic()

    def lines():
        for index in range(options.count):
            vector = b"".join(BITS[byte] for byte in random.randbytes(32))
            print_ = {"model": model, "vector": base64.b64encode(vector).decode()}
            yield json.dumps({"id": f"e{index}", "type": f"t{index % 8}", "print": print_}).encode() + b"\n"

    rows = lines()
    done = 0
    while chunk := [line for _, line in zip(range(5000), rows)]:
        request = urllib.request.Request(
            url + "/entities:batch", data=b"".join(chunk), headers={"Content-Type": "application/x-ndjson"}
        )
        with urllib.request.urlopen(request) as answer:
            bad = [line for line in answer if b'"problem"' in line]
        assert not bad, bad[0]
        done += len(chunk)
    print(f"{done} entities in {time.monotonic() - start:.1f} s")


async def closed(options):
    query = search(options)
    latencies, work = [], []
    end = time.monotonic() + options.seconds

    async def client():
        connection = Connection(options.url)
        while time.monotonic() < end:
            start = time.monotonic()
            status, answer = await connection.send("POST", *query)
            if status == 200:
                latencies.append((time.monotonic() - start) * 1000)
                work.append(json.loads(answer).get("timings", {}).get("work", math.nan))
        connection.close()

    await asyncio.gather(*(client() for _ in range(options.clients)))
    line = (
        f"{options.clients} clients: {len(latencies) / options.seconds:.1f} searches/s,"
        f" p50 {percentile(latencies, 0.5):.2f} ms, p99 {percentile(latencies, 0.99):.2f} ms"
    )
    if not options.path:
        added = statistics.median(a - b for a, b in zip(latencies, work))
        line += (
            f"; the library's part p50 {percentile(work, 0.5):.2f} ms;"
            f" added by HTTP p50 {added:.2f} ms ({added / percentile(work, 0.5):.1%})"
        )
    print(line)


async def alone(options, query, seconds):
    """Latencies in ms of a single client that waits 20 ms between its searches, with the time of each."""
    connection = Connection(options.url)
    times = []
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        status, _ = await connection.send("POST", *query)
        times.append((start, (time.monotonic() - start) * 1000 if status == 200 else math.inf))
        await asyncio.sleep(0.02)
    connection.close()
    return times


def recovery(times, stop, usual, window=5):
    """Seconds after `stop` until the median of each `window` searches stays within the usual p99, or None."""
    latencies = [latency for _, latency in times]
    slow = [
        index
        for index in range(len(times) - window + 1)
        if statistics.median(latencies[index : index + window]) > usual
    ]
    if not slow:
        return 0.0
    after = slow[-1] + window
    return times[after][0] - stop if after < len(times) else None


async def opened(options):
    query = search(options)
    admitted, refused, other = [], [], []
    idle = []
    quiet = [latency for _, latency in await alone(options, query, 5)]
    before = metrics(options.url)

    async def one():
        connection = idle.pop() if idle else Connection(options.url)
        start = time.monotonic()
        try:
            status, _ = await connection.send("POST", *query)
        except (OSError, asyncio.IncompleteReadError) as error:
            other.append(str(error))
            return
        times = {200: admitted, 503: refused}.get(status)
        (other if times is None else times).append((time.monotonic() - start) * 1000)
        idle.append(connection)

    random.seed(1)
    tasks = []
    next_ = time.monotonic()
    end = next_ + options.seconds
    while next_ < end:
        await asyncio.sleep(max(0, next_ - time.monotonic()))
        tasks.append(asyncio.create_task(one()))
        next_ += random.expovariate(options.rate)
    stop = time.monotonic()
    after = metrics(options.url)
    later = await alone(options, query, 5)
    await asyncio.gather(*tasks)
    usual = percentile(quiet, 0.99)
    seconds = recovery(later, stop, usual)
    print(
        f"alone: p50 {percentile(quiet, 0.5):.1f} ms, p99 {usual:.1f} ms\n"
        f"{options.rate}/s for {options.seconds} s: {len(admitted)} answered, p50 {percentile(admitted, 0.5):.1f} ms,"
        f" p99 {percentile(admitted, 0.99):.1f} ms; {len(refused)} refused, p50 {percentile(refused, 0.5):.1f} ms,"
        f" p99 {percentile(refused, 0.99):.1f} ms; {len(other)} other; memory {before[0]:.0f} → {after[0]:.0f} MiB\n"
        f"afterwards: p50 {percentile([latency for _, latency in later], 0.5):.1f} ms,"
        f" {'not as before within 5 s' if seconds is None else f'as before after {seconds:.2f} s'}"
    )


async def soak(options):
    options.print = True
    by_print = search(options)
    options.print = False
    by_photo = search(options)
    base = f"/v1/catalogs/{options.catalog}"
    random.seed(1)
    done, refused = 0, 0
    failures = {}
    samples = {}
    start = time.monotonic()

    async def client(number):
        nonlocal done, refused
        connection = Connection(options.url)
        while done < options.requests:
            done += 1
            entity = f"{base}/entities/soak-{number}-{random.randrange(8)}"
            kind = random.random()
            # An entity may not have been put yet, or have been removed.
            expected = {200, 503}
            if kind < 0.96:
                status, _ = await connection.send("POST", *by_print)
            elif kind < 0.97:
                status, _ = await connection.send("POST", *by_photo)
            elif kind < 0.98:
                status, _ = await connection.send("PUT", entity, by_photo[1])
                expected |= {201}
            elif kind < 0.99:
                status, _ = await connection.send("PATCH", entity, b'{"title":"x"}', "application/json")
                expected |= {404}
            else:
                status, _ = await connection.send("DELETE", entity)
                expected |= {204, 404}
            refused += status == 503
            if status not in expected:
                failures[status] = failures.get(status, 0) + 1
            # Requests that end together see the same number.
            if done % max(1, options.requests // 20) == 0 and done not in samples:
                samples[done] = (time.monotonic() - start, *metrics(options.url))
        connection.close()

    await asyncio.gather(*(client(number) for number in range(options.clients)))
    print(f"{sum(failures.values())} unexpected answers {failures or ''}, {refused} refused")
    for number, (seconds, memory, files) in samples.items():
        print(f"{number} requests, {seconds:.0f} s: {memory:.0f} MiB, {files:.0f} files")
    # The first half fills caches.
    half = {number: sample[1] for number, sample in samples.items() if number > options.requests / 2}
    if len(half) > 1:
        slope = statistics.linear_regression(list(half), list(half.values())).slope
        print(f"memory in the second half: {slope * 1e6:+.1f} MiB per million requests")
    return bool(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["fill", "closed", "open", "soak"])
    parser.add_argument("url")
    parser.add_argument("catalog")
    parser.add_argument("photo")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--effort", choices=["prints", "standard"], default="standard")
    parser.add_argument("--print", action="store_true", help="search by the photo's print")
    parser.add_argument("--path", help="the path of another service's search")
    parser.add_argument("--requests", type=int, default=1_000_000)
    options = parser.parse_args()
    options.url = options.url.rstrip("/")
    if options.mode == "fill":
        return fill(options)
    return asyncio.run({"closed": closed, "open": opened, "soak": soak}[options.mode](options))


if __name__ == "__main__":
    sys.exit(main())
