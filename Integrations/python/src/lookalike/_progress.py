"""How far a long call is."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Optional, Union

Show = Callable[[int, Optional[int]], Any]
Progress = Union[bool, Show]
"""True for a bar of `tqdm`, or a function that is called with what is done, and of how many; None if it is not known
of how many."""


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Show | None]:
    """The function to call during a `with`; None for no progress."""
    if isinstance(progress, bool):
        with contextlib.ExitStack() as stack:
            yield _bar(stack) if progress else None
    else:
        yield progress


def _bar(stack: contextlib.ExitStack) -> Show:
    try:
        with warnings.catch_warnings():
            # In a notebook without widgets it is a line of text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("progress=True needs tqdm (pip install tqdm); or give a function") from error
    bars: list[Any] = []

    def show(done: int, total: int | None) -> None:
        if not bars:
            bars.append(stack.enter_context(tqdm(total=total, unit=" images")))
        bars[0].update(done - bars[0].n)

    return show


def count(items: Any) -> int | None:
    """How many there are; None if that is not known before they are read."""
    return len(items) if hasattr(items, "__len__") else None
