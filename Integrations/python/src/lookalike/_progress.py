"""How far a long call is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Optional, Union

Show = Callable[[int, Optional[int]], Any]  # noqa: UP045 -- Python 3.9
Progress = Union[bool, Show]  # noqa: UP007 -- Python 3.9
"""True for a bar of `tqdm`, or a function that is called with what is done, and of how many; None if it is not known
of how many."""


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Show | None]:
    """The function to call during a `with`; None for no progress."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("progress=True needs tqdm (pip install tqdm); or give a function") from error
    with tqdm(unit=" images") as bar:

        def show(done: int, total: int | None) -> None:
            if bar.total != total:
                bar.reset(total)
            bar.update(done - bar.n)

        yield show


def count(items: Any) -> int | None:
    """How many there are; None if that is not known before they are read."""
    return len(items) if hasattr(items, "__len__") else None
