"""A process in place of a node or a board, for tests of what runs them: ``python -m stand_in NAME BEHAVIOUR``.

Writes a line to the file that $RECORD names when it is ready and when it ends.  Behaviours: ``polite`` ends at a
signal; ``parking`` at the second; ``stubborn`` at none; ``failing`` ends by itself, with exit code 3.
"""

import os
import signal
import sys
import time

from picker_dynamics.lifeline import end_with_parent


def main() -> int:
    name, behaviour = sys.argv[1:3]
    heard = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: heard.append(received))
    end_with_parent()
    record(f"{name} ready {os.getpid()} {os.getpgid(0)}")
    if behaviour == "failing":
        return 3
    wanted = {"polite": 1, "parking": 2, "stubborn": 10**9}[behaviour]
    while len(heard) < wanted:
        time.sleep(0.01)
    record(f"{name} ends")
    return 0


def record(line: str) -> None:
    with open(os.environ["RECORD"], "a") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
