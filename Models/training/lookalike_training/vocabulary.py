"""The projection and the visual words of local descriptors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCK = 8192


@dataclass
class Projection:
    """The first principal components of descriptors, scaled to unit length."""

    mean: np.ndarray
    rows: np.ndarray
    kept: float
    """The share of the variance that the components keep."""

    @staticmethod
    def of(descriptors: np.ndarray, dimension: int) -> Projection:
        sample = np.asarray(descriptors[:: max(1, len(descriptors) // 500_000)])
        mean = sample.mean(0)
        variances, vectors = np.linalg.eigh(np.cov((sample - mean).T))
        largest_first = np.argsort(-variances)
        rows = vectors[:, largest_first[:dimension]].T
        return Projection(mean, rows, variances[largest_first[:dimension]].sum() / variances.sum())

    def project(self, descriptors: np.ndarray) -> np.ndarray:
        result = np.empty((len(descriptors), len(self.rows)), np.float32)
        for start in range(0, len(descriptors), BLOCK):
            block = (descriptors[start : start + BLOCK] - self.mean) @ self.rows.T
            result[start : start + BLOCK] = block / np.linalg.norm(block, axis=1, keepdims=True)
        return result


def nearest(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The index of the nearest center of each point."""
    half = (centers * centers).sum(1) / 2
    parts = [(points[at : at + BLOCK] @ centers.T - half).argmax(1) for at in range(0, len(points), BLOCK)]
    return np.concatenate(parts)


def k_means(points: np.ndarray, count: int, rounds: int, random: np.random.Generator) -> np.ndarray:
    """Lloyd's algorithm; a center without points restarts at a random one."""
    centers = points[random.choice(len(points), count, replace=False)].copy()
    for _ in range(rounds):
        owner = nearest(points, centers)
        order = np.argsort(owner, kind="stable")
        sizes = np.bincount(owner, minlength=count)
        filled = np.nonzero(sizes)[0]
        starts = (np.cumsum(sizes) - sizes)[filled]
        sums = np.add.reduceat(points[order], starts, axis=0)
        centers = points[random.choice(len(points), count)].copy()
        centers[filled] = sums / sizes[filled, None]
    return centers


def two_level_centers(
    points: np.ndarray, groups: int, words: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Coarse centers [groups][dimension], and the words of each [groups][words][dimension]."""
    sample = points[random.choice(len(points), min(len(points), 150_000), replace=False)]
    coarse = k_means(sample, groups, 15, random)
    owner = nearest(points, coarse)
    fine = np.zeros((groups, words, points.shape[1]), np.float32)
    for group in range(groups):
        own = points[owner == group]
        if len(own) < 2 * words:
            # Too few to cluster: filled up with points of other groups.
            own = np.concatenate([own, points[random.choice(len(points), 2 * words - len(own))]])
        fine[group] = k_means(own, words, 10, random)
    return coarse, fine
