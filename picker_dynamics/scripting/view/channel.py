"""Channel from one that tells to any number that read: each gets the newest of every kind, and the words that it has not had.

Nothing waits for a reader, and nothing is kept for one: who is slow or asleep misses what has become old.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Generator, Mapping
from typing import Any

SAID = 50
"""Words that are kept for who comes later."""


class Channel:
    """Channel of what is told, as the bytes of server-sent events.

    Attributes:
        readers: names of the streams that are read.
    """

    def __init__(self) -> None:
        self._changed, self._count = threading.Condition(), 0
        self._newest: dict[str, tuple[int, bytes]] = {}
        self._said: deque[tuple[int, bytes]] = deque(maxlen=SAID)
        self.closed, self.readers = False, list[str]()

    def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        """Put something in the place of what was told of this kind before; words, the kind ``said``, reach every reader."""
        with self._changed:
            self._count += 1
            words = {"id": self._count} if kind == "said" else {}
            text = json.dumps({**value, **words}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            event = self._count, f"event: {kind}\ndata: {text}\n\n".encode()
            if words:
                self._said.append(event)
            else:
                self._newest[kind] = event
            self._changed.notify_all()

    def close(self) -> None:
        """Let all readers end."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def read(self, name: str, silence_s: float = 0.3) -> Generator[bytes, None, None]:
        """Events that are told from now on, and before that the newest of each kind; a blank comment after a silence."""
        seen = 0
        self.readers.append(name)
        try:
            while not self.closed:
                with self._changed:
                    if self._count == seen and not self.closed:
                        self._changed.wait(silence_s)
                    news = sorted(one for one in (*self._newest.values(), *self._said) if one[0] > seen)
                    seen = self._count
                yield b"".join(data for _, data in news) or b":\n\n"
        finally:
            self.readers.remove(name)
