"""The machine of a run."""

import os
import platform
import re
import subprocess
from importlib.metadata import version

PACKAGES = ["numpy", "onnxruntime", "openvino", "faiss-cpu", "usearch", "opencv-python-headless", "pillow", "nncf"]


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def cpu_fields():
    fields = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def processor():
    fields = cpu_fields()
    sets = [
        name
        for name in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
        if name in fields.get("flags", "").split()
    ]
    return (
        f"{fields.get('model name')}, family {fields.get('cpu family')}, model {fields.get('model')}, {' '.join(sets)}"
    )


def kind():
    """A short name for machines that compute alike, such as amd-epyc-26-2: family and model tell instruction sets."""
    fields = cpu_fields()
    words = re.sub(r"\(.*?\)|@.*|processor|cpu|[0-9.]+ghz", " ", fields.get("model name", "unknown").lower())
    name = "-".join(re.findall(r"[a-z0-9]+", words)[:3])
    return f"{name}-{fields.get('cpu family')}-{fields.get('model')}"


def memory():
    kilobytes = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1])
    return f"{kilobytes / 2**20:.0f} GiB"


def commit():
    """The commit that is measured, with “-dirty” for changes that are in none, but those of stored results."""
    changed = ["git", "diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)Benchmarks/results"]
    dirty = "-dirty" if subprocess.run(changed).returncode else ""
    return first_line(["git", "describe", "--always", "--exclude", "*"]) + dirty


def described():
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": memory(),
        "system": f"{platform.freedesktop_os_release()['PRETTY_NAME']}, Linux {platform.release()}",
        "swift": first_line(["swift", "--version"]),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }
