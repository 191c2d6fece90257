"""What people put behind an HTTP server today: Pillow, OpenVINO and FAISS. The service is measured beside it.

GLUE_NETWORK=default.onnx GLUE_COUNT=100000 uvicorn glue:app --app-dir Extras/Service/Benchmarks --port 8701 --workers 2

The body of POST /search is an image file; the answer has the ids and distances of the nearest prints. A process has one
thread for the network and one for the search, so that as many processes as cores use all cores.
"""

import io
import os

import faiss
import numpy as np
import openvino
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from PIL import Image

SIDE = 160
DIMENSION = 256
RESULTS = 10


def network(path):
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape([1, 3, SIDE, SIDE])
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    return core.compile_model(model, "CPU", settings)


def index(count):
    faiss.omp_set_num_threads(1)
    rows = np.random.default_rng(1).choice(np.array([-1, 1], np.float32) / 16, (count, DIMENSION))
    flat = faiss.IndexFlatL2(DIMENSION)
    flat.add(rows)
    return flat


compiled = network(os.environ["GLUE_NETWORK"])
prints = index(int(os.environ.get("GLUE_COUNT", "100000")))
app = FastAPI()


def nearest(body):
    image = Image.open(io.BytesIO(body))
    image.draft("RGB", (SIDE, SIDE))
    image = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.float32).transpose(2, 0, 1)[None] / 255
    embedding = compiled.create_infer_request().infer({0: np.ascontiguousarray(pixels)})["print"]
    distances, ids = prints.search(embedding, RESULTS)
    return {"results": [{"id": f"e{i}", "distance": float(d)} for i, d in zip(ids[0], np.sqrt(distances[0]))]}


@app.post("/search")
async def search(request: Request):
    return await run_in_threadpool(nearest, await request.body())
