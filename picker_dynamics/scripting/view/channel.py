"""Channel from one that tells to any number that read: each gets the newest of every kind, and the words that it has not had.

Nothing waits for a reader, and nothing is kept for one: who is slow or asleep misses what has become old.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

SAID = 50
"""Words that are kept for who comes later."""


class Channel:
    """Channel of what is told, as the bytes of server-sent events."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._newest: dict[str, tuple[int, bytes]] = {}
        self._said: deque[tuple[int, bytes]] = deque(maxlen=SAID)
        self._numbers = itertools.count(1)
        self.closed = False
        self.readers: dict[int, str] = {}

    @property
    def there(self) -> set[str]:
        """Names of the streams that are read."""
        return set(self.readers.values())

    def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        """Put something in the place of what was told of this kind before."""
        data = _event(kind, value)
        with self._changed:
            self._newest[kind] = next(self._numbers), data
            self._changed.notify_all()

    def say(self, value: Mapping[str, Any]) -> None:
        """Say words, which every reader gets."""
        with self._changed:
            number = next(self._numbers)
            self._said.append((number, _event("said", {**value, "id": number})))
            self._changed.notify_all()

    def close(self) -> None:
        """Let all readers end."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def read(self, name: str, silence_s: float = 0.3) -> Iterator[bytes]:
        """Events that are told from now on, and before that the newest of each kind; a blank comment after a silence."""
        seen, me = 0, next(self._numbers)
        self.readers[me] = name
        try:
            while not self.closed:
                with self._changed:
                    self._changed.wait_for(partial(self._is_news, seen), silence_s)
                    news = [one for one in (*self._newest.values(), *self._said) if one[0] > seen]
                seen = max((number for number, _ in news), default=seen)
                yield b"".join(data for _, data in sorted(news)) or b":\n\n"
        finally:
            self.readers.pop(me, None)

    def _is_news(self, seen: int) -> bool:
        said = self._said[-1][0] if self._said else 0
        return self.closed or max(said, max((number for number, _ in self._newest.values()), default=0)) > seen


def _event(kind: str, value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"event: {kind}\ndata: {text}\n\n".encode()
