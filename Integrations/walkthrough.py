"""From a folder to a cluster, in small: what the article “From a folder to many machines” describes, step by step.

    python Integrations/walkthrough.py [LOOKALIKE_MILVUS MILVUS_LITE [MILVUS_SERVER]]

Two machines, a folder each, compute a shard of the demo's images with Spark. The shards are merged and searched. Then
the catalog is pushed to Milvus Lite and to Milvus 2.3, and searched there by two nodes of the service, one of which is
killed meanwhile. It is pulled back, and searched again. All of them give the same answers. Milvus 2.3 has no sparse
vectors and finds candidates by prints alone: what it finds first has to be among them.

LOOKALIKE_MILVUS is the program of Integrations/Milvus, MILVUS_LITE the one of PyPI's package milvus-lite, and
MILVUS_SERVER that of its package milvus; without them the walk ends before Milvus. The packages lookalike and
lookalike_spark have to be installed, and PySpark.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import lookalike  # noqa: E402
from lookalike_spark import compute, import_parquet, read_images  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

DEMO = Path(__file__).resolve().parent.parent / "Examples/Demo"
QUERIES = sorted(path for name in ("queries", "renderings") for path in (DEMO / name).glob("*.[jp][pn]g"))

# What a match is, for comparisons: the service rounds to six digits.
Answer = list[tuple[str, float, float]]


class Node:
    """A process of `lookalike-milvus serve`."""

    def __init__(self, program: str, address: str) -> None:
        self.process = subprocess.Popen([program, "serve", address, "--port", "0"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"{program} does not start")

    def search(self, query: Path, catalog: str) -> Answer:
        kind = "png" if query.suffix == ".png" else "jpeg"
        request = urllib.request.Request(
            f"{self.url}v1/catalogs/{catalog}/search",
            data=query.read_bytes(),
            headers={"Content-Type": f"image/{kind}"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            results = json.load(response)["results"]
        return [(result["entity"]["id"], result["confidence"], result["distance"]) for result in results]


def answers(catalog: lookalike.Catalog) -> list[Answer]:
    found = [catalog.search(query) for query in QUERIES]
    return [[(match.id, round(match.confidence, 6), round(match.distance, 6)) for match in each] for each in found]


def require_equal(got: list[Answer], expected: list[Answer], where: str) -> None:
    for query, one, other in zip(QUERIES, got, expected):
        same = [match[0] for match in one] == [match[0] for match in other] and all(
            abs(a - b) < 2e-6 for match, against in zip(one, other) for a, b in zip(match[1:], against[1:])
        )
        if not same:
            raise SystemExit(f"{where}: {query.name} has other matches, {one} and not {other}")


def require_first(got: list[Answer], expected: list[Answer], where: str) -> None:
    """Requires that what is found first is among what is expected, and that nothing is found where nothing is."""
    for query, one, other in zip(QUERIES, got, expected):
        if bool(one) != bool(other) or (one and one[0][0] not in {match[0] for match in other}):
            raise SystemExit(f"{where}: {query.name} has other matches, {one} and not {other}")


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def search_with_nodes(nodes: list[Node], catalog: str) -> tuple[list[list[Answer]], int]:
    """Lets three clients search all queries at both nodes, and kills one node meanwhile. A client whose node does not
    answer asks the other one, in turn.

    Returns what each client found, and the number of searches that were asked again.
    """
    begun = threading.Semaphore(0)
    again: list[int] = []
    found: list[list[Answer]] = [[], [], []]
    failures: list[str] = []

    def client(turn: int) -> None:
        try:
            for number, query in enumerate(QUERIES):
                for attempt in range(50):
                    try:
                        found[turn].append(nodes[(turn + number + attempt) % 2].search(query, catalog))
                        break
                    except OSError:
                        # Killed, or busy.
                        again.append(number)
                        time.sleep(0.1)
                begun.release()
        except Exception as error:
            failures.append(str(error))
            begun.release(len(QUERIES))

    clients = [threading.Thread(target=client, args=(turn,)) for turn in range(3)]
    for thread in clients:
        thread.start()
    for _ in range(len(QUERIES)):
        begun.acquire()
    nodes[0].process.kill()
    for thread in clients:
        thread.join()
    if failures or any(len(answers) < len(QUERIES) for answers in found):
        raise SystemExit(failures[0] if failures else "no node answers")
    return found, len(again)


def main() -> None:
    programs = sys.argv[1:]
    home = Path(tempfile.mkdtemp())
    processes: list[subprocess.Popen] = []
    start = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - start:5.1f} s  {words}", flush=True)

    try:
        covers = sorted((DEMO / "covers").glob("*.jpg"))
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.files.openCostInBytes", "1")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        for number, machine in enumerate(("one", "two")):
            images = home / machine / "images"
            images.mkdir(parents=True)
            for cover in covers[number::2]:
                shutil.copy(cover, images)
            compute(read_images(spark, str(images))).write.parquet(str(home / machine / "prints"))
            with lookalike.Catalog(home / machine / "catalog") as shard:
                count = import_parquet(home / machine / "prints", shard, root=images)
            say(f"machine {machine}: {count} images computed by Spark, and imported")
        spark.stop()

        with lookalike.Catalog(home / "all") as merged:
            merged.merge(*(home / machine / "catalog" for machine in ("one", "two")))
            expected = answers(merged)
        if sum(bool(answer) for answer in expected) < len(QUERIES) / 2:
            raise SystemExit("the merged catalog has no matches")
        say(f"merged and searched: {sum(map(len, expected))} matches of {len(QUERIES)} queries")
        indexed = lookalike.Catalog(home / "indexed")
        indexed.index(DEMO / "covers")
        with indexed:
            require_equal(answers(indexed), expected, "the folder that was indexed")
        say("a catalog that indexed the folder itself: the same answers")
        if not programs:
            return

        milvus, *installed = programs
        servers = [
            ("Milvus Lite", ["server", "--host", "127.0.0.1", "--data-dir"], "--port", require_equal),
            ("Milvus 2.3", ["--data"], "--proxy-port", require_first),
        ]
        for program, (name, options, port_option, require) in zip(installed, servers):
            port = free_port()
            folder = home / name
            processes.append(
                subprocess.Popen(
                    [program, *options, str(folder), port_option, str(port)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            address = f"milvus://127.0.0.1:{port}/covers"
            run(milvus, "push", home / "all", address, "--timeout", "60")
            say(f"{name}: pushed")
            nodes = [Node(milvus, address), Node(milvus, address)]
            processes += [node.process for node in nodes]
            found, again = search_with_nodes(nodes, "covers")
            for answers_of_client in found:
                require(answers_of_client, expected, f"{name}, two nodes, one killed")
            say(f"{name}: searched by two nodes, one killed; {again} searches were asked again")
            nodes[1].process.send_signal(signal.SIGTERM)
            if nodes[1].process.wait(60) != 0:
                raise SystemExit("the node does not end in order")
            run(milvus, "pull", address, home / "pulled" / name)
            with lookalike.Catalog(home / "pulled" / name) as back:
                require_equal(answers(back), expected, f"{name}, pulled back")
            say(f"{name}: pulled back and searched: the same answers")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
