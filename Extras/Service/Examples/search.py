#!/usr/bin/env python3
"""Puts an image into a catalog and searches for a photo, with the client beside it.

search.py URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.
"""

import os
import sys
from pathlib import Path

from lookalike_client import Catalog, Problem

url, image, photo = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
catalog = Catalog(url, "python", key=os.environ.get("LOOKALIKE_KEY"))
try:
    catalog.create()
    catalog.put("first", image.read_bytes(), title="The first", attributes={"year": "2026"})
    for match in catalog.search(photo.read_bytes(), limit=5, filter="year > 2000"):
        print(f"{match.confidence:.0%}  {match.entity.title}  {match.outline}")
    catalog.remove("first")
except Problem as problem:
    sys.exit(str(problem))
