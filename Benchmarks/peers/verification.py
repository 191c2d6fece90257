"""The second stage of a search: local features and geometric verification, beside OpenCV's."""

import cv2
import faiss
import numpy as np
from catalog_stages import mark
from contest import Contest, check, core, pin, timed
from inputs import COVER, DIMENSION, PHOTO, PHOTOGRAPH, SIDE
from network_stage import onnx_session
from runner import Ours

QUERY_SIDE, QUERY_KEYPOINTS = 512, 500
CATALOG_SIDE, CATALOG_KEYPOINTS = 384, 200


def gray(rgb, side):
    height, width = rgb.shape[:2]
    scale = side / max(width, height)
    small = cv2.resize(rgb, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
    return cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)


class Peer:
    """A detector of OpenCV with its matcher, as a script would use them."""

    def __init__(self, make, norm):
        self.make, self.matcher = make, cv2.BFMatcher(norm)

    def features(self, rgb, side, keypoints):
        image = gray(rgb, side)
        points, descriptors = self.make(keypoints).detectAndCompute(image, None)
        return np.array([point.pt for point in points], np.float32), descriptors, image.shape

    def verify(self, query, candidate):
        """The corners of the candidate in the query, and its inliers."""
        pairs = self.matcher.knnMatch(query[1], candidate[1], k=2)
        good = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < 0.8 * pair[1].distance]
        if len(good) < 6:
            return None, 0
        source = candidate[0][[match.trainIdx for match in good]]
        target = query[0][[match.queryIdx for match in good]]
        homography, inliers = cv2.findHomography(source, target, cv2.RANSAC, 5)
        if homography is None:
            return None, 0
        height, width = candidate[2]
        corners = np.array([[[0, 0], [width, 0], [width, height], [0, height]]], np.float32)
        # In shares of the query's sides, like ours.
        shares = cv2.perspectiveTransform(corners, homography)[0] / np.array(query[2][::-1], np.float32)
        return shares, int(inliers.sum())


def peers():
    return {
        "OpenCV SIFT": Peer(lambda count: cv2.SIFT_create(nfeatures=count, contrastThreshold=0.01), cv2.NORM_L2),
        "OpenCV ORB": Peer(lambda count: cv2.ORB_create(nfeatures=count), cv2.NORM_HAMMING),
    }


def photograph(inputs):
    return np.fromfile(inputs.photograph(), np.uint8).reshape(PHOTOGRAPH[1], PHOTOGRAPH[0], 3)


def extraction(program, inputs, limits):
    image = photograph(inputs)
    numbers = {"width": PHOTOGRAPH[0], "height": PHOTOGRAPH[1]}
    ours = Ours(program, "features", core=core(1), files={"pixels": str(inputs.photograph())}, numbers=numbers)
    cv2.setNumThreads(1)
    pin(1)
    all_peers = peers()
    pin(0)
    ours()
    counts = {"Lookalike": int(ours.result()[0])}
    for name, peer in all_peers.items():
        counts[name] = len(peer.features(image, QUERY_SIDE, QUERY_KEYPOINTS)[0])
    check(all(count > 300 for count in counts.values()), f"keypoints: {counts}")
    contest = Contest(
        f"Keypoints and descriptors of a photograph of {PHOTOGRAPH[0]}×{PHOTOGRAPH[1]}, at {QUERY_SIDE} pixels",
        "ms",
        1,
        {"Lookalike": ours},
        {
            name: timed(lambda peer=peer: peer.features(image, QUERY_SIDE, QUERY_KEYPOINTS))
            for name, peer in all_peers.items()
        },
        agreement="keypoints: " + ", ".join(f"{name} {count}" for name, count in counts.items()),
    )
    return contest, [ours]


