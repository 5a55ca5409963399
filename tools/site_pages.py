"""Write the pages of the documentation as mkdocs takes them: ``python tools/site_pages.py FOLDER`` (``make docs`` does it).

docs/ as it is, with README.md and others beside it; a link's text that is a file's name becomes its title.  Commands come from
their parsers, Python from its docstrings: these pages are nowhere but in the site.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import re
import shutil
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import is_dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "integrations/README.md": "lerobot.md",
}
"""Pages that are not in docs/, and what they are called in the site."""

LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s#]*)(#[\w-]+)?\)")
HEADING = re.compile(r"^(#+) (.+)$", re.M)
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):\n((?:(?: {4}.*)?\n)+)", re.M)


def pages() -> dict[Path, str]:
    """Files that people write, and the name of each in the site."""
    return {path: path.name for path in sorted(ROOT.glob("docs/*.md"))} | {ROOT / path: name for path, name in OUTSIDE.items()}


def anchor(heading: str) -> str:
    """As GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")


def titles(text: str) -> dict[str, str]:
    """Anchor -> heading; '': the first."""
    headings = [found[2] for found in HEADING.finditer(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))]
    return {"": headings[0]} | {anchor(heading): heading for heading in headings}


def moved(path: Path, names: dict[Path, str]) -> str:
    """The text of a page, its links as they are in the site."""
    name = re.compile(r"(?:[\w./]*/)?\w+\.md")

    def link(found: re.Match) -> str:
        text, target, place = found[1], found[2], found[3] or ""
        there = Path(os.path.normpath(path.parent / target)) if target else path
        if there not in names:
            kept = target.startswith("https:") or there.parent == path.parent == ROOT / "docs"
            return found[0] if kept else f"[{text}]({there.name})" if there.parent == ROOT / "docs" else text
        if name.fullmatch(text):
            text = titles(there.read_text(encoding="utf-8")).get(place.removeprefix("#"), text)
        return f"[{text}]({names[there]}{place})"

    return LINK.sub(link, path.read_text(encoding="utf-8"))


def commands() -> dict[str, str]:
    """A page for each group of commands, as ``--help`` has them."""
    from picker_dynamics.commands import cli

    os.environ["COLUMNS"] = "80"

    def shown(level: int, *words: str) -> str:
        with redirect_stdout(StringIO()) as said, suppress(SystemExit):
            cli.main([*words, "--help"])
        text = said.getvalue()
        verbs = "".join(shown(level + 1, *words, verb) for verb in re.findall(r"^    ([a-z-]+)", text, re.M))
        return f"{'#' * level} picker {' '.join(words)}\n\n```text\n{text}```\n\n{verbs}"

    return {
        f"commands_{anchor(group).replace('-', '_')}.md": f"# {group}: commands\n\n" + "".join(shown(2, name) for name in names)
        for group, names in cli.GROUPS.items()
    }


def prose(text: str) -> str:
    """A docstring as Markdown: its sections as lists."""

    def section(found: re.Match) -> str:
        entries = re.split(r"\n(?= {4}\S)", found[2].rstrip())
        items = [re.sub(r"^([\w, ]+?): ", r"**\1**: ", " ".join(entry.split())) for entry in entries]
        return "\n".join([f"*{found[1]}*\n", *(f"- {item}" for item in items), ""])

    return re.sub(r"``(.+?)``", r"`\1`", SECTION.sub(section, text + "\n"))


def of_object(name: str, found: object, level: int) -> str:
    """A function, property or class: its signature and what its docstring says."""
    called = is_dataclass(found) if inspect.isclass(found) else callable(found)
    shown = f"{name}{inspect.signature(found) if called else ''}\n"
    shown = re.sub(r"'([\w\[\], |.]+)'", r"\1", shown).replace("(self, ", "(").replace("(self)", "()")
    shown = re.sub(r"<function \S+ at \w+>", "...", shown)
    if len(shown) > 90:
        shown = re.sub(r", (?=\w+:|\*)", ",\n    ", shown.replace("(", "(\n    ", 1))
    return f"{'#' * level} {name}\n\n```python\n{shown}```\n\n{prose(inspect.getdoc(found) or '')}\n"


def of_class(cls: type, name: str = "") -> str:
    """A class with its public members, as they stand in its source."""
    name = name or cls.__name__
    own = [one for base in reversed(cls.__mro__) for one in vars(base) if base.__module__.startswith("picker_dynamics")]
    public = [one for one in dict.fromkeys(own) if not one.startswith("_") and inspect.getdoc(getattr(cls, one))]
    said = [one for one in public if callable(getattr(cls, one)) or isinstance(inspect.getattr_static(cls, one), property)]
    return of_object(name, cls, 2) + "".join(of_object(one, getattr(cls, one), 3) for one in said)


def python() -> dict[str, str]:
    """The pages of ``picker_dynamics`` for scripts."""
    import picker_dynamics
    from picker_dynamics import errors
    from picker_dynamics.scripting import plan, scripted_arm

    arm = "# Python: Arm\n\n`from picker_dynamics import Arm`. SI units and radians.\n\n" + of_class(picker_dynamics.Arm)
    rest = "# Python: the rest\n\n" + of_class(picker_dynamics.Waypoint) + of_object("load", picker_dynamics.load, 2)
    rest += "".join(map(of_class, (plan.Plan, scripted_arm.Move, scripted_arm.Recorded)))
    table = "## Errors\n\nOf `picker_dynamics.errors`. `picker` ends with the code.\n\n| error | code | |\n|---|---|---|\n"
    kinds = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, errors.PickerError)]
    table += "".join(f"| `{one.__name__}` | {one.exit_code} | {prose(inspect.getdoc(one)).splitlines()[0]} |\n" for one in kinds)
    return {"python_arm.md": arm, "python.md": rest + table}


def notebook(path: Path, folder: Path) -> str:
    """A notebook with its outputs as a page; its figures are written into ``folder``."""
    parts, figures = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif picture := output["data"].get("image/png"):
                figures += 1
                name = f"{path.stem}_{figures}.png"
                (folder / name).write_bytes(base64.b64decode(picture))
                parts.append(f"![Figure {figures}]({name})")
    return "\n\n".join(parts) + "\n"


def assemble(folder: Path) -> None:
    """Write all pages and pictures into a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = pages()
    notebooks = {f"{path.stem}.md": notebook(path, folder) for path in sorted(ROOT.glob("examples/*.ipynb"))}
    texts = {name: moved(path, names) for path, name in names.items()} | commands() | python() | notebooks
    for path, text in texts.items():
        (folder / path).write_text(text, encoding="utf-8")
    for picture in [one for kind in ("png", "svg", "gif") for one in ROOT.glob(f"docs/*.{kind}")]:
        shutil.copy(picture, folder)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
