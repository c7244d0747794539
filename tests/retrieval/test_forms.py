"""Forms of a word."""

import numpy as np
import pytest

from isotherm.retrieval.forms import Families, by_form, stem


@pytest.mark.parametrize(
    "forms",
    [
        *("price prices priced pricing", "city cities", "run runs running", "stop stopped stops"),
        *("argue argues argued arguing", "agree agrees agreed", "box boxes", "church churches"),
        *("ship ships shipped shipping", "house houses", "bus buses", "virus viruses"),
        *("company companies", "file files filing filed", "fall falls falling", "bake baking"),
        *("crisis", "lens", "news", "cause causes caused causing", "use uses used using"),
    ],
)
def test_forms_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


def test_other_words_are_kept_apart() -> None:
    words = "new news crisis crises bed bedding sing singing ring red need gas size sized x an"
    for one, two in (("new", "news"), ("bed", "red"), ("sing", "s"), ("gas", "ga"), ("as", "a")):
        assert stem(one) != stem(two)
    for word in words.split():
        assert stem(word)
    for word in ("größen", "нефть", "c3", "co2s", "don't", "船"):
        assert stem(word) == word


def test_families_add_up_and_share_out() -> None:
    names, totals = ["price", "ship", "prices", "Price"], np.array([3.0, 2.0, 1.0, 0.0])
    families = Families.by_stem(names, totals)
    assert families.of.tolist() == [0, 1, 0, 0]
    assert families.head.tolist() == [0, 1]
    assert families.are_merged
    X = np.array([[1.0, 2.0, 3.0, 0.0]])
    assert (X @ families.merge).tolist() == [[4.0, 2.0]]
    spread = np.array([[4.0, 2.0]]) @ families.spread
    np.testing.assert_allclose(spread, [[3.0, 2.0, 1.0, 0.0]], atol=1e-9)
    assert by_form(names, families) == {"price": 0, "ship": 1}
    alone = Families.each(totals)
    assert not alone.are_merged
    assert (alone.merge.toarray() == np.eye(4)).all()
