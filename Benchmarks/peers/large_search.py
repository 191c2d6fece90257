#!/usr/bin/env python3
"""Approximate search of many prints beside FAISS's inverted file, each with the least work for a recall.

    python large_search.py --program .build/release/StageRunner --work FOLDER

Ten million prints take 16 GB of disk, 20 GB of memory and an hour. Both sides keep the prints and their inverted file
in memory. Prints the time of each build; for each recall the times of interleaved rounds with quartiles, and the peer's
÷ ours; and the memory of ours.
"""

import argparse
import time
from pathlib import Path

import faiss
import numpy as np
from contest import ALL_CORES, Contest, pin, timed
from inputs import DIMENSION, Inputs
from machine import processor
from runner import Ours, peak_memory
from search_stage import K, found, recall_of

PART = 1_000_000
QUERIES = 256
# Lists to look at, and rows to refine per neighbor.
SETTINGS = [(lists, factor) for lists in (8, 16, 32, 64, 128, 256, 512, 1024) for factor in (8, 16, 32, 64, 128, 256)]
# With 16 bits per component instead of 32, two sides of ten million fit into 24 GB.
CODES = "PQ64x4fsr,Refine(SQfp16)"


def say(text):
    print(text, flush=True)


def nearest(rows, queries):
    """The ids of the nearest rows, compared part by part."""
    best = [faiss.knn(queries, np.asarray(rows[start : start + PART]), K) for start in range(0, len(rows), PART)]
    distances = np.concatenate([distance for distance, _ in best], axis=1)
    ids = np.concatenate([ids + part * PART for part, (_, ids) in enumerate(best)], axis=1)
    return np.take_along_axis(ids, np.argsort(distances, axis=1)[:, :K], axis=1)


def made_index(path, rows):
    """FAISS's inverted file, with as many lists as ours."""
    lists = 1 << round(np.log2(2 * len(rows) ** 0.5))
    if not path.exists():
        start = time.perf_counter()
        index = faiss.index_factory(DIMENSION, f"IVF{lists},{CODES}")
        index.train(np.asarray(rows[:: max(1, len(rows) // (50 * lists))]))
        trained = time.perf_counter() - start
        for first in range(0, len(rows), PART):
            index.add(np.asarray(rows[first : first + PART]))
        say(f"FAISS IVF{lists},{CODES}: {time.perf_counter() - start:.0f} s, {trained:.0f} of them to train")
        faiss.write_index(index, str(path))
        return index
    return faiss.read_index(str(path))


def fastest(index, scan, queries, truth, recall):
    """The setting that reaches the recall in the least time, or the most thorough one, and its recall."""
    reaching = []
    for setting in SETTINGS:
        scan(*setting)
        start = time.perf_counter()
        ids = np.concatenate([index.search(query[None], K)[1] for query in queries])
        reached = recall_of(ids, truth)
        if reached >= recall:
            reaching.append((time.perf_counter() - start, setting, reached))
    return min(reaching)[1:] if reaching else (setting, reached)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="the stage runner")
    parser.add_argument("--work", type=Path, required=True, help="folder for the prints and the peer's index")
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--recalls", type=float, nargs="+", default=[0.95, 0.99, 0.999], help="of one query at a time")
    options = parser.parse_args()
    count = options.count
    say(f"{processor()}, {len(ALL_CORES)} cores, FAISS {faiss.__version__}, {count:,} prints")
    inputs = Inputs(options.work, Path(__file__).resolve().parents[2], None)
    path = inputs.similar_rows(count)
    asked = inputs.similar_queries(path, QUERIES)
    rows = np.memmap(path, np.float32, "r").reshape(-1, DIMENSION)
    queries = np.fromfile(asked, np.float32).reshape(-1, DIMENSION)
    truth = nearest(rows, queries)
    ours = Ours(
        options.program.resolve(),
        "search",
        len(ALL_CORES),
        files={"rows": str(path), "queries": str(asked)},
        numbers={"rows": count, "dimension": DIMENSION, "queries": QUERIES, "k": K},
        options={"codes": "ivf"},
    )
    say(f"Lookalike IVF: {ours.result()[0] / 1e3:.0f} s")
    index = made_index(options.work / f"faiss-{count}", rows)
    inverted = faiss.downcast_index(index.base_index)

    def scan(lists, factor):
        inverted.nprobe, index.k_factor = lists, factor

    def log(result):
        say(f"\n{result['name']}, {result['threads']} thread(s), {result['rounds']} rounds")
        for name, value in {**result["ours"], **result["peers"]}.items():
            say(f"  {value['median']:.3f} ms ({value['low']:.3f} … {value['high']:.3f})  {name}")
        for ratios in result["ratios"].values():
            for ratio in ratios.values():
                say(f"  ÷ ours {ratio['median']:.2f} ({ratio['low']:.2f} … {ratio['high']:.2f})")

    for recall, threads in [*((recall, 1) for recall in options.recalls), (0.99, len(ALL_CORES))]:
        pin(1)
        faiss.omp_set_num_threads(1)
        (lists, factor), reached = fastest(index, scan, queries, truth, recall)
        pin(threads)
        faiss.omp_set_num_threads(threads)
        scan(lists, factor)
        batches = [queries] if threads > 1 else [query[None] for query in queries]
        options_of_ours = {"batch": "yes" if threads > 1 else "no"}
        ours.adjust(threads, numbers={"recall": round(recall * 1000)}, options=options_of_ours)
        ours()
        reached_by_ours = recall_of(found(ours.result(), QUERIES)[0], truth)
        peer = f"FAISS IVF, 4-bit PQ, refined, {lists} lists, {factor * K} refined, recall {reached:.3f}"
        Contest(
            f"recall@10 of {recall}, {'at once' if threads > 1 else 'one query'}",
            "ms per query",
            threads,
            {f"Lookalike IVF, recall {reached_by_ours:.3f}": ours},
            {peer: timed(lambda batches=batches: [index.search(batch, K) for batch in batches])},
            count=QUERIES,
        ).run(log)
    say(f"\nmemory of ours, most: {peak_memory(ours.process.pid) / 1024:.1f} GiB")
    ours.close()


if __name__ == "__main__":
    main()
