"""Names from what language models say."""

import pytest

from isotherm.naming.answers import LONGEST, distinct, name_in, one_line, shortened


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Ships and Harbours", "Ships and Harbours"),
        ('  "Ships and Harbours."\n', "Ships and Harbours"),
        ("“Schiffe”", "Schiffe"),
        ("「船と海」", "船と海"),
        ("**Ships**", "Ships"),
        ("# Ships", "Ships"),
        ("- Ships", "Ships"),
        ("1. Ships", "Ships"),
        ("Name: Ships", "Ships"),
        ("**Topic name:** Ships", "Ships"),
        ("The name of the topic is: 'Ships'", "Ships"),
        ("Title = Ships", "Ships"),
        ("Here is a short name for it:\n\n**Ships**\n\nIt is about ships.", "Ships"),
        ("<think>Ships? Sea?\nHm.</think>\n\nShips", "Ships"),
        ("Ships\x00\x1b[2J\u202e at\tsea", "Ships[2J at sea"),
        ("U.S. Trade", "U.S. Trade"),
        ("C++ and C#", "C++ and C#"),
        ("3D Graphics", "3D Graphics"),
        ("Word: Origins", "Word: Origins"),
        ("می‌خواهم", "می‌خواهم"),
        (None, None),
        ("", None),
        (" \n\n ", None),
        ("...", None),
        ("\u202e\u200b", None),
        ("<think>never ends", None),
        ("This topic is about " + "ships and " * 20, None),
    ],
)
def test_name_in_an_answer(answer: str | None, name: str | None) -> None:
    assert name_in(answer) == name


def test_a_name_is_cut_at_a_word() -> None:
    name = name_in("Ships, harbours and the sea that lies between all of them, at night")
    assert name == "Ships, harbours and the sea that lies between all of them…"
    assert len(name) <= LONGEST
    assert shortened("a" * 100) == "a" * 59 + "…"
    assert shortened("a" * 60) == "a" * 60


def test_one_line() -> None:
    assert one_line("a\n\n b\u2028c\td\x7f\u00a0e") == "a b c d e"
    assert one_line("e\u0301") == "é"


def test_names_that_differ_stay() -> None:
    assert distinct({0: "Ships", 2: "Money"}, ["Games"], {}) == {0: "Ships", 2: "Money"}


def test_a_repeated_name_gets_words_that_the_others_lack() -> None:
    words = {0: ["game", "ball", "goal"], 1: ["game", "ball", "bat"], 2: ["sea"]}
    found = distinct({0: "Sports", 1: "sports", 2: "Sea"}, [], words)
    assert found == {0: "Sports (goal)", 1: "sports (bat)", 2: "Sea"}


def test_a_name_that_is_taken_gets_a_word() -> None:
    words = {0: ["sea", "ship"]}
    assert distinct({0: "The Sea"}, ["the sea", "The Sea (ship)"], words) == {0: "The Sea 2"}
    assert distinct({0: "Deep"}, ["deep"], words) == {0: "Deep (sea)"}
    assert distinct({0: "Deep"}, ["deep", "deep (sea)", "Deep (ship)"], words) == {
        0: "Deep (sea, ship)"
    }


def test_where_no_word_helps_there_are_numbers() -> None:
    words = {k: ["same"] for k in range(4)}
    found = distinct(dict.fromkeys(range(4), "Same"), ["Same 2"], words)
    assert sorted(found.values()) == ["Same 3", "Same 4", "Same 5", "Same 6"]


def test_names_stay_short_with_words_behind_them() -> None:
    names = dict.fromkeys(range(3), "a" * 60)
    found = distinct(names, [], {0: ["b" * 80], 1: ["c"], 2: []})
    assert len(set(found.values())) == 3
    assert max(map(len, found.values())) <= LONGEST
