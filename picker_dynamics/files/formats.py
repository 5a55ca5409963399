"""Parsers of YAML, JSON and XML, within bounds of what a hostile or damaged file can ask for."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from picker_dynamics.errors import InputError, PickerError, shown

from .reading import JSON_BYTES, XML_BYTES, YAML_BYTES, Error, read_text

ALIASES = 20
"""In a YAML file: what many of them stand for, within one another, fills the memory."""

DEPTH = 50
"""Of XML elements within elements."""

DIGITS = 18
"""Of a whole number: what 64 bits hold."""


@contextlib.contextmanager
def said(what: str, error: Error = InputError) -> Iterator[None]:
    """What the readers of YAML, JSON and XML stumble over, as one error about ``what``."""
    try:
        yield
    except PickerError:
        raise
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError) as failure:
        raise error(f"{what}: {' '.join(str(failure).split()) or type(failure).__name__}") from failure


# -- YAML ------------------------------------------------------------------------------------------------------------------


def read_yaml(path: str | Path, what: str, error: Error = InputError) -> Any:
    """Content of a YAML file; arguments and errors as for ``read_bytes``, and for what is no YAML, too deep, or too much."""
    return parse_yaml(read_text(path, what, YAML_BYTES, error), f"cannot read {what} {path}", error)


def parse_yaml(text: str, what: str = "YAML", error: Error = InputError) -> Any:
    """Content of a YAML text; a key that is given twice is an error too, where YAML silently keeps the last."""
    with said(what, error):
        return yaml.load(text, _Loader)


class _Loader(yaml.SafeLoader):
    """Counts aliases, refuses keys that are given twice, and tells numbers from text as YAML 1.2 does (section 10.3.2)."""

    aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > ALIASES:
                raise yaml.constructor.ConstructorError(None, None, f"more than {ALIASES} aliases", None)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
            seen.add(name)
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        text = str(node.value)
        if len(text) > DIGITS + 4:  # sign, prefix
            raise yaml.constructor.ConstructorError(None, None, "a number of too many digits", node.start_mark)
        return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.yaml_implicit_resolvers = {}
for _tag, _text in {
    "merge": r"<<",
    "null": r"|~|null|Null|NULL",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_text})$"), None)


# -- JSON ------------------------------------------------------------------------------------------------------------------


def read_json(path: str | Path, what: str, error: Error = InputError) -> Any:
    """Content of a JSON file; arguments and errors as for ``read_bytes``, and for what is no JSON, or too deep."""
    return parse_json(read_text(path, what, JSON_BYTES, error), f"cannot read {what} {path}", error)


def parse_json(text: str | bytes, what: str = "JSON", error: Error = InputError) -> Any:
    """Content of a JSON text; its numbers are finite, whole ones fit into 64 bits, and no key is given twice."""
    with said(what, error):
        return json.loads(text, object_pairs_hook=_object, parse_int=_whole, parse_float=_real, parse_constant=_real)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{shown(next(name for name in names if names.count(name) > 1), 40)!r} is given twice")
    return found


def _whole(text: str) -> int:
    if len(text) > DIGITS + 1:
        raise ValueError("a number of too many digits")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise ValueError(f"{shown(text, 20)} is not a finite number")
    return value


# -- XML -------------------------------------------------------------------------------------------------------------------


def parse_xml(text: str, what: str, error: Error = InputError) -> ElementTree.Element:
    """The root element of an XML text without document type: entities would be of any size.

    Raises:
        PickerError: of the class ``error``: no XML, too large, too deep.
    """
    if len(text) > XML_BYTES:
        raise error(
            f"{what} is too large: {len(text)} characters, at most {XML_BYTES} are taken", value=len(text), limit=XML_BYTES
        )
    try:
        if "<!DOCTYPE" in text:
            raise ValueError("a document type (<!DOCTYPE) is not taken")
        root = ElementTree.fromstring(text.lstrip("\ufeff \t\r\n"))
        level = [root]
        for _ in range(DEPTH):
            level = [child for element in level for child in element]
        if level:
            raise ValueError(f"more than {DEPTH} elements within each other")
        return root
    except (ElementTree.ParseError, ValueError, LookupError) as failure:
        raise error(f"{what}: not XML: {failure}") from failure
