"""Contenders for the same work, run alternately."""

import os
import time
from dataclasses import dataclass, field

import numpy as np

ALL_CORES = sorted(os.sched_getaffinity(0))


def pin(threads):
    """One core for one thread, so that both sides run on the same."""
    os.sched_setaffinity(0, ALL_CORES[-1:] if threads == 1 else ALL_CORES)


def core(threads):
    return ALL_CORES[-1] if threads == 1 else None


def rest(threads):
    """Pools of threads spin for a while after their work is done, and would take a core from the next contender."""
    if threads > 1:
        time.sleep(0.25)


def timed(work):
    """Milliseconds of a call."""

    def run():
        start = time.perf_counter()
        work()
        return (time.perf_counter() - start) * 1e3

    return run


def check(condition, words):
    if not condition:
        raise SystemExit(f"the results differ: {words}")


@dataclass
class Contest:
    """A piece of work, its contenders, and lower bounds on its time."""

    name: str
    unit: str
    threads: int
    ours: dict
    peers: dict
    # Name to milliseconds.
    limits: dict = field(default_factory=dict)
    # The check of the results, before the measurement.
    agreement: str = ""
    seconds: float = 8
    least_rounds: int = 5
    # Images or queries in one run.
    count: int = 1

    def run(self, log):
        pin(self.threads)
        everyone = {**self.ours, **self.peers}
        for work in everyone.values():
            work()
        times = {name: [] for name in everyone}
        start = time.perf_counter()
        rounds = 0
        # Alternately: on a shared machine both are slowed alike.
        while rounds < self.least_rounds or (time.perf_counter() - start < self.seconds and rounds < 60):
            for name, work in everyone.items():
                rest(self.threads)
                times[name].append(work() / self.count)
            rounds += 1
        pin(0)
        result = {
            "name": self.name,
            "unit": self.unit,
            "threads": self.threads,
            "rounds": rounds,
            "limits": self.limits,
            "agreement": self.agreement,
            "ours": {name: spread(times[name]) for name in self.ours},
            "peers": {name: spread(times[name]) for name in self.peers},
            "ratios": {
                mine: {peer: spread(np.array(times[peer]) / np.array(times[mine])) for peer in self.peers}
                for mine in self.ours
            },
        }
        log(result)
        return result


def spread(values):
    low, middle, high = np.percentile(values, [25, 50, 75])
    return {"median": float(middle), "low": float(low), "high": float(high)}
