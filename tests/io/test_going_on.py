"""Every kind of fit goes on after a crash, and ends in the same bits."""

from pathlib import Path

import pytest

from support.crashes import MORE, Crash, Crashing
from support.estimators import ESTIMATORS, assert_same_fit, fitted


@pytest.mark.parametrize("name", [*ESTIMATORS, *MORE])
def test_every_fit_goes_on_to_the_bit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator, path = {**ESTIMATORS, **MORE}[name], tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        counter = Crashing(patch)
        whole = fitted(estimator, path)
    n_notes = counter.n_notes
    assert n_notes > 5
    for share in (0.02, 0.4, 0.7, 0.97):
        with monkeypatch.context() as patch:
            Crashing(patch, at=max(1, int(share * n_notes)))
            with pytest.raises(Crash):
                fitted(estimator, path)
        assert path.exists()
        with monkeypatch.context() as patch:
            rest = Crashing(patch)
            again = fitted(estimator, path)
        # What was done is not done again; the note at which it crashed is made once more.
        assert rest.n_notes <= n_notes - max(1, int(share * n_notes)) + 1
        assert_same_fit(again, whole)
        assert not path.exists()
