"""Server of a running arm: calls in, answers and states out, lines of JSON over a socket of this user and, where asked for, TCP.

    {"call": "goal", "id": 7, "epoch": 5, ...} -> {"id": 7, "epoch": 5, "result": null} or {..., "text": "...", "error": ...}
    {"event": {...}}  {"hardware": {...}}  {"controller": {...}}  {"payload": [mass, x, y, z]}
    {"states": [...]}  as ``report.row``     {"dropped": 7}  states that a client was too slow for

Over TCP the first call is {"call": "token", "id": 1, "token": "..."}; before it nothing is said, and nothing else taken.
One thread serves all connections; sending waits for no client, and a call takes its turn with the cycles.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import threading
from collections import deque
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import InputError, LinkError, PickerError
from picker_dynamics.files.formats import parse_json

from .address import TOKEN
from .entry import about_error
from .report import Report, row
from .running_arm import RunningArm
from .served import ServedSession

LINE_BYTES = 1_000_000
"""The longest call: more would hold up the control loop while it is decoded."""

UNREAD_BYTES = 4_000_000
"""A client that leaves so much unread is left."""

STATES_KEPT = 2000
"""States that are kept for a client at the most."""

LAST_S = 0.3
"""How long what was said last may be on its way at the end [s]."""

STRANGERS, TOKEN_S = 100, 5.0
"""How many may be about to say the token, the oldest is left for a new one, and how long each has for it [s]."""


class Server:
    """Serves ``arm`` at a path of the file system; a socket that a crash has left there is replaced.

    Args:
        host: address and port to listen at besides, for who says ``token``.

    Raises:
        LinkError: nobody can listen there.
    """

    def __init__(self, arm: RunningArm, report: Report, path: Path, host: tuple[str, int] | None = None, token: str = ""):
        self.session, self.arm, self._report, self.path = ServedSession(arm, report), arm, report, path
        self._clients, self._token, self._strangers = set[_Client](), token, dict[_Client, None]()
        self._loop = asyncio.new_event_loop()
        self._listeners: list[asyncio.Server] = []
        try:
            if host is not None:
                self._listen(asyncio.start_server(partial(self._serve, strange=True), *host, limit=LINE_BYTES))
        except OSError as error:
            raise LinkError(f"cannot listen at {host}: {error.strerror}", "host") from error
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._listen(asyncio.start_unix_server(self._serve, path, limit=LINE_BYTES))
        finally:
            os.umask(before)
        self._thread = threading.Thread(target=self._loop.run_forever, name="server", daemon=True)
        self._thread.start()
        report.listeners.append(self._publish)
        self._end = arm.session.subscribe(self._hear)

    def _listen(self, listening: Coroutine[Any, Any, asyncio.Server]) -> None:
        self._listeners.append(self._loop.run_until_complete(listening))

    def close(self) -> None:
        """End all connections and remove the socket."""
        if self._loop.is_closed():
            return
        self._end()
        self._report.listeners.remove(self._publish)
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.path.unlink(missing_ok=True)

    async def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for client in self._clients:
            client.writer.close()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=LAST_S)
            for task in late:
                task.cancel()

    # -- out, from the control loop ---------------------------------------------------------------------------

    def _publish(self, what: str, content: Any) -> None:
        """Hand what is new to all clients."""
        self._loop.call_soon_threadsafe(self._put_all, {what: content})

    def _put_all(self, message: Any) -> None:
        for client in self._clients:
            client.put(message)

    def _hear(self, cycle: Cycle) -> None:
        for client in tuple(self._clients):
            client.keep(cycle)

    # -- connections ------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, strange: bool = False) -> None:
        """Serve one connection until it ends; a ``strange`` one once it has said the token."""
        client = _Client(writer)
        try:
            if strange and not await self._admit(reader, client):
                return
            self._clients.add(client)
            while line := await reader.readline():
                if line.strip() and (answer := await self._answer(line, client)) is not None:
                    client.put(answer)
        except ValueError:
            client.put(_refusal(None, InputError(f"a call of more than {LINE_BYTES} bytes is not taken")))
        except OSError:
            pass
        finally:
            self._clients.discard(client)
            client.end()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _admit(self, reader: asyncio.StreamReader, client: _Client) -> bool:
        """Whether a stranger says the token, in the same time for each wrong one; it gets an answer."""
        if len(self._strangers) >= STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.writer.close()
        self._strangers[client] = None
        number, known = None, False
        try:
            asked = json.loads(await asyncio.wait_for(reader.readline(), TOKEN_S))
            number, said = asked.get("id"), asked.get("token")
            known = hmac.compare_digest(json.dumps(said).encode(), json.dumps(self._token).encode())
        except (ValueError, AttributeError, RecursionError, TimeoutError):
            pass
        finally:
            self._strangers.pop(client, None)
        refusal = _refusal(number, LinkError(f"wrong token: give the {TOKEN} with which the arm was started", "token"))
        client.put({"id": number, "result": None} if known else refusal)
        return known

    async def _answer(self, line: bytes, client: _Client) -> dict[str, Any] | None:
        """Carry out a call; returns its answer, None where nobody wants one."""
        number, gate = None, self.arm.session.gate
        try:
            asked = parse_json(line, "no call")
            name, number, epoch = asked.pop("call"), asked.pop("id", None), int(asked.pop("epoch", -1))
            result = None
            if name == "subscribe":
                client.subscribe(**asked)
            else:
                result = self.session.carry_out(name, asked, epoch)
        except PickerError as error:
            return _refusal(number, error) | {"epoch": gate.epoch}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return _refusal(number, InputError(f"no call: {type(error).__name__}: {error}"))
        return None if number is None else {"id": number, "result": result, "epoch": gate.epoch}


def _refusal(number: Any, error: PickerError) -> dict[str, Any]:
    return {"id": number, "text": str(error), **about_error(error)}


class _Client:
    """One client: what is said to it, and the cycles that it has not got yet."""

    def __init__(self, writer: asyncio.StreamWriter):
        self.writer = writer
        self._cycles: deque[Cycle] = deque(maxlen=STATES_KEPT)
        self._dropped = 0
        self._sends: asyncio.Task[None] | None = None

    def put(self, message: Any) -> None:
        """Say something; a client that does not read is left."""
        if self.writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            self.writer.transport.abort()
        elif not self.writer.is_closing():
            self.writer.write(json.dumps(message, default=str).encode() + b"\n")

    def keep(self, cycle: Cycle) -> None:
        """Keep a cycle for a subscriber; of more than ``STATES_KEPT`` the oldest is dropped, and counted."""
        if self._sends is not None:
            self._dropped += len(self._cycles) == STATES_KEPT
            self._cycles.append(cycle)

    def subscribe(self, period_s: float, all: bool = False) -> None:
        """Send what has come every ``period_s`` [s] from now on: the newest state, or ``all`` states."""
        self._end_subscription()
        self._sends = asyncio.ensure_future(self._send(max(1e-3, float(period_s)), all))

    async def _send(self, period_s: float, all_: bool) -> None:
        while True:
            await asyncio.sleep(period_s)
            cycles = [self._cycles.popleft() for _ in range(len(self._cycles))]
            if cycles:
                self.put({"states": [row(one) for one in (cycles if all_ else cycles[-1:])]})
            if all_ and self._dropped:
                self.put({"dropped": self._dropped})
                self._dropped = 0

    def _end_subscription(self) -> None:
        if self._sends is not None:
            self._sends.cancel()
        self._sends = None
        self._cycles.clear()

    def end(self) -> None:
        """End the connection, once all is written."""
        self._end_subscription()
        self.writer.close()
