"""Lookalike's side of a comparison: a process that runs one stage on request."""

import json
import subprocess


def peak_memory(process):
    """The peak memory of a process in MiB."""
    status = open(f"/proc/{process}/status").read()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


class Ours:
    def __init__(self, program, stage, threads=1, core=None, **description):
        command = (["taskset", "-c", str(core)] if core is not None else []) + [str(program)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stage = stage
        self.adjust(threads, **description)

    def adjust(self, threads=1, **description):
        """Describes the stage, or other numbers and options for the inputs that it has."""
        answer = self._ask(json.dumps({"stage": self.stage, "threads": threads, **description}))
        if answer != "ready":
            raise SystemExit(f"{self.stage}: {answer}")

    def _ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"{self.stage}: the runner ended")
        return answer

    def __call__(self):
        """Milliseconds of one run, measured by the process."""
        return json.loads(self._ask("1"))[0]

    def result(self):
        return json.loads(self._ask("result"))

    def peak_memory(self):
        return peak_memory(self.process.pid)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
