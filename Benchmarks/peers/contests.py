"""All contests by name, in the order in which they run."""

import os

from catalog_stages import layer, opening, whole
from image_stages import decode, decode_smooth, resize
from indexing_stage import indexing, indexing_small, indexing_smooth
from network_stage import network
from search_stage import approximate, search
from verification import extraction, photo_known, photo_unknown, verification

CONTESTS = {
    "resize": resize,
    "decode": decode,
    "decode-smooth": decode_smooth,
    "network-1": network(1, 1),
    "network-32": network(32, 1),
    "network-1-all": network(1, len(os.sched_getaffinity(0))),
    "network-32-all": network(32, len(os.sched_getaffinity(0))),
    "search-1": search(1_000_000, 1, 1),
    "search-1-all": search(1_000_000, 1, len(os.sched_getaffinity(0))),
    "search-256": search(1_000_000, 256, 1, seconds=25),
    "search-256-all": search(1_000_000, 256, len(os.sched_getaffinity(0)), seconds=25),
    "approximate-95": approximate(1_000_000, 0.95, 1),
    "approximate-99": approximate(1_000_000, 0.99, 1),
    "approximate-999": approximate(1_000_000, 0.999, 1),
    "approximate-99-all": approximate(1_000_000, 0.99, len(os.sched_getaffinity(0))),
    "open": opening,
    "whole": whole,
    "layer": layer,
    "index": indexing,
    "index-smooth": indexing_smooth,
    "index-small": indexing_small,
    "features": extraction,
    "verify": verification,
    "photo": photo_known,
    "photo-unknown": photo_unknown,
}
