"""Measures what the README of Integrations/Milvus and the one of Integrations/spark say.

    python Integrations/measure.py milvus CATALOG ADDRESS QUERY… --lookalike PROGRAM --lookalike-milvus PROGRAM
    python Integrations/measure.py spark IMAGES --lookalike PROGRAM

The first pushes a catalog to a server, such as the one of PyPI's package milvus 2.3.5, once per kind of index. It
compares the answers with those of the catalog, and prints recall, time per search and rows per second; pymilvus has to
be installed, which says when an index is built. The second computes images with Spark, and with “lookalike index”, on
one core; the packages lookalike and lookalike_spark have to be installed, and PySpark.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BREADTHS = {"flat": [None], "ivf": [8, 32, 128], "hnsw": [10, 64, 128], "diskann": [10, 128, 512]}


def search(command: list[str | Path], queries: list[Path]) -> tuple[list[list[tuple[str, float]]], float, float]:
    """The matches of queries, and the time between two lines in milliseconds: the median, and that of 95 %."""
    words = ["stdbuf", "-oL", *command, *queries]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    answers, times = [], []
    for line in process.stdout:
        times.append(time.monotonic())
        answers.append([(match["id"], round(match["confidence"], 5)) for match in json.loads(line)["results"]])
    if process.wait() != 0 or len(answers) != len(queries):
        raise SystemExit(f"{command[0]} has answered {len(answers)} of {len(queries)} queries")
    milliseconds = [1000 * (after - before) for before, after in zip(times, times[1:])]
    return answers, statistics.median(milliseconds), statistics.quantiles(milliseconds, n=20)[-1]


def same(one: list, other: list) -> int:
    return sum(a == b for a, b in zip(one, other))


def recall(found: list, expected: list) -> float:
    pairs = list(zip(found, expected))
    common = sum(len({match[0] for match in a} & {match[0] for match in b}) for a, b in pairs)
    return common / sum(len(b) for _, b in pairs)


def wait_for_index(address: str) -> str:
    """Waits until all rows are searched with their index; says of which segments they are.

    Until then a server searches an interim index, or compares all.
    """
    from pymilvus import connections, utility

    host, name = address.removeprefix("milvus://").split("/")
    connections.connect(address=host)
    begin = time.monotonic()
    sealed = 3
    while True:
        progress = utility.index_building_progress(name, index_name="print_index")
        segments = [each for each in utility.get_query_segment_info(name) if each.num_rows > 0]
        is_built = 0 < progress["total_rows"] == progress["indexed_rows"]
        seconds = time.monotonic() - begin
        if is_built and segments and all(each.state == sealed for each in segments):
            # No answer says when the index has taken the place of the interim one.
            time.sleep(15)
            return f"index built {seconds:.1f} s later, segments of {[each.num_rows for each in segments]} rows"
        if seconds > 120:
            return f"no index after {seconds:.1f} s: {progress}"
        time.sleep(0.5)


def measure_milvus(arguments: argparse.Namespace) -> None:
    local = [arguments.lookalike, "search", "--json", "--catalog", arguments.catalog]
    remote = [arguments.lookalike_milvus, "search", "--timeout", "60"]
    efforts = {"standard": [], "prints": ["--effort", "prints"]}
    expected = {effort: search([*local, *words], arguments.queries) for effort, words in efforts.items()}
    for effort, (answers, median, most) in expected.items():
        print(f"local, {effort}: {median:.1f} ms, 95 % {most:.1f} ms; {sum(map(len, answers))} matches", flush=True)
    nearest: list = []
    for kind in arguments.kinds.split(","):
        address = f"{arguments.address}/{arguments.name}_{kind}"
        begin = time.monotonic()
        push = [arguments.lookalike_milvus, "push", arguments.catalog, address, "--index", kind, "--timeout", "60"]
        result = subprocess.run([str(word) for word in push], capture_output=True, text=True)
        seconds = time.monotonic() - begin
        print(f"{kind}: pushed in {seconds:.1f} s: {(result.stdout + result.stderr).strip()}", flush=True)
        if result.returncode != 0:
            continue
        print(f"{kind}: {wait_for_index(address)}", flush=True)
        for breadth in BREADTHS[kind]:
            words = [] if breadth is None else ["--breadth", str(breadth)]
            line = f"{kind} {breadth or ''}:"
            for effort, more in efforts.items():
                # The catalog before and after, so that a machine that slows down meanwhile is not the server's doing.
                before = search([*local, *more], arguments.queries)[1]
                answers, median, most = search([*remote, address, *words, *more], arguments.queries)
                after = search([*local, *more], arguments.queries)[1]
                line += f" {effort}: {median:.1f} ms, {median - (before + after) / 2:+.1f} ms, 95 % {most:.1f} ms,"
                line += f" {same(answers, expected[effort][0])} of {len(answers)} the same;"
            every = [*remote, address, *words, "--effort", "prints", "--all", "--limit", "10"]
            answers, _, _ = search(every, arguments.queries)
            nearest = nearest or answers
            print(f"{line} recall@10 {recall(answers, nearest):.4f}", flush=True)


def measure_spark(arguments: argparse.Namespace) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("LOOKALIKE_PROGRAM", str(arguments.lookalike))
    from lookalike_spark import compute, read_images
    from pyspark.sql import SparkSession

    count = sum(path.is_file() for path in arguments.images.rglob("*"))
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    begin = time.monotonic()
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    print(f"Spark starts in {time.monotonic() - begin:.1f} s", flush=True)
    home = Path(tempfile.mkdtemp())
    try:
        for number in range(arguments.runs):
            begin = time.monotonic()
            compute(read_images(spark, str(arguments.images))).write.parquet(str(home / f"prints-{number}"))
            job = count / (time.monotonic() - begin)
            begin = time.monotonic()
            command = [arguments.lookalike, "index", arguments.images, "--catalog", home / f"{number}", "--jobs", "1"]
            subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
            index = count / (time.monotonic() - begin)
            print(f"{job:.1f} images/s by Spark, {index:.1f} by index: {job / index:.3f}", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(home)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures catalogs in Milvus, and Spark.")
    commands = parser.add_subparsers(required=True)
    milvus = commands.add_parser("milvus")
    milvus.add_argument("catalog", type=Path)
    milvus.add_argument("address", help="milvus://HOST:PORT")
    milvus.add_argument("queries", type=Path, nargs="+")
    milvus.add_argument("--name", default="measured", help="what the names of collections begin with")
    milvus.add_argument("--kinds", default=",".join(BREADTHS))
    milvus.add_argument("--lookalike-milvus", type=Path, required=True)
    milvus.set_defaults(run=measure_milvus)
    spark = commands.add_parser("spark")
    spark.add_argument("images", type=Path)
    spark.add_argument("--runs", type=int, default=3)
    spark.set_defaults(run=measure_spark)
    for command in (milvus, spark):
        command.add_argument("--lookalike", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
