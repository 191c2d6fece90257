"""The errors of this package."""

from __future__ import annotations

__all__ = ["ImageError", "LookalikeError"]


class LookalikeError(Exception):
    """The program failed, or refuses what it was asked for. The message says why."""


class ImageError(Exception):
    """An image that cannot be used. `subject` is its path, or “image”; `reason` says why."""

    def __init__(self, subject: str, reason: str) -> None:
        # An exception is pickled by its arguments.
        super().__init__(subject, reason)
        self.subject = subject
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"
