"""Reading and writing https://huggingface.co/docs/safetensors: a length, a JSON header, the tensors."""

import json
from pathlib import Path

import numpy as np

KINDS = {"float32": "F32", "float16": "F16", "uint8": "U8"}


def read_safetensors(path):
    """(metadata, arrays): float16 and float32 as they are stored, bfloat16 as float32."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    # As they lie in the file, so that a copy has the same bytes, and with them the same identity.
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        raw = data[8 + length + begin : 8 + length + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2", "U8": "u1"}[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return metadata, tensors


def save_safetensors(path, arrays, metadata):
    """`arrays`: float32, float16 or uint8, by name."""
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name, array in arrays.items():
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": KINDS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(np.uint64(len(text)).tobytes())
        out.write(text)
        for blob in blobs:
            out.write(blob)
