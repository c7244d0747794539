"""What the page on evaluation shows is what its examples print."""

import contextlib
import io
import re
from pathlib import Path

from isotherm import evaluate

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")


def test_examples_print_what_they_say() -> None:
    found = re.findall(
        r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    assert len(found) == 2
    for code, said in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "evaluation.md", "exec"), {})
        assert out.getvalue() == said


def test_every_measure_is_on_the_page() -> None:
    measures = set(evaluate.__all__) - {
        *("Draw", "EvaluationReport", "Matching", "Stability"),
        *("completion_halves", "heldout_log_likelihood", "mixture_densities"),
        *("match_topics", "similarities", "top_columns"),
    }
    assert [name for name in sorted(measures) if not re.search(rf"\b{name}\b", PAGE)] == []
