#!/usr/bin/env python3
"""Writes what the harnesses start from: small valid inputs, with the byte that each harness chooses by.

Fuzz/seeds.py FOLDER [MOST]

MOST inputs per harness, spread over all; without it all of them.
"""

import base64
import hashlib
import io
import json
import math
import struct
import sys
import tarfile
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
CALENDARS = [
    CALENDAR.replace("SUMMARY", line + "\r\nSUMMARY")
    for line in (
        "EXRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=3",
        "RDATE;TZID=Europe/Berlin:20231117T200000,20231118T200000",
        "RDATE;VALUE=PERIOD:20231117T200000Z/PT1H",
        "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\nEND:VALARM",
        "END:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID;TZID=Europe/Berlin:20231129T200000\r\n"
        "DTSTART;TZID=Europe/Berlin:20231129T210000\r\nDTEND;TZID=Europe/Berlin:20231129T220000",
        "STATUS:CANCELLED\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:20231129T190000Z",
    )
] + [
    """BEGIN:VCALENDAR\r
BEGIN:VTIMEZONE\r
TZID:Own\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r
END:STANDARD\r
BEGIN:DAYLIGHT\r
DTSTART:19700329T020000\r
TZOFFSETFROM:+0100\r
TZOFFSETTO:+0200\r
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r
END:DAYLIGHT\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
UID:2\r
DTSTART;TZID=Own:20231115T200000\r
DTEND;TZID=Own:20231115T210000\r
RRULE:FREQ=MONTHLY;BYDAY=3WE;UNTIL=20241231T000000Z\r
SUMMARY:a\r
END:VEVENT\r
BEGIN:VEVENT\r
UID:3\r
DTSTART;VALUE=DATE:20231224\r
RRULE:FREQ=YEARLY\r
END:VEVENT\r
END:VCALENDAR\r
"""
]
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
# What the first byte says that it is, by the order of RequestPart in ServiceFuzz.swift.
SEARCH = {"text": "t", "limit": 2, "types": ["t"], "labels": ["l"], "attributes": {"year": ["1990"]}}
ENTITY = {"title": "T", "subtitle": "S", "type": "t", "labels": ["l"], "attributes": {"year": "1990"}}
VECTOR = {"vector": "ADwAAA==", "model": {"name": "m", "digest": "00ff"}}
# Of the catalog's model, whose identity the harness inserts.
PRINT = f'{{"vector": "{base64.b64encode(struct.pack("<19e", 1, *18 * [0])).decode()}", "model": MODEL}}'
REGION = {"x": 0.1, "y": 0.2, "width": 0.5, "height": 0.4}
FORM = """--x\r
Content-Disposition: form-data; name="image"; filename="a.png"\r
Content-Type: image/png\r
\r
IMAGE\r
--x\r
Content-Disposition: form-data; name="limit"\r
\r
2\r
--x--\r
"""
# To a service with keys, which the harness inserts.
KEYED = [
    f"{line} HTTP/1.1\r\nHost: a\r\n{header}\r\nConnection: close\r\n\r\n"
    for line, header in (
        ("GET /v1/catalogs", "Authorization: Bearer READKEY"),
        ("GET /v1/catalogs/c/entities/1", "X-API-Key: WRITEKEY"),
        ("DELETE /v1/catalogs/c/entities/1", "Authorization: Bearer READKEY"),
        ("PUT /v1/catalogs/d", "Authorization: Bearer WRITEKEY\r\nOrigin: https://shop.example"),
        ("OPTIONS /v1/catalogs/c/search", "Origin: https://shop.example\r\nAccess-Control-Request-Method: POST"),
        ("GET /v1/samples", "Origin: https://other.example"),
        ("GET /v1/samples/..%2Fcatalog.sqlite", "Authorization: Basic READKEY"),
    )
]
REQUESTS = [
    (0, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
    (0, "POST /v1/prints HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
    (0, "GET /v1/catalogs HTTP/1.0\r\nHost: [::1]\r\nAuthorization: Bearer lk_abc\r\nRange: bytes=0-1\r\n\r\n"),
    *((1, path) for path in ("catalogs", "catalogs/c", "catalogs/c/entities/1", "catalogs/c/entities/1/thumbnail")),
    (2, "limit=3&effort=prints&region=0.1,0.2,0.5,0.4&types=t&labels=l&attribute.year=1990&facets=type,label"),
    (2, "max-distance=0.5&min-confidence=0.2&cursor=eyJhIjoxfQ"),
    (3, json.dumps({**SEARCH, "facets": ["type"]})),
    *((3, json.dumps(value)) for value in ({"entity": "1"}, {"print": VECTOR}, {"query": "a", "cursor": "b"})),
    (3, json.dumps({"image": "IMAGE", "region": REGION, "effort": "standard", "maxDistance": 1.5})),
    (4, FORM),
    *((5, kind) for kind in ('multipart/form-data; boundary="x"', "application/json; charset=utf-8", "image/jpeg")),
    (6, "a?title=T&type=t&labels=a,b&attribute.year=1990"),
    (7, json.dumps({"print": VECTOR, **ENTITY})),
    (7, json.dumps({"image": "IMAGE", **ENTITY})),
    (8, json.dumps({**ENTITY, "subtitle": None})),
    (9, json.dumps({"id": "b", "print": VECTOR}) + "\n" + json.dumps({"id": "d", "image": "IMAGE"}) + "\n"),
    (10, json.dumps({"images": ["IMAGE"]})),
    *((number, f'{{"print": {PRINT}}}') for number in (3, 7)),
    (3, f'{{"print": {PRINT}, "cursor": "3fe0000000000000-1", "maxDistance": 2, "facets": ["attribute.year"]}}'),
    (3, json.dumps({"image": "IMAGE", "effort": "prints", "facets": ["label"], "minConfidence": 0})),
    *((2, f"region={region}") for region in ("0,0,1e-300,1", "1,0,1e-7,1", "0.2,0.2,0.3,0.3")),
    (9, f'{{"id": "b", "print": {PRINT}}}\n{{"id": "b", "print": {PRINT}}}\n'),
    *((3, f'{{"query": "QUERY", {rest}}}') for rest in ('"limit": 1', '"cursor": "bff0000000000000-1"')),
    *((13, request) for request in KEYED),
]


def convolution(name, source, **keys):
    defaults = {"outputs": 16, "kernel": 1, "stride": 1, "padding": 0, "relu": False}
    weights = {"weight": f"{name}.weight", "bias": f"{name}.bias"}
    return {"name": name, "op": "convolution", "input": source, **weights, **defaults, **keys}


def int8_model():
    """A model file with a layer of each kind that has an int8 form, and a background set."""
    swish, gate = {"function": "hard_swish"}, {"function": "hard_sigmoid", "alpha": 0.2, "beta": 0.5}
    window = {"padding": 0, "dilation": 1, "counts_padding": False, "rounds_up": False}
    nodes = [
        convolution("stem", "image", kernel=3, stride=2, padding=1, activation=swish),
        convolution("depthwise", "stem", kernel=3, padding=1, groups=16, activation=swish),
        {"name": "squeeze", "op": "average_pool", "input": "depthwise", "kernel": 8, "stride": 1, **window},
        convolution("fewer", "squeeze", relu=True),
        convolution("gate", "fewer", activation=gate),
        {"name": "gated", "op": "combine", "input": "depthwise", "operator": "multiply", "other": "gate"},
        convolution("project", "gated", residual="stem"),
        convolution("groups", "project", kernel=3, padding=1, groups=2, relu=True),
        {"name": "pool", "op": "max_pool", "input": "groups", "kernel": 2, "stride": 2, **window},
        convolution("last", "pool", relu=True),
        {"name": "mean", "op": "generalized_mean", "input": "last", "power": 2, "epsilon": 1e-6},
        {"name": "linear", "op": "linear", "input": "mean", "weight": "l.weight", "bias": "l.bias", "outputs": 4},
        {"name": "print", "op": "l2_normalize", "input": "linear"},
    ]
    shapes = {"l.weight": [4, 16], "l.bias": [4]}
    for node in nodes:
        if node["op"] == "convolution":
            inputs = 3 if node["input"] == "image" else 16 // node.get("groups", 1)
            shapes[node["weight"]] = [16, inputs, node["kernel"], node["kernel"]]
            shapes[node["bias"]] = [16]
    image = {"width": 16, "height": 16, "mean": [0.5] * 3, "std": [0.25] * 3}
    ranges = {node["name"]: [-0.5, 2] for node in nodes if node["op"] in ("convolution", "combine", "generalized_mean")}
    tensors = {name: (shape, lambda index: math.sin(index) / 4) for name, shape in shapes.items()}
    # Unit vectors, each along an axis.
    tensors["background"] = ([6, 4], lambda index: float(index // 4 % 4 == index % 4))
    background = {"tensor": "background", "nearest": 3, "weight": 0.5, "typical_distance": 1.2}
    confidence = {
        "per_inlier": 1,
        "most_inliers": 20,
        "per_rectified_distance": -10,
        "verified_bias": -5,
        "largest_distance": 0.75,
        "per_distance": 8,
        "unverified_margin": 0.3,
    }
    metadata = {
        "lookalike.background": json.dumps(background),
        "lookalike.recommended_max_distance": "0.8",
        "lookalike.confidence": json.dumps(confidence),
        "lookalike.graph": json.dumps({"version": 1, "name": "int8", "input": image, "nodes": nodes}),
        "lookalike.activation_ranges": json.dumps(ranges),
    }
    return safetensors(tensors, {}, metadata)


def local_feature_model():
    """A file with the smallest vocabulary."""
    floats = {
        "mean": ([128], lambda index: 0.1),
        "projection": ([64, 128], lambda index: math.sin(index) / 4),
        "deviations": ([64], lambda index: 0.05),
    }
    codes = {"coarse": [16, 64], "words": [256, 64]}
    description = {"version": 2, "name": "l", "unit": 0.01, "zero": 128}
    return safetensors(floats, codes, {"lookalike.local_descriptors": json.dumps(description)})


def safetensors(floats, codes, metadata):
    """A file of float tensors, by shape and value at an index, and of byte tensors, by shape."""
    header, data = {"__metadata__": metadata}, b""

    def add(name, kind, shape, content):
        nonlocal data
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content

    for name, (shape, value) in floats.items():
        count = math.prod(shape)
        add(name, "F32", shape, struct.pack(f"<{count}f", *map(value, range(count))))
    for name, shape in codes.items():
        add(name, "U8", shape, bytes(index * 37 & 255 for index in range(math.prod(shape))))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def damaged_files():
    """Changed bytes: in the header of a derived file, what the file is made with and how large its sections are."""
    for kind in range(5):
        for position in (0, 12, 16, 24, 192, 1000, 16384, 32768):
            yield struct.pack(">BHB", kind, position, 4) + bytes([255, 0, 255, 1])
        yield struct.pack(">BHB", kind, 65535, 1)
    # The least that a header can say about its file: no entities, in as many bytes.
    for kind in (3, 4):
        yield struct.pack(">BHB", kind, 16, 16) + bytes(16)


def damaged_rows():
    """New values for the columns of RowEdit in CatalogDamage.swift, by their order."""
    for column in range(28):
        for kind in range(6):
            yield bytes([column, column % 3, kind]) + bytes([0, 8, 3, 255, 127, 1, 65, 0])


def damaged_models():
    """Changed bytes of a model's file: of its header, and of its weights."""
    for position in (8, 30, 100, 500, 2000, 30000, 60000):
        yield struct.pack(">HB", position, 2) + b"9\xff"


def snapshot():
    """A snapshot whose catalog is no database."""
    files = {"catalog.sqlite": b"SQLite format 3\0"}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in {**files, "SHA256SUMS": sums.encode()}.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return archive.getvalue()


def files(pattern):
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def seeds():
    kinds = ("png", "jpg", "webp", "heic", "avif", "gif", "tif")
    images = [data for kind in kinds for data in files(f"Tests/ImagingTests/Fixtures/**/*.{kind}")]
    yield "ImageFuzz", [bytes([choice]) + data for data in images for choice in range(3)]
    models = [*files("Tests/FeaturePrintTests/Fixtures/*.safetensors"), int8_model()]
    kinds = [bytes([kind]) + data for data in models for kind in range(3)]
    yield "ModelFuzz", [*kinds, bytes([3]) + local_feature_model()]
    networks = files("Extras/ONNXImport/Tests/ONNXImportTests/Fixtures/*.onnx")
    yield "ImportFuzz", [bytes([kind]) + data for data in networks for kind in range(4)]
    line = {"id": "a", "image": "a.png", "title": "A", "labels": ["x", "y"], "year": 1990, "deep": {"a": [1, None]}}
    yield (
        "ManifestFuzz",
        [b"\0" + data for data in files("Examples/Demo/covers/*.csv")]
        + [b'\0id,image,"ti,tle",labels\r\na,b.png,"x ""y""",k;l\r\n', b"\1" + json.dumps(line).encode() + b"\r\n{}\n"],
    )
    entity = {"id": "a", "image": "", "labels": ["l"], "attributes": {"year": "1990"}, "type": "t", "title": "T"}
    corner = {"x": 0.5, "y": 1}
    outline = {name: corner for name in ("topLeft", "topRight", "bottomRight", "bottomLeft")}
    verified = {"key": 1, "inlierCount": 9, "evidence": 5.5, "outline": outline, "squaredDistance": 0.5}
    query = {"prints": [VECTOR], "labels": ["l"], "maxDistance": "recommended"}
    condition = "type = t and (label in (l, k) or not year < 1990)"
    bounds = {"minConfidence": 0.5, "maxDistance": 1.5}
    facet = {"field": "year", "values": [{"value": "1990", "count": 2}]}
    stored = [
        (0, entity),
        (1, VECTOR),
        (2, {**query, "verified": [verified], "isVerified": True}),
        (3, condition),
        (4, bounds),
        (4, {**bounds, "maxDistance": "unlimited"}),
        (5, "3ff8000000000000-1f"),
        (6, facet),
    ]
    yield "CodingFuzz", [bytes([number]) + json.dumps(value).encode() for number, value in stored]
    rows, model_edits = list(damaged_rows()), list(damaged_models())
    yield (
        "CatalogFuzz",
        [*damaged_files(), *(b"\5" + edit for edit in rows), *(b"\6" + edit for edit in model_edits)],
    )
    requests = [bytes([number]) + text.encode() for number, text in REQUESTS]
    restored = [b"\0" + edit for edit in rows] + [b"\1" + edit for edit in model_edits]
    restored += [b"\2" + edit for edit in model_edits]
    yield "ServiceFuzz", [*requests, bytes([11]) + snapshot(), *(bytes([12]) + edit for edit in restored)]
    calendars = [CALENDAR, *CALENDARS]
    yield (
        "StoreFuzz",
        [
            *(b"\0" + calendar.encode() for calendar in calendars),
            *(b"\1" + card.encode() for card in CONTACTS),
            b"\2" + HEALTH.encode(),
        ],
    )


def main():
    most = int(sys.argv[2]) if len(sys.argv) > 2 else sys.maxsize
    for harness, inputs in seeds():
        folder = Path(sys.argv[1]) / harness
        folder.mkdir(parents=True, exist_ok=True)
        count = min(most, len(inputs))
        for number in (index * len(inputs) // count for index in range(count)):
            (folder / f"seed-{number:03d}").write_bytes(inputs[number])


if __name__ == "__main__":
    main()
