"""Exact and approximate search of prints, beside FAISS and USearch."""

import functools

import faiss
import numpy as np
from contest import Contest, check, core, pin, timed
from inputs import DIMENSION
from runner import Ours
from usearch.index import MetricKind
from usearch.index import search as usearch_search

K = 10


def found(result, queries):
    pairs = np.array(result, np.float64).reshape(queries, K, 2)
    return pairs[:, :, 0].astype(int), pairs[:, :, 1]


def same_neighbors(ours, distances, ids, queries, what):
    """Checks for the same distances, and the same ids except where FAISS's rounding makes distances equal."""
    mine, squared = found(ours.result(), queries)
    check(np.abs(squared - distances).max() < 1e-4, f"{what}: distances {np.abs(squared - distances).max()} apart")
    moved = mine != ids
    check(
        all(np.abs(squared[q] - distances[q, i]).min() < 1e-5 for q, i in zip(*np.nonzero(moved))), f"{what}: other ids"
    )
    return int(moved.sum())


def fastest_blocks(index, queries):
    """Chooses the fastest settings of FAISS for batches: queries one by one, or BLAS in blocks of some size."""
    settings = [
        (faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs),
        (20, 1024),
        (20, 16384),
        (20, 65536),
    ]
    times = {}
    for threshold, block in settings:
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = threshold, block
        times[threshold, block] = min(timed(lambda: index.search(queries, K))() for _ in range(2))
    best = min(times, key=times.get)
    faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = best
    return (
        f"FAISS at its fastest: distance_compute_blas_threshold {best[0]}, distance_compute_blas_database_bs {best[1]}"
    )


def search(rows, queries, threads, seconds=8):
    def stage(program, inputs, limits):
        path = inputs.rows(rows)
        files = {"rows": str(path), "queries": str(inputs.queries(inputs.rows(1_000_000)))}
        numbers = {"rows": rows, "dimension": DIMENSION, "queries": queries, "k": K}
        ours = {
            name: Ours(
                program, "search", threads, core(threads), files=files, numbers=numbers, options={"codes": codes}
            )
            for name, codes in (("Lookalike float32", "no"), ("Lookalike int8, then float32", "yes"))
        }
        matrix = np.fromfile(path, np.float32).reshape(-1, DIMENSION)
        asked = np.fromfile(files["queries"], np.float32).reshape(-1, DIMENSION)[:queries].copy()
        pin(threads)
        faiss.omp_set_num_threads(threads)
        flat = faiss.IndexFlatL2(DIMENSION)
        flat.add(matrix)
        coded = faiss.IndexScalarQuantizer(DIMENSION, faiss.ScalarQuantizer.QT_8bit)
        coded.train(matrix[:100_000])
        coded.add(matrix)
        peers = {
            "FAISS flat float32": timed(lambda: flat.search(asked, K)),
            "FAISS SQ8 (not exact)": timed(lambda: coded.search(asked, K)),
        }
        if queries == 1:
            peers["USearch exact float32"] = timed(
                lambda: usearch_search(matrix, asked, K, metric=MetricKind.L2sq, exact=True, threads=threads)
            )
        tuned = ""
        if queries > 1:
            tuned = "; " + fastest_blocks(flat, asked)
        pin(0)
        distances, ids = flat.search(asked, K)
        for mine in ours.values():
            mine()
        first, second = (mine.result() for mine in ours.values())
        check(first == second, "search: with codes and without")
        moved = same_neighbors(next(iter(ours.values())), distances, ids, queries, "search")
        bounds = {}
        if queries > 1:
            bounds = {"multiply-adds at the peak of float32": rows * DIMENSION / limits.multiply_adds / 1e6 / threads}
        if queries == 1:
            ours["reading the rows once"] = Ours(
                program, "read", core=core(1), files={"bytes": str(path)}, options={"pages": "large"}
            )
        contest = Contest(
            f"Exact search, {f'{queries} queries at once' if queries > 1 else 'one query'}, {rows:,} prints",
            "ms per query",
            threads,
            ours,
            peers,
            bounds,
            "both of ours agree bit for bit; distances agree with FAISS flat's within 1e-4;"
            f" {moved} of {queries * K} ids in another order among equal distances{tuned}",
            seconds,
            count=queries,
        )
        return contest, list(ours.values())

    return stage


