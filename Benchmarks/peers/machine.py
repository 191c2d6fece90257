"""The machine of a run."""

import os
import platform
import subprocess
from importlib.metadata import version

PACKAGES = ["numpy", "onnxruntime", "openvino", "faiss-cpu", "usearch", "opencv-python-headless", "pillow"]


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def processor():
    fields = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    sets = [
        name
        for name in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
        if name in fields.get("flags", "").split()
    ]
    return (
        f"{fields.get('model name')}, family {fields.get('cpu family')}, model {fields.get('model')}, {' '.join(sets)}"
    )


def memory():
    kilobytes = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1])
    return f"{kilobytes / 2**20:.0f} GiB"


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
