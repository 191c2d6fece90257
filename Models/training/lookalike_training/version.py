"""The version of the package, for the metadata of model files."""

import re
from pathlib import Path

_SOURCE = Path(__file__).parents[3] / "Sources/CatalogEntities/PackageVersion.swift"
VERSION = re.search(r'let current = "([^"]+)"', _SOURCE.read_text())[1]
VERSION_METADATA = {"lookalike.version": VERSION}
