"""What one core of the machine does at most."""

import os

import numpy as np
from contest import core
from runner import Ours


class Limits:
    def __init__(self, program, inputs):
        self.reader = Ours(program, "read", core=core(1), files={"bytes": str(inputs.screen())})
        self.multiplier = Ours(program, "multiply-add", core=core(1))
        self.screen_bytes = os.path.getsize(inputs.screen())
        reads = [self.reader() for _ in range(30)]
        self.gigabytes = self.screen_bytes / np.median(reads) / 1e6
        # Milliseconds for 10^9 multiply-adds.
        self.multiply_adds = 1e3 / np.median([self.multiplier() for _ in range(30)])
        self.reader.close()
        self.multiplier.close()
