"""Which records of a trace led to what was chosen."""

from isotherm.anneal.trace import COOLING, COOLING_ON, HEATING, JOINED, JOINING, Record, way


def record(temperature: float, phase: str, n: int = 1) -> Record:
    return Record(temperature, 0.0, 0.0, 0.0, n, n, (), 1, 0.0, True, phase=phase)


def test_all_of_a_cooling_is_the_way() -> None:
    trace = [record(temperature, COOLING) for temperature in (4.0, 2.0, 1.0)]
    assert way(trace) == tuple(trace)


def test_what_was_heated_begins_where_the_cooling_of_another_model_ended() -> None:
    cold = [record(temperature, COOLING) for temperature in (4.0, 2.0, 1.0)]
    hot = [record(temperature, HEATING) for temperature in (1.0, 1.5)]
    assert way([*cold, *hot]) == tuple(hot)


def test_cooling_on_stands_for_what_was_tried_with_splits_from_there() -> None:
    trace = [record(temperature, COOLING, 9) for temperature in (4.0, 2.0, 1.0, 0.5)]
    on = [record(temperature, COOLING_ON, 5) for temperature in (2.0, 1.0)]
    assert way([*trace, *on]) == (trace[0], *on)


def test_what_was_joined_stands_for_its_temperature_and_what_was_tried_is_left_out() -> None:
    trace = [record(temperature, COOLING, 9) for temperature in (4.0, 2.0, 1.0)]
    tried, joined = record(2.0, JOINING, 8), record(2.0, JOINED, 7)
    assert way([*trace, tried, joined]) == (trace[0], joined, trace[2])
