"""Words found in answers."""

from flybench.tasks.extract.words import contains_words


def test_words_match_whole() -> None:
    assert contains_words("It takes 4 trips.", "4")
    assert not contains_words("It takes 40 trips.", "4")
    assert contains_words("C'est MARDI !", "mardi")
    assert contains_words("first  boil\nwater", "boil water")
