"""How time grows with catalog size, threads and batch size."""

import faiss
import numpy as np
from contest import ALL_CORES, core, pin, rest, spread, timed
from inputs import DIMENSION, SIDE
from network_stage import our_networks, peer_networks
from runner import Ours
from search_stage import K

# Both sides hold a copy; more rows would not fit into memory twice.
SIZES = [1_000, 10_000, 100_000, 1_000_000, 2_000_000]
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
