"""How time grows with catalog size, threads, batch size, and recall."""

import faiss
import numpy as np
from contest import ALL_CORES, core, pin, rest, spread, timed
from inputs import DIMENSION, SIDE
from network_stage import our_networks, peer_networks
from runner import Ours
from search_stage import K, found, inverted_files, recall_of

# Both sides hold a copy; more rows would not fit into memory twice.
SIZES = [1_000, 10_000, 100_000, 1_000_000, 2_000_000]
RECALL_SIZES = [100_000, 1_000_000]
BATCHES = [1, 2, 4, 8, 16, 32]


def in_turn(everyone, rounds, threads=1):
    for work in everyone.values():
        work()
    times = {name: [] for name in everyone}
    for _ in range(rounds):
        for name, work in everyone.items():
            rest(threads)
            times[name].append(work())
    return {name: spread(values) for name, values in times.items()}


def by_size(program, inputs, log):
    """Milliseconds for one query on one core."""
    queries = inputs.queries(inputs.rows(1_000_000))
    found = {}
    for size in SIZES:
        rows = inputs.rows(max(size, 1_000_000))
        numbers = {"rows": size, "dimension": DIMENSION, "queries": 1, "k": K}
        ours = {
            name: Ours(
                program,
                "search",
                1,
                core(1),
                files={"rows": str(rows), "queries": str(queries)},
                numbers=numbers,
                options={"codes": codes},
            )
            for name, codes in (("Lookalike float32", "no"), ("Lookalike int8, then float32", "yes"))
        }
        pin(1)
        faiss.omp_set_num_threads(1)
        flat = faiss.IndexFlatL2(DIMENSION)
        flat.add(np.fromfile(rows, np.float32, size * DIMENSION).reshape(-1, DIMENSION))
        query = np.fromfile(queries, np.float32, DIMENSION).reshape(1, -1)
        found[size] = in_turn(
            {**ours, "FAISS flat float32": timed(lambda: flat.search(query, K))}, 15 if size >= 1_000_000 else 60
        )
        pin(0)
        for process in ours.values():
            process.close()
        log(f"{size:,} prints: " + ", ".join(f"{name} {value['median']:.3f} ms" for name, value in found[size].items()))
    return found


def by_recall(program, inputs, log, queries=256, rounds=5):
    """Recall@10 and queries per second, one query after the other on one core, for each setting of each index.

    Settings are not compared round by round, so that the fastest round counts: others have met other programs.
    """
    curves = {}
    for size in RECALL_SIZES:
        path = inputs.similar_rows(size)
        files = {"rows": str(path), "queries": str(inputs.similar_queries(path, queries))}
        numbers = {"rows": size, "dimension": DIMENSION, "queries": queries, "k": K}
        asked = np.fromfile(files["queries"], np.float32).reshape(-1, DIMENSION)
        rows = np.fromfile(path, np.float32).reshape(-1, DIMENSION)
        flat = faiss.IndexFlatL2(DIMENSION)
        flat.add(rows)
        _, truth = flat.search(asked, K)
        lists, scanned, coded = inverted_files(path)
        refined = faiss.downcast_index(scanned.base_index)
        graph = faiss.IndexHNSWFlat(DIMENSION, 32)
        graph.hnsw.efConstruction = 100
        if size <= 100_000:
            # A million takes ten minutes.
            graph.add(rows)
        pin(1)
        faiss.omp_set_num_threads(1)

        def one_by_one(index, asked=asked):
            return np.concatenate([index.search(query[None], K)[1] for query in asked])

        def scan(probes, factor, refined=refined, scanned=scanned):
            refined.nprobe, scanned.k_factor = probes, factor

        probes = [p for p in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if p <= lists]
        settings = {
            "FAISS IVF, 4-bit PQ, refined": [
                (scanned, lambda p=p, f=f: scan(p, f)) for p, f in zip(probes, (4, 4, 8, 8, 16, 32, 64, 64, 128, 128))
            ],
            "FAISS IVF, SQ8": [(coded, lambda p=p: setattr(coded, "nprobe", p)) for p in probes],
            "FAISS HNSW": [(graph, lambda e=e: setattr(graph.hnsw, "efSearch", e)) for e in (10, 20, 40, 80, 160, 320)],
            "FAISS flat float32": [(flat, lambda: None)],
        }
        curves[size] = {}
        for name, points in settings.items():
            if not points[0][0].ntotal:
                continue
            curve = []
            for index, apply in points:
                apply()
                recall = recall_of(one_by_one(index), truth)
                times = [timed(lambda index=index: one_by_one(index))() for _ in range(rounds)]
                curve.append([float(recall), 1e3 * queries / min(times)])
            curves[size][name] = curve
            log(f"{size:,} prints, {name}: " + ", ".join(f"{r:.3f} {rate:.0f}/s" for r, rate in curve))
        for name, codes, recalls in (
            ("Lookalike IVF", "ivf", (0.7, 0.9, 0.95, 0.99, 0.995, 0.999)),
            ("Lookalike int8, then float32", "yes", (1,)),
        ):
            curve = []
            for recall in recalls:
                ours = Ours(
                    program,
                    "search",
                    1,
                    core(1),
                    files=files,
                    numbers=numbers | {"recall": round(recall * 1000)},
                    options={"codes": codes, "batch": "no"},
                )
                ours()
                reached = recall_of(found(ours.result(), queries)[0], truth)
                times = [ours() for _ in range(rounds)]
                ours.close()
                curve.append([float(reached), 1e3 * queries / min(times)])
            curves[size][name] = curve
            log(f"{size:,} prints, {name}: " + ", ".join(f"{r:.3f} {rate:.0f}/s" for r, rate in curve))
        pin(0)
    return curves


def by_batch(program, inputs, log):
    """Images per second, by batch size and threads."""
    found = {}
    crops = np.fromfile(inputs.crops(), np.uint8).reshape(-1, SIDE, SIDE, 3)
    for threads in range(1, len(ALL_CORES) + 1):
        for batch in BATCHES:
            ours = our_networks(program, inputs, batch, threads)
            images = np.ascontiguousarray(crops[:batch].transpose(0, 3, 1, 2).astype(np.float32) / 255)
            pin(threads)
            peers = {name: timed(work) for name, work in peer_networks(inputs, batch, threads, images).items()}
            times = in_turn({**ours, **peers}, 9, threads)
            pin(0)
            for process in ours.values():
                process.close()
            found[f"{threads}/{batch}"] = {name: 1e3 * batch / value["median"] for name, value in times.items()}
            log(
                f"batch {batch}, {threads} thread(s): "
                + ", ".join(f"{name} {value:.0f}/s" for name, value in found[f"{threads}/{batch}"].items())
            )
    return found
