"""System calls that fail in a program that runs with faults.c. Used by the tests that fail them one at a time."""

import errno
import random
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Fault:
    call: str
    code: int
    # Whether all later calls fail too: a disk that is full stays full.
    is_lasting: bool
    # Which call fails, from 1 on; for 0 none does, and they are counted.
    number: int = 0
    # How many calls fail unless all later ones do.
    length: int = 1

    def environment(self, library, folder, count):
        """The variables that faults.c reads. `count` gets the number of calls on the files of `folder`."""
        values = {
            "LD_PRELOAD": str(library),
            "FAULT_FOLDER": str(folder),
            "FAULT_CALL": self.call,
            "FAULT_NUMBER": str(self.number),
            "FAULT_ERROR": str(self.code),
            "FAULT_COUNT": str(count),
        }
        if self.is_lasting:
            values["FAULT_ALL"] = "1"
        elif self.length > 1:
            values["FAULT_LENGTH"] = str(self.length)
        if self.call == "malloc":
            # Swift ends the process, as expected; its report of that takes seconds.
            values["SWIFT_BACKTRACE"] = "enable=no"
        return values

    def each(self, count):
        """A fault for each call that was counted in a file."""
        return [replace(self, number=number) for number in range(1, int(count.read_text()) + 1)]

    def __str__(self):
        lasting = " and all later ones" if self.is_lasting else f" and {self.length - 1} more" * (self.length > 1)
        return f"{self.call} {self.number}{lasting}, {errno.errorcode[self.code]}"


FAULTS = [
    Fault("write", errno.ENOSPC, True),
    Fault("write", errno.EIO, False),
    # It writes half; there is no error.
    Fault("short-write", errno.EINTR, False),
    Fault("read", errno.EIO, False),
    Fault("fsync", errno.EIO, False),
    Fault("fsync", errno.ENOSPC, False),
    Fault("truncate", errno.EIO, False),
    Fault("rename", errno.EIO, False),
    Fault("rename", errno.ENOSPC, False),
    Fault("unlink", errno.EIO, False),
    Fault("open", errno.EMFILE, False),
    Fault("open", errno.ENOSPC, False),
    Fault("mkdir", errno.ENOSPC, False),
    Fault("lock", errno.ENOLCK, False),
    Fault("stat", errno.EIO, False),
    Fault("mmap", errno.ENOMEM, False),
    Fault("malloc", errno.ENOMEM, False),
]


def drawn(trials, sample, seed):
    """So many of the trials, or all without a sample."""
    return random.Random(seed).sample(trials, min(sample, len(trials))) if sample else trials
