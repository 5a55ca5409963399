"""Where the files of the project are, for tests of documents, examples and tools."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
