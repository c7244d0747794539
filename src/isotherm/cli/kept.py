"""What is kept in the folder of a run besides the fit: stages it came through, and its maps."""

from __future__ import annotations

import argparse
import hashlib
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console, runs
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.anneal.stages import Stages
    from isotherm.cli.runs import Run
    from isotherm.maps.workflow import MappedCorpus

# The seed of maps that are kept.
SEED = 0
MAP, ESTIMATOR = ".map", ".gtm"
STAGES = "stages.iso"


# Stages -------------------------------------------------------------------------------------------


def watching(model: Any) -> Stages:
    """What keeps the stages that a fit comes through; models that grow do so themselves."""
    from isotherm.anneal.stages import Stages

    stages = Stages()
    if model.get_params()["n_components"] != "auto":
        model.set_params(callbacks=[stages])
    return stages


def write_stages(run: Run, stages: Stages) -> None:
    """Write the stages; a fit that went on from a checkpoint has those from there on."""
    from isotherm.io.store import save

    path = run.folder / STAGES
    if stages.kept:
        save(stages, path)
    else:
        path.unlink(missing_ok=True)


def stages_of(found: Run) -> Stages | None:
    """The stages of a run, if they were kept."""
    from isotherm.io.store import load

    path = found.folder / STAGES
    kept: Stages | None = load(path) if path.is_file() else None
    return kept


# Maps ---------------------------------------------------------------------------------------------


def mapped(
    found: Run, dimensions: int, options: argparse.Namespace, seed: int = SEED
) -> MappedCorpus:
    """Map of a run, with the estimators that made it; without texts and labels.

    Made once, and anew when the model has changed.

    Parameters
    ----------
    found : Run
    dimensions : {2, 3}
    options : Namespace
    seed : int
        Maps of other seeds than that of maps that are kept are made and not kept.
    """
    if seed != SEED:
        return _made(found, dimensions, options, seed)
    stem = f"map{dimensions}.{_mark(found)}"
    kept = _read(found, stem)
    if kept is None:
        kept = _made(found, dimensions, options, seed)
        _keep(found, f"map{dimensions}.", stem, kept)
    return kept


def _made(found: Run, dimensions: int, options: argparse.Namespace, seed: int) -> MappedCorpus:
    from isotherm.estimators.gtm import GTM
    from isotherm.maps.workflow import map_corpus

    if len(found.model.weights_) < 2:
        raise IsothermError(
            f"{found.folder} has a single topic, which puts all documents at one place; fit with "
            "--topics 2 or more to have a map"
        )
    gtm = GTM(dimensions, random_state=seed, verbose=console.quiet(options))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        made = map_corpus(found.counts, topics=found.model, gtm=gtm, names=found.documents.titles)
    for text in dict.fromkeys(str(one.message) for one in said):
        console.note(text)  # once is enough
    return made


def _mark(found: Run) -> str:
    """What tells the model of a run from any other: a part of the name of what was made of it."""
    with (found.folder / runs.MODEL).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _read(found: Run, stem: str) -> MappedCorpus | None:
    """The map that is kept; None if there is none, or none that can be read."""
    from isotherm.estimators.gtm import GTM
    from isotherm.maps.corpus import CorpusMap
    from isotherm.maps.workflow import MappedCorpus

    paths = [found.folder / f"{stem}{ending}" for ending in (MAP, ESTIMATOR)]
    if not all(path.is_file() for path in paths):
        return None
    try:
        corpus_map, gtm = CorpusMap.load(paths[0]), GTM.load(paths[1])
    except IsothermError:
        return None
    if len(corpus_map.names) != found.counts.n_rows:
        return None
    return MappedCorpus(corpus_map, found.model, gtm)


def _keep(found: Run, begin: str, stem: str, made: MappedCorpus) -> None:
    """Write the map in place of all of its kind; if that fails, it is made anew next time."""
    try:
        # The map comes last: where it is, the other is as well.
        made.gtm.save(found.folder / f"{stem}{ESTIMATOR}")
        made.map.save(found.folder / f"{stem}{MAP}")
    except OSError as error:
        console.note(f"the map is not kept: {error.strerror or error}")
        return
    for path in _others(found.folder, begin, stem):
        with suppress(OSError):
            path.unlink()


def _others(folder: Path, begin: str, stem: str) -> list[Path]:
    # Exactly as they are named here: map2.map may be of whoever looks at the run.
    own = re.compile(rf"{re.escape(begin)}[0-9a-f]{{16}}({re.escape(MAP)}|{re.escape(ESTIMATOR)})")
    return [
        path
        for path in folder.iterdir()
        if own.fullmatch(path.name) and not path.name.startswith(stem)
    ]
