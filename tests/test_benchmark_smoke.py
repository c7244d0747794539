"""The guard of the headline ratios fails when one falls, and names it."""

import pytest

from benchmarks.speed import smoke


def test_a_ratio_below_its_floor_fails_by_name() -> None:
    guards = (smoke.Guard("steady", lambda: 3.0, 2.0), smoke.Guard("fast", lambda: 1.9, 2.0))
    with pytest.raises(SystemExit, match=r"^fell below its floor: fast$") as told:
        smoke.main(guards)
    assert told.value.code not in (0, None)


def test_ratios_at_their_floors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    smoke.main((smoke.Guard("fast", lambda: 2.0, 2.0),))
    assert "pass" in capsys.readouterr().out


def test_a_ratio_that_is_no_number_fails() -> None:
    with pytest.raises(SystemExit, match="fast"):
        smoke.main((smoke.Guard("fast", lambda: float("nan"), 2.0),))


def test_the_three_headlines_are_guarded() -> None:
    assert [guard.measure for guard in smoke.GUARDS] == [
        smoke.kernel_against_nmf,
        smoke.quality_against_tomotopy,
        smoke.steadiness_against_em,
    ]
    assert all(guard.floor > 1 for guard in smoke.GUARDS)


def test_a_slower_sweep_lowers_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = smoke.kernel_against_nmf(400, 600, 8)
    sweep = smoke.common.Ours.sweep

    def slow(self: object, temperature: float) -> object:
        for _ in range(9):
            sweep(self, temperature)
        return sweep(self, temperature)

    monkeypatch.setattr(smoke.common.Ours, "sweep", slow)
    assert smoke.kernel_against_nmf(400, 600, 8) < plain / 2
