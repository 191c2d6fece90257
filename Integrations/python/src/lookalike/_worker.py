"""The protocol of `lookalike worker`, version 1; the article “From a folder to many machines” describes it.

A worker is shared by all threads. A thread of its own writes the requests, and another one gives each answer to the
caller that waits for it, by the number of the request. Callers wait for queues and locks that are written in C and can
be interrupted. So a `KeyboardInterrupt` leaves neither half a request in the pipe nor a lock that nobody opens, and an
answer that nobody waits for any more is dropped.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any

import _lookalike_program

from lookalike._closing import Closing
from lookalike._errors import ImageError, LookalikeError

_PROTOCOL = 1
# A worker ends if it is told of a longer header.
_LONGEST_HEADER = 1 << 20
# The bytes of images that an iteration sends before it reads an answer, unless it is one image.
_MOST_BYTES_AHEAD = 64 << 20

Request = tuple[dict[str, Any], bytes]
"""A header, and the bytes of an image file."""
Answer = tuple[dict[str, Any], bytes]


def run(arguments: list[str]) -> bytes:
    """Runs the program to its end, and returns its output.

    Raises `LookalikeError` with the program's message if its exit status is neither 0 nor 3, “some images could not be
    used”.
    """
    try:
        result = subprocess.run(
            [_lookalike_program.find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        raise LookalikeError(f"the program “lookalike” cannot be started: {error}") from error
    # In a program that ignores SIGCHLD or waits for all processes, the status is lost, and is 0.
    has_lost_failure = result.returncode == 0 and result.stderr.startswith(b"Error: ")
    if result.returncode not in (0, 3) or has_lost_failure:
        raise LookalikeError(_message(result.stderr, result.returncode))
    return result.stdout


def _message(errors: bytes, status: int | None) -> str:
    # Without the usage that follows what is wrong with an argument.
    words = re.split(r"\n(?:Help|Usage):", errors.decode(errors="replace"))[0].strip().removeprefix("Error: ")
    if words:
        return words
    if status is not None and status < 0:
        return f"the program “lookalike” was ended by signal {-status} ({signal.Signals(-status).name})"
    return f"the program “lookalike” ended with status {status}"


class Worker:
    """A process of `lookalike worker`, and the two threads that speak with it."""

    def __init__(self, arguments: list[str]) -> None:
        self.greeting: dict[str, Any] = {}
        self.failure: str | None = None
        """Why there are no more answers."""
        self._numbers = itertools.count(1)
        # Who waits for an answer, by the number of the request. All of these are safe between threads by themselves.
        self._inboxes: dict[Any, SimpleQueue[Answer | str]] = {}
        self._requests: SimpleQueue[tuple[bytes, bytes] | None] = SimpleQueue()
        # Closed until the greeting has come.
        self._gate = threading.Lock()
        self._gate.acquire()
        self._is_gate_closed = True
        self._is_ending = False
        self._starter = threading.get_native_id()
        # Without buffers, which a fork would copy.
        self._errors = tempfile.TemporaryFile(buffering=0)
        try:
            # In a session of its own the process is not ended by an interrupt from the terminal.
            self._process = subprocess.Popen(
                [_lookalike_program.find(), "worker", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise LookalikeError(f"the program “lookalike” cannot be started: {error}") from error
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        self._writer = threading.Thread(target=self._write_all, name="lookalike requests", daemon=True)
        self._reader = threading.Thread(target=self._read_all, name="lookalike answers", daemon=True)
        self._writer.start()
        self._reader.start()

    def wait_until_started(self) -> None:
        """Waits for the greeting.

        Raises `LookalikeError` if the worker ended instead.
        """
        with self._gate:
            pass
        if self.failure is not None:
            raise LookalikeError(self.failure)

    def send(self, request: Request, inbox: SimpleQueue[Answer | str]) -> int:
        """Puts a request into the queue, and returns its number. Its answer, or why there is none, comes to `inbox`."""
        number = next(self._numbers)
        header = json.dumps({"id": number, **request[0]}, allow_nan=False).encode()
        if len(header) > _LONGEST_HEADER:
            raise ValueError(f"the request has {len(header)} bytes of text; it may have {_LONGEST_HEADER}")
        start = struct.pack("<II", len(header), len(request[1])) + header
        self._inboxes[number] = inbox
        self._requests.put((start, request[1]))
        # Who looks after the inboxes were told looks here.
        if self.failure is not None:
            inbox.put(self.failure)
        return number

    def forget(self, numbers: Iterable[int]) -> None:
        """Nobody waits for these answers any more."""
        for number in numbers:
            self._inboxes.pop(number, None)

    def kill(self) -> None:
        """Ends the process; the threads end after it."""
        # The methods of Popen have a lock that an interrupt might leave locked: one thread alone calls them.
        if not self._is_ending:
            os.kill(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ends the process, and waits for its end."""
        self.kill()
        if not sys.is_finalizing() and threading.current_thread() not in (self._reader, self._writer):
            self._reader.join()

    def abandon(self) -> None:
        """After a fork: the process is the parent's, and the threads are there alone."""
        self._input.close()
        self._output.close()
        # What nobody has waited for would be waited for.
        self._process.returncode = 0
        self._fail("the worker belongs to the parent process")

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self._open_gate()
        for inbox in list(self._inboxes.values()):
            inbox.put(reason)

    def _open_gate(self) -> None:
        if self._is_gate_closed:
            self._is_gate_closed = False
            self._gate.release()

    def _write_all(self) -> None:
        self._leave_signals_to_others()
        try:
            while (message := self._requests.get()) is not None:
                for part in message:
                    rest = memoryview(part)
                    while len(rest) > 0:
                        rest = rest[self._input.write(rest) or 0 :]
        except OSError:
            # The other thread says why.
            pass

    def _read_all(self) -> None:
        self._leave_signals_to_others()
        reason = ""
        try:
            self.greeting, _ = self._read()
            if self.greeting.get("protocol") != _PROTOCOL:
                version = self.greeting.get("protocol")
                raise ValueError(f"the program speaks version {version} of the protocol, not {_PROTOCOL}")
            self._open_gate()
            while True:
                header, payload = self._read()
                inbox = self._inboxes.get(header.get("id"))
                if inbox is not None:
                    # In this order, so that after a fork in between nobody waits for an answer that is gone.
                    inbox.put((header, payload))
                    self._inboxes.pop(header.get("id"), None)
        except EOFError:
            pass
        except Exception as error:
            reason = str(error)
        self._is_ending = True
        if reason:
            self._process.kill()
        try:
            status: int | None = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._errors.seek(0)
        self._fail(reason or _message(self._errors.read(), status))
        self._requests.put(None)
        self._writer.join()
        for file in (self._input, self._output, self._errors):
            file.close()

    def _leave_signals_to_others(self) -> None:
        """Blocks signals in this thread: handlers run in the main one, and SIGPIPE might end the process."""
        # Threads that gevent has replaced are parts of the one that started them.
        if threading.get_native_id() != self._starter:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    def _read(self) -> Answer:
        length, size = struct.unpack("<II", self._read_bytes(8))
        header = json.loads(self._read_bytes(length))
        return header, self._read_bytes(size)

    def _read_bytes(self, count: int) -> bytes:
        parts = []
        while count > 0:
            part = self._output.read(count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class HasWorker(Closing):
    """What has a worker: one that is started when it is needed, anew after it has ended, and in each process after a
    fork."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._worker: Worker | None = None
        self._lock = threading.RLock()
        _owners.add(self)

    def _running_worker(self) -> Worker:
        with self._lock:
            if self._worker is None or self._worker.failure is not None:
                self._worker = Worker(self._arguments)
            self._worker.wait_until_started()
            return self._worker

    def _answers(
        self, requests: Iterable[Request | ImageError], is_outdated: Callable[[dict[str, Any]], bool] = lambda _: False
    ) -> Iterator[Answer | ImageError]:
        """The answer of each request in order; an error among the requests is its own answer.

        Requests are taken as far ahead as the worker allows. If it ends, or its answer shows that it has to be started
        again, the requests without an answer are sent to another one, once.
        """
        worker = self._running_worker()
        inbox: SimpleQueue[Answer | str] = SimpleQueue()
        # The requests without an answer and their numbers, and errors, which have neither.
        sent: deque[tuple[int, Request | ImageError]] = deque()
        byte_count = 0

        def size(request: Request | ImageError) -> int:
            return 0 if isinstance(request, ImageError) else len(request[1])

        def send(request: Request | ImageError) -> tuple[int, Request | ImageError]:
            return 0 if isinstance(request, ImageError) else worker.send(request, inbox), request

        def next_answer() -> Answer | ImageError:
            nonlocal worker, inbox, byte_count
            is_second_try = False
            while True:
                request = sent[0][1]
                answer = request if isinstance(request, ImageError) else inbox.get()
                is_failure = isinstance(answer, str) or isinstance(answer, tuple) and is_outdated(answer[0])
                if is_second_try or not is_failure:
                    break
                is_second_try = True
                self._retire(worker)
                worker, inbox = self._running_worker(), SimpleQueue()
                for index, (_, again) in enumerate(sent):
                    sent[index] = send(again)
            if isinstance(answer, str):
                raise LookalikeError(answer)
            sent.popleft()
            byte_count -= size(request)
            return answer

        try:
            for request in requests:
                while sent and (len(sent) >= worker.greeting["window"] or byte_count >= _MOST_BYTES_AHEAD):
                    yield next_answer()
                sent.append(send(request))
                byte_count += size(request)
            while sent:
                yield next_answer()
        finally:
            worker.forget(number for number, _ in sent)

    def _retire(self, worker: Worker) -> None:
        """Ends a worker, unless another one has taken its place already."""
        with self._lock:
            if self._worker is worker:
                self._worker = None
                worker.close()

    def close(self) -> None:
        """Ends the process; one that is needed later is started then."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __del__(self) -> None:
        # An initializer may have failed. Nothing is waited for here, since any thread may run this, at any time.
        worker = getattr(self, "_worker", None)
        if worker is not None:
            worker.kill()


_owners: weakref.WeakSet[HasWorker] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for owner in list(_owners):
        owner.close()


def _leave_workers_to_parent() -> None:
    for owner in list(_owners):
        # A thread that is in the parent alone may have held the lock.
        owner._lock = threading.RLock()
        worker, owner._worker = owner._worker, None
        if worker is not None:
            worker.abandon()


os.register_at_fork(after_in_child=_leave_workers_to_parent)
