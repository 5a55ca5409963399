"""Files that users name: what is too large, too deep, no file or never ends is one clear error, whatever its kind."""

import pytest

from picker_dynamics.errors import TEXT_MAX, ConfigurationError, DescriptionError, InputError, PickerError, shown
from picker_dynamics.files import formats
from picker_dynamics.files.formats import parse_json, parse_xml, parse_yaml, read_yaml
from picker_dynamics.files.reading import read_bytes

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9)]
)
DEEP = 1_000


def test_a_file_is_read_up_to_its_limit_and_no_further(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, "words", 100) == b"x" * 100
    with pytest.raises(ConfigurationError, match="words .*/a is too large: at most 99 bytes"):
        read_bytes(path, "words", 99, ConfigurationError)


@pytest.mark.parametrize(
    "name, said",
    [
        ("", "not a regular file"),
        ("gone", "No such file"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "null"),
        ("n" * 300, "too long"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path, name, said):
    with pytest.raises(InputError, match=said):
        read_bytes(tmp_path / name, "words", 100)


@pytest.mark.parametrize(
    "text, said",
    [
        (BOMB, f"more than {formats.ALIASES} aliases"),
        ("[" * DEEP, "recursion"),
        ("a: " + "9" * 400, "digits"),
        ("a: !!int ''", "YAML"),
        ("a: 1\na: 2", "'a' is given twice"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("\0", "special characters"),
    ],
)
def test_yaml_that_is_too_much_or_none(text, said):
    with pytest.raises(InputError, match=said) as caught:
        parse_yaml(text)
    assert len(str(caught.value)) <= TEXT_MAX + 50 and "\n" not in str(caught.value)


def test_yaml_with_aliases_and_merges_is_what_it_says(tmp_path):
    (tmp_path / "a.yaml").write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\nd: &d {<<: *a, x: 5}\ne: {<<: *d, x: 6}\n")
    a = {"x": 1, "y": 2}
    wanted = {"a": a, "b": {"x": 1, "y": 3}, "c": a, "d": {"x": 5, "y": 2}, "e": {"x": 6, "y": 2}}
    assert read_yaml(tmp_path / "a.yaml", "map") == wanted


@pytest.mark.parametrize(
    "text, said",
    [
        ("[" * DEEP, "JSON"),
        ("9" * 400, "digits"),
        ("NaN", "not a finite"),
        ("", "JSON"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' is given twice"),
    ],
)
def test_json_that_is_too_much_or_none(text, said):
    with pytest.raises(InputError, match=said):
        parse_json(text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("<a>" * 60 + "</a>" * 60, "elements within each other"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "DOCTYPE"),
        ("<a>&e;</a>", "not XML"),
        ("<a>\0</a>", "not XML"),
        ("<a" + " " * formats.XML_BYTES + "/>", "too large"),
    ],
)
def test_xml_that_is_too_much_or_none(text, said):
    with pytest.raises(DescriptionError, match=said):
        parse_xml(text, "robot", DescriptionError)


def test_texts_are_cut_and_escaped_wherever_they_come_from():
    error = PickerError("a" * 10**6 + "\x1b[2J\u202e", subject="s" * 10**6, value="v\x07" * 10**6)
    for text in (str(error), error.subject, error.value):
        assert len(text) < 5 * TEXT_MAX and text.isprintable()
    assert "(1000005 characters)" in str(error)
    assert shown("τ = 5 N·m, 20 °C …") == "τ = 5 N·m, 20 °C …"