def recall_of(ids, truth):
    return np.mean([len(set(a) & set(b)) / K for a, b in zip(ids, truth)])


@functools.cache
def inverted_files(path):
    """FAISS's, with as many lists as ours; several contests share them."""
    matrix = np.fromfile(path, np.float32).reshape(-1, DIMENSION)
    lists = 1 << round(np.log2(2 * len(matrix) ** 0.5))
    indexes = [faiss.index_factory(DIMENSION, f"IVF{lists},{codes}") for codes in ("PQ64x4fsr,RFlat", "SQ8")]
    for index in indexes:
        index.train(matrix[:: max(1, len(matrix) // (50 * lists))])
        index.add(matrix)
    return lists, *indexes


def approximate(rows, recall, threads, queries=256):
    """Queries one after the other on one core, or at once on all; each contender at the least work for the recall."""

    def stage(program, inputs, limits):
        path = inputs.similar_rows(rows)
        files = {"rows": str(path), "queries": str(inputs.similar_queries(path, queries))}
        numbers = {"rows": rows, "dimension": DIMENSION, "queries": queries, "k": K}
        asked = np.fromfile(files["queries"], np.float32).reshape(-1, DIMENSION)
        flat = faiss.IndexFlatL2(DIMENSION)
        flat.add(np.fromfile(path, np.float32).reshape(-1, DIMENSION))
        _, truth = flat.search(asked, K)

        def ask(index):
            if threads > 1:
                return lambda: index.search(asked, K)[1]
            return lambda: np.concatenate([index.search(asked[i : i + 1], K)[1] for i in range(queries)])

        def fitted(name, index, settings):
            """The first settings that reach the recall, or the last."""
            setting, reached = "", 0.0
            for apply, setting in settings:  # noqa: B007
                apply()
                reached = recall_of(ask(index)(), truth)
                if reached >= recall:
                    break
            return f"{name}, {setting}, recall {reached:.3f}", index

        lists, scanned, coded = inverted_files(path)
        refined = faiss.downcast_index(scanned.base_index)

        def scan(probes, factor):
            refined.nprobe, scanned.k_factor = probes, factor

        probes = [4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512]
        # More candidates for the second pass as more lists are looked at.
        peers = [
            fitted(
                "FAISS IVF, 4-bit PQ, refined",
                scanned,
                [
                    (lambda p=p, f=f: scan(p, f), f"{p} of {lists} lists, {f * K} refined")
                    for p in probes
                    for f in (8, 16, 32, 64, 128)
                ],
            ),
            fitted(
                "FAISS IVF, SQ8",
                coded,
                [(lambda p=p: setattr(coded, "nprobe", p), f"{p} of {lists} lists") for p in probes],
            ),
        ]
        pin(threads)
        faiss.omp_set_num_threads(threads)
        name = f"Lookalike IVF, recall {recall} asked for"
        ours = Ours(
            program,
            "search",
            threads,
            core(threads),
            files=files,
            numbers=numbers | {"recall": round(recall * 1000)},
            options={"codes": "ivf", "batch": "yes" if threads > 1 else "no"},
        )
        ours()
        reached = recall_of(found(ours.result(), queries)[0], truth)
        contest = Contest(
            f"Approximate search, recall@10 of {recall}, {'at once' if threads > 1 else 'one query'}, {rows:,} prints",
            "ms per query",
            threads,
            {f"{name}, {reached:.3f} reached": ours},
            {label: timed(ask(index)) for label, index in peers},
            {},
            "recall is measured against FAISS flat, with queries that are no rows",
            count=queries,
        )
        return contest, [ours]

    return stage
