"""How motions keep clear of what they may not hit: ``python -m benchmarks.motion``."""

from __future__ import annotations

import json

from benchmarks import collision


def run(collisions: dict | None = None, tell=lambda _text: None) -> dict:
    """The figures of each part; ``collisions``: arguments of ``collision.run``."""
    return {"collision": collision.run(**(collisions or {}), tell=tell)}


if __name__ == "__main__":
    print(json.dumps(run(tell=print), indent=2))
