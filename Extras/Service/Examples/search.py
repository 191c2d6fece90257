#!/usr/bin/env python3
"""Puts an image into a catalog and searches for a photo, with requests.

search.py URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.
"""

import os
import pathlib
import sys
import time

import requests

url, image, photo = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
session = requests.Session()
if key := os.environ.get("LOOKALIKE_KEY"):
    session.headers["Authorization"] = f"Bearer {key}"


def call(method, path, **options):
    """Sends a request, again after as long as the service says if it has too much to do."""
    while True:
        answer = session.request(method, url + path, **options)
        if answer.status_code != 503:
            break
        time.sleep(int(answer.headers.get("Retry-After", 1)))
    if not answer.ok:
        problem = answer.json()
        raise SystemExit(f"{problem['title']}: {problem['detail']} ({problem['code']})")
    return answer


call("PUT", "/v1/catalogs/python")
fields = {"title": "The first", "attribute.year": "2026"}
call("PUT", "/v1/catalogs/python/entities/first", data=fields, files={"image": image.read_bytes()})
found = call("POST", "/v1/catalogs/python/search", data={"limit": 5}, files={"image": photo.read_bytes()}).json()
for result in found["results"]:
    print(f"{result['confidence']:.0%}  {result['entity']['title']}  {result['outline']}")
call("DELETE", "/v1/catalogs/python")
