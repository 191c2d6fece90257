#!/usr/bin/env python3
"""Searches by a print in Qdrant's engine, in this process and without HTTP: exact, and with threads that ask in turn.

qdrant.py --count 100000 --threads 2 --seconds 10

The rows are those of “load.py fill”. Qdrant Edge is the engine of Qdrant as a library; its server adds HTTP to this.
"""

import argparse
import tempfile
import threading
import time

import numpy as np
import qdrant_edge as qdrant
from load import percentile

DIMENSION = 256
CHUNK = 5000


def rows(count, seed):
    return np.random.default_rng(seed).choice(np.array([-1, 1], np.float32) / 16, (count, DIMENSION))


def shard(folder, count):
    vectors = qdrant.EdgeVectorParams(size=DIMENSION, distance=qdrant.Distance.Euclid)
    # Never optimized, so that no graph is built that an exact search does not use.
    made = qdrant.EdgeShard.create(folder, qdrant.EdgeConfig(vectors=vectors))
    values = rows(count, seed=1)
    for start in range(0, count, CHUNK):
        points = [qdrant.Point(start + i, row.tolist()) for i, row in enumerate(values[start : start + CHUNK])]
        made.update(qdrant.UpdateOperation.upsert_points(points))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    latencies = []
    with tempfile.TemporaryDirectory() as folder:
        engine = shard(folder, options.count)
        parameters = qdrant.SearchParams(exact=True)
        queries = [
            qdrant.SearchRequest(query=qdrant.Query.Nearest(row.tolist()), limit=10, params=parameters)
            for row in rows(64, seed=2)
        ]
        end = time.monotonic() + options.seconds

        def ask():
            index = 0
            while time.monotonic() < end:
                start = time.monotonic()
                assert len(engine.search(queries[index % len(queries)])) == 10
                latencies.append((time.monotonic() - start) * 1000)
                index += 1

        threads = [threading.Thread(target=ask) for _ in range(options.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        engine.close()
    print(
        f"{options.threads} threads: {len(latencies) / options.seconds:.1f} searches/s,"
        f" p50 {percentile(latencies, 0.5):.2f} ms, p99 {percentile(latencies, 0.99):.2f} ms"
    )


if __name__ == "__main__":
    main()