def verification(program, inputs, limits):
    image = photograph(inputs)
    covers = np.fromfile(inputs.flat_images(), np.uint8).reshape(-1, COVER, COVER, 3)
    numbers = {"width": PHOTOGRAPH[0], "height": PHOTOGRAPH[1], "side": COVER, "count": len(covers)}
    files = {"pixels": str(inputs.photograph()), "images": str(inputs.flat_images())}
    ours = Ours(program, "verify", core=core(1), files=files, numbers=numbers)
    cv2.setNumThreads(1)
    expected = np.array(inputs.photographed_corners(), np.float32)
    ours()
    result = ours.result()
    outline, verified = np.array(result[:8], np.float32).reshape(4, 2), int(result[8])
    apart = {"Lookalike": float(np.abs(outline - expected).max())}
    check(apart["Lookalike"] < 0.01 and verified == 1, f"verify: {apart}, {verified} of {len(covers)} verified")
    works = {}
    for name, peer in peers().items():
        query = peer.features(image, QUERY_SIDE, QUERY_KEYPOINTS)
        candidates = [peer.features(cover, CATALOG_SIDE, CATALOG_KEYPOINTS) for cover in covers]
        corners, _ = peer.verify(query, candidates[0])
        check(corners is not None, f"verify: {name} finds nothing")
        apart[name] = float(np.abs(corners - expected).max())
        works[name] = timed(
            lambda peer=peer, query=query, candidates=candidates: [peer.verify(query, one) for one in candidates]
        )
    contest = Contest(
        f"Match and verify {len(covers)} candidates, one of which the photograph shows",
        "ms",
        1,
        {"Lookalike": ours},
        works,
        agreement="all find it; farthest corner, in percent of a side: "
        + ", ".join(f"{name} {100 * value:.1f}" for name, value in apart.items()),
    )
    return contest, [ours]


def photo_known(program, inputs, limits):
    return photo_of(program, inputs, known=True)


def photo_unknown(program, inputs, limits):
    return photo_of(program, inputs, known=False)


def photo_of(program, inputs, known):
    """A photograph in memory to the entity that it shows, among 100,000, with local features."""
    catalog = inputs.verified_catalog(100_000)
    photo = inputs.photograph(PHOTO, known)
    files = {"pixels": str(photo), "catalog": str(catalog)}
    numbers = {"width": PHOTO[0], "height": PHOTO[1]}
    ours = {
        f"Lookalike, --effort {effort}": Ours(
            program, "whole", 1, core(1), files=files, numbers=numbers, options={"format": "rgb8", "effort": effort}
        )
        for effort in ("standard", "prints")
    }
    pixels = np.fromfile(photo, np.uint8).reshape(PHOTO[1], PHOTO[0], 3)
    rows, ids = inputs.prints_of(catalog)
    cv2.setNumThreads(1)
    pin(1)
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(DIMENSION)
    flat.add(rows)
    session = onnx_session(inputs.onnx(), 1)
    pin(0)
    covers = np.fromfile(inputs.flat_images(), np.uint8).reshape(-1, COVER, COVER, 3)
    sift = peers()["OpenCV SIFT"]
    known_features = {
        f"flat-{i}": sift.features(cover, CATALOG_SIDE, CATALOG_KEYPOINTS) for i, cover in enumerate(covers)
    }
    random = np.random.default_rng(10)
    other = (
        random.uniform(0, CATALOG_SIDE, (CATALOG_KEYPOINTS, 2)).astype(np.float32),
        random.integers(0, 120, (CATALOG_KEYPOINTS, 128)).astype(np.float32),
        (CATALOG_SIDE, CATALOG_SIDE),
    )

    def two_stages():
        small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        turned = np.stack([np.rot90(small, turn) for turn in range(4)]).transpose(0, 3, 1, 2)
        distances, found = flat.search(session.run(["print"], {"image": np.ascontiguousarray(turned)})[0], 20)
        order = np.argsort(distances, axis=None)
        candidates = list(dict.fromkeys(ids[i] for i in found.reshape(-1)[order]))[:20]
        query = sift.features(pixels, QUERY_SIDE, QUERY_KEYPOINTS)
        verified = [(sift.verify(query, known_features.get(one, other))[1], one) for one in candidates]
        return max(verified)

    best = {}
    for name, mine in ours.items():
        mine()
        best[name] = (mine.result() or [None])[0]
    inliers, theirs = two_stages()
    if known:
        check(best["Lookalike, --effort standard"] == mark("flat-0"), f"photo: {best}")
        agreement = f"with local features the entity comes first; theirs is {theirs} with {inliers} inliers"
    else:
        check(best["Lookalike, --effort standard"] is None, f"photo: {best}")
        agreement = f"nothing is accepted; theirs is {theirs} with {inliers} inliers"
    contest = Contest(
        f"{PHOTO[0]}×{PHOTO[1]} RGB in memory to the entity it shows out of 100,000"
        if known
        else f"{PHOTO[0]}×{PHOTO[1]} RGB in memory that shows none of 100,000 entities",
        "ms",
        1,
        ours,
        {"OpenCV, onnxruntime in 4 rotations, FAISS, SIFT and RANSAC on 20": timed(two_stages)},
        agreement=agreement,
    )
    return contest, list(ours.values())
