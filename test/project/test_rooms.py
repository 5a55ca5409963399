"""The rooms of the package: few modules in its root, a paragraph and few doors each, and nobody comes in elsewhere."""

import ast
import re

import pytest
from places import ROOT

PACKAGE = ROOT / "picker_dynamics"
ROOMS = {path.parent.name: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("*/__init__.py")}


def doors(room: str) -> set[str]:
    """The modules that its ``__all__`` names."""
    lists = [ast.literal_eval(node.value) for node in ROOMS[room].body if isinstance(node, ast.Assign)]
    return set(lists[0])


def test_the_root_is_small_and_the_rooms_are_few():
    assert len(list(PACKAGE.glob("*.py"))) <= 5 and len(ROOMS) <= 18


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_has_few_doors_that_exist(room):
    said, folder = ast.get_docstring(ROOMS[room]) or "", PACKAGE / room
    assert len(said) > 80 and "\n\n" not in said
    assert 0 < len(doors(room)) <= 30
    assert all((folder / f"{door}.py").is_file() or (folder / door / "__init__.py").is_file() for door in doors(room))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_those_that_it_says(room):
    """Some say that they import every room below: the contract on the floors sees to that."""
    (told,) = re.findall(r"Imports (.*?)[.;]", ast.get_docstring(ROOMS[room]), re.DOTALL)
    if re.search(r"(every room|all rooms) below", told):
        return
    text = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / room).rglob("*.py"))
    used = {name for name in ROOMS if re.search(rf"^ *(from|import) picker_dynamics\.{name}\b", text, re.MULTILINE)}
    assert set(re.findall(r"``(\w+)``", told)) == used - {room}


@pytest.mark.parametrize("room", ROOMS)
def test_who_comes_from_another_room_comes_by_a_door(room):
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("picker_dynamics."):
                other, *inside = node.module.split(".")[1:]
                assert other != room, f"{path}: within a room imports are relative"
                if other in ROOMS:
                    assert set(inside[:1] or [name.name for name in node.names]) <= doors(other), f"{path}:{node.lineno}"
