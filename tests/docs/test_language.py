"""The check of language finds each habit, with its line, and nothing in plain sentences."""

import language
import pytest

CODE = '''
def path():
    """Where the scalars lie.

    Args:
        path: of the file.
        done: True if the state is the last one; of the run.
    """
'''

HABITS = {
    "noun": "The error is that of the fields.",
    "none": "The path; empty if there is none.",
    "beside": "It is written beside the series.",
    "stands": "The number stands for a time.",
    "goes on": "The run goes on.",
    "is told": "The function asks for a time.",
}


@pytest.mark.parametrize(("habit", "sentence"), HABITS.items())
def test_each_phrase_is_found_in_pages_docstrings_and_messages(habit, sentence):
    assert [p[:3] for p in language.in_page("a.md", f"\n{sentence}\n")] == [(habit, "pages", "a.md:2")]
    documented = f'"""A module.\n\n{sentence}\n"""\n'
    assert [p[:3] for p in language.in_code("a.py", documented)] == [(habit, "docstrings", "a.py:3")]
    raised = f'x = 1\nraise ValueError(f"{{x}}: {sentence}")\n'
    assert [p[:3] for p in language.in_code("a.py", raised)] == [(habit, "messages", "a.py:2")]


def test_beginnings_and_arguments_are_found_in_docstrings_and_descriptions():
    found = [p[:3] for p in language.in_code("a.py", CODE)]
    assert found == [("beginning", "docstrings", "a.py:3"), ("argument", "docstrings", "a.py:6")]
    assert [p.habit for p in language.in_code("a.py", 'f(description="whether it is kept")')] == ["argument"]
    assert [p.habit for p in language.in_code("a.py", 'def f():\n    """The log."""')] == ["fragment"]


def test_code_in_pages_and_short_strings_are_no_language():
    assert not list(language.in_page("a.md", "```\nbeside\n```\n`beside()` is a method.\n"))
    assert not list(language.in_code("a.py", 'x = "beside"'))


def test_more_places_than_allowed_fail_and_fewer_are_said():
    places = [language.Place("beside", "pages", "a.md:2", "beside it")]
    more, fewer = language.compare(places, {"beside": (0, 0, 0)})
    assert more == ["'beside' in pages: 1 places, 0 allowed; `python tests/language.py 'beside'` lists them"]
    assert not fewer
    more, fewer = language.compare(places, {"beside": (2, 0, 0)})
    assert not more
    assert fewer == ["'beside' in pages: 1 places, 2 allowed: lower the number in tests/language.py"]
    assert language.compare(places, {"beside": (1, 0, 0)}) == ([], [])


def test_every_habit_has_a_number():
    assert language.ALLOWED.keys() == {*language.PHRASES, "beginning", "argument", "fragment"}
