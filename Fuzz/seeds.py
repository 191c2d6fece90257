#!/usr/bin/env python3
"""Writes what the harnesses start from: small valid inputs, with the byte that each harness chooses by.

Fuzz/seeds.py FOLDER
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALENDAR = """BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:-//x//x//EN\r
BEGIN:VEVENT\r
UID:1\r
DTSTART;TZID=Europe/Berlin:20231115T200000\r
DURATION:PT2H\r
RRULE:FREQ=WEEKLY;COUNT=5;BYDAY=WE\r
EXDATE;TZID=Europe/Berlin:20231122T200000\r
SUMMARY:Evening\\, late\r
LOCATION:Hall\r
END:VEVENT\r
END:VCALENDAR\r
"""
CONTACTS = [
    """BEGIN:VCARD\r
VERSION:3.0\r
N:Doe;Ann;B.;Dr.;\r
FN:Ann Doe\r
TEL;TYPE=CELL,PREF:+1 555 0100\r
EMAIL;TYPE=INTERNET:ann@example.org\r
BDAY:1990-02-03\r
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ\r
NOTE:folded\r
  line\r
END:VCARD\r
""",
    """BEGIN:VCARD\r
VERSION:4.0\r
FN:Zoë\r
BDAY:--0203\r
PHOTO:data:image/png;base64,iVBORw0K\r
item1.TEL;VALUE=uri;PREF=1:tel:+1-555-0100\r
END:VCARD\r
""",
]
HEALTH = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [<!ELEMENT HealthData ANY>]>
<HealthData locale="en_US"><ExportDate value="2023-12-01 10:00:00 +0100"/>
<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min"
 startDate="2023-11-16 08:00:00 +0100" endDate="2023-11-16 08:00:05 +0100" value="61">
<MetadataEntry key="k" value="v"/></Record>
<Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="W" startDate="2023-11-16 23:00:00 +0100"
 endDate="2023-11-17 07:00:00 +0100" value="HKCategoryValueSleepAnalysisInBed"/></HealthData>
"""


def files(pattern):
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def seeds():
    kinds = ("png", "jpg", "webp", "heic", "avif", "gif", "tif")
    images = [data for kind in kinds for data in files(f"Tests/ImagingTests/Fixtures/**/*.{kind}")]
    yield "ImageFuzz", [bytes([choice]) + data for data in images for choice in range(3)]
    models = files("Tests/FeaturePrintTests/Fixtures/*.safetensors")
    yield "ModelFuzz", [bytes([choice]) + data for data in models for choice in range(3)]
    yield "ImportFuzz", files("Extras/ONNXImport/Tests/ONNXImportTests/Fixtures/*.onnx")
    line = {"id": "a", "image": "a.png", "title": "A", "labels": ["x", "y"], "year": 1990, "deep": {"a": [1, None]}}
    yield (
        "ManifestFuzz",
        [b"\0" + data for data in files("Examples/Demo/covers/*.csv")]
        + [b'\0id,image,"ti,tle",labels\r\na,b.png,"x ""y""",k;l\r\n', b"\1" + json.dumps(line).encode() + b"\r\n{}\n"],
    )
    entity = {"id": "a", "image": "", "labels": ["l"], "attributes": {"year": "1990"}, "type": "t", "title": "T"}
    entity_print = {"vector": [0.6, 0.8], "model": {"name": "m", "digest": "00ff"}}
    yield "CodingFuzz", [json.dumps(entity).encode(), json.dumps(entity_print).encode()]
    yield "CatalogFuzz", [bytes([file, 0, place, 4, 255, 0, 255, 1]) for file in range(3) for place in (0, 1, 16, 128)]
    yield (
        "StoreFuzz",
        [b"\0" + CALENDAR.encode(), *(b"\1" + card.encode() for card in CONTACTS), b"\2" + HEALTH.encode()],
    )


def main():
    for harness, inputs in seeds():
        folder = Path(sys.argv[1]) / harness
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / f"seed-{number:03d}").write_bytes(data)


if __name__ == "__main__":
    main()
