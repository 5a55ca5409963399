"""docs/protocol.md and protocol_timing.md say what the code does: every table, byte by byte."""

import re
from functools import partial

import pytest
from firmware_bench import GOLDEN
from firmware_tools import FAULT_ROWS, doc_rows, doc_section
from places import ROOT

from picker_dynamics.board.protocol import PROTOCOL_VERSION, BoardState, MessageType, Reason
from picker_dynamics.board.protocol.codes import REASON_TEXT
from picker_dynamics.board.protocol.messages import MESSAGES

DOC = "".join((ROOT / "docs" / name).read_text() for name in ("protocol.md", "protocol_timing.md"))
BYTES_OF = {"u8": 1, "u16": 2, "u32": 4}


rows = partial(doc_rows, DOC)


def test_doc_lists_the_message_types():
    listed = {(int(number, 16), name, source) for number, name, source, _ in rows("Messages")}
    assert listed == {(int(kind), kind.name, "board" if kind & 0x80 else "host") for kind in MessageType}


@pytest.mark.parametrize("kind", MessageType, ids=lambda kind: kind.name)
def test_doc_has_every_payload_byte_by_byte(kind):
    title = f"0x{kind:02X} {kind.name}"
    layout = MESSAGES[kind].LAYOUT
    assert ("No payload." in doc_section(DOC, title)) == (not layout)
    offset, expected = 0, []
    for name, code in layout:
        expected.append([f"{offset} + 2 n" if code == "u16[m]" else str(offset), name, code])
        offset += BYTES_OF.get(code, 0)
    assert [row[:3] for row in rows(title)] == expected


def test_doc_lists_the_reasons():
    assert rows("Reasons") == [[str(int(reason)), reason.name, REASON_TEXT[reason]] for reason in Reason]


def test_doc_lists_the_faults():
    assert rows("Faults") == FAULT_ROWS


def test_doc_lists_the_states():
    listed = [row[:2] for row in rows("States")]
    assert listed == [[str(int(state)), state.name] for state in BoardState]


def test_doc_and_golden_file_name_this_version():
    assert DOC.startswith(f"# The serial protocol, version {PROTOCOL_VERSION}\n")
    assert GOLDEN["protocol_version"] == PROTOCOL_VERSION
    described = {key for row in rows("Golden frames") for key in re.findall(r"\w+", row[0])}
    assert described == set(GOLDEN) - {"protocol_version", "about"}
