"""Who moves the arm, as fields of ``arm_controller/status``: kind, name and goal of each holder; ``lease`` is for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from picker_dynamics.execution.lease import Holder, Kind

KINDS = {kind.value: kind for kind in Kind}


def holder_fields(holders: Iterable[Holder]) -> dict[str, str]:
    """Fields of the holders as published, numbered."""
    return {
        f"holder.{number}.{field}": value
        for number, holder in enumerate(holders)
        for field, value in (("kind", holder.kind.value), ("name", holder.name), ("goal", holder.identifier))
    }


def holders_in(values: Mapping[str, str]) -> list[Holder]:
    """Holders as they were published."""
    found: list[Holder] = []
    while (kind := KINDS.get(values.get(f"holder.{len(found)}.kind", ""))) is not None:
        begin = f"holder.{len(found)}."
        found.append(Holder(kind, values.get(f"{begin}name", ""), identifier=values.get(f"{begin}goal", "")))
    return found
