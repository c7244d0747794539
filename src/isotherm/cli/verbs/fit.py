"""`isotherm fit`: the topics of documents, kept in a run."""

from __future__ import annotations

import argparse
import math
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console, documents, explorer, models, report, runs
from isotherm.cli.counting import check_words, count_source, read_as, stem, summary_line
from isotherm.cli.options import as_json, saved, settings_of
from isotherm.cli.parser import Parser
from isotherm.cli.runs import READ, Run, topics_of
from isotherm.cli.suggest import check_folder, existing
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.anneal.stages import Stages
    from isotherm.cli.documents import Documents
    from isotherm.data.counts import Counts
    from isotherm.estimators.counts import CountEstimator

# Share of the budget that a fit is given: the rest is for stages and checkpoints.
FOR_BLOCKS = 0.8


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm fit articles.jsonl --min-df 5",
        "isotherm fit articles.counts --topics 20 --seed 1 -o twenty.run",
        "isotherm fit articles.counts --resume",
    )
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="documents, a file of counts, or a run"
    )


def run(options: argparse.Namespace) -> int:
    """Count if need be, fit, and keep the run; 130 if the fit was interrupted."""
    begin = time.perf_counter()
    final = options.out or Path(stem(options.source) + runs.ENDING)
    with ExitStack() as held:
        run = _to_resume(options, final, held) if options.resume else None
        if run is not None and run.finished and not run.checkpoint.exists():
            console.note(f"{final} is done; there is nothing to go on with")
            if run.folder != final:  # it was killed right before its folder got its name
                run = _give_name(run, final)
        else:
            run = _fit(options, run or _begin(options, final, held), final)
    _report(options, run, begin)
    if run.about["interrupted"]:
        console.note(f"interrupted; {final} has the best model so far, and --resume goes on")
        return 130
    return 0


# Where a fit begins -------------------------------------------------------------------------------


def _begin(options: argparse.Namespace, final: Path, held: ExitStack) -> Run:
    """A new run, with counts and documents."""
    source = existing(options.source, "documents or counts")
    _check_place(options, source)
    settings = models.chosen(settings_of(options, saved("fit")), options.given)
    models.check(settings)
    work = runs.unfinished(final)
    check_folder(final)
    runs.check_final(final, force=options.force)
    runs.check_work(work)
    if runs.is_run(work) and not options.force:
        raise IsothermError(
            f"a fit of {runs.read(work).about['source']} was left unfinished in {work}; go on with "
            "it by --resume, or give --force to begin anew"
        )
    _left_by_others(work)
    counts, docs, known = _read(options, source, final, held)
    read = known.pop(READ, [])
    settings.update(known)
    for column in (options.labels, options.supervise):
        docs.labels(column)
    runs.check_work(work)  # much may have happened since
    if _left_by_others(work):
        runs.remove(work)
    runs.mark(work, replaces=options.force)
    held.enter_context(runs.holding(work))
    try:
        return runs.create(final, source, settings, counts, docs).record({READ: read})
    except BaseException:
        runs.remove(work)
        raise


def _check_place(options: argparse.Namespace, source: Path) -> None:
    if options.memory is not None and not runs.is_archive(source):
        raise IsothermError(
            f"--memory with {source}, which is no file of counts; count first: isotherm count "
            f"{source}"
        )
    if options.scheduler is not None and options.supervise is not None:
        raise IsothermError(
            "--scheduler with --supervise; models of linked documents are fitted in one process: "
            "leave one of them out"
        )


def _left_by_others(work: Path) -> bool:
    """Whether there is a folder that nobody is at work in; an error if somebody is."""
    if not work.is_dir():
        return False
    with runs.holding(work):
        return True


def _read(
    options: argparse.Namespace, source: Path, final: Path, held: ExitStack
) -> tuple[Counts, Documents, dict[str, object]]:
    """Counts and documents of a run, of a file of counts, or of what is yet to be counted.

    Last come the settings by which they were counted, as far as they are known.
    """
    if runs.is_run(source):
        other = runs.open_run(source)
        return other.counts, other.documents, _counting(other.settings)
    if runs.is_archive(source):
        return _read_counts(options, source, final, held)
    ingestion = count_source(source, options)
    check_words(ingestion, source)
    if not options.json:
        print(f"{source}: {summary_line(ingestion)}\n{read_as(ingestion)}", flush=True)
    docs = documents.of_ingestion(ingestion, settings_of(options, saved("count")))
    return ingestion.counts, docs, {READ: [one.lines(None)[0] for one in ingestion.read]}


def _read_counts(
    options: argparse.Namespace, source: Path, final: Path, held: ExitStack
) -> tuple[Counts, Documents, dict[str, object]]:
    from isotherm.data.counts import Counts

    vain = sorted(options.typed.intersection(one.name for one in saved("count")))
    if vain:
        raise IsothermError(
            f"{source} is counted already, so --{vain[0].replace('_', '-')} comes too late; leave "
            "it out, or count again with isotherm count"
        )
    if options.memory is not None:
        return _stored(options, source, final, held)
    counts = Counts.load(source)
    docs = documents.read(documents.beside(source), counts)
    return counts, docs, docs.counting or {}


def _stored(
    options: argparse.Namespace, source: Path, final: Path, held: ExitStack
) -> tuple[Any, Documents, dict[str, object]]:
    """The same, with counts in a folder: they are never in memory as a whole."""
    from isotherm.data.stored import StoredCounts
    from isotherm.format.scratch import Scratch

    # Under a name that nobody has, until the folder of the run is there.
    scratch = Scratch(final.absolute().parent, f".{final.name}.stored-")
    held.callback(scratch.remove)
    folder = scratch.folder / runs.STORED
    counts: Any = StoredCounts.write(folder, source, memory=options.memory)
    docs = documents.read(documents.beside(source), counts)
    return counts, docs, docs.counting or {}


def _counting(settings: dict[str, object]) -> dict[str, object]:
    """The settings of counting among those of a run."""
    return {one.name: settings[one.name] for one in saved("count")}


def _to_resume(options: argparse.Namespace, final: Path, held: ExitStack) -> Run | None:
    """The run to go on with; None if there is none, and the fit begins."""
    work = runs.unfinished(final)
    folder = work if runs.is_run(work) else final
    if not runs.is_run(folder):
        return None
    held.enter_context(runs.holding(folder))
    run = runs.read(folder)
    asked = as_json(settings_of(options, saved("fit")))
    differ = [
        f"--{name.replace('_', '-')} (was {run.settings.get(name)})"
        for name in asked
        if name in options.given and asked[name] != run.settings.get(name)
    ]
    if Path(run.about["source"]).resolve() != options.source.resolve():
        differ.insert(0, f"SOURCE (was {run.about['source']})")
    if differ:
        raise IsothermError(
            f"{run.folder} is of another fit: what differs is {', '.join(differ)}; give the "
            "same, leave options out to take those of before, or give another name with -o"
        )
    if run.folder == final and run.checkpoint.exists():
        if run.about.get("edits") and not options.force:
            raise IsothermError(
                f"the topics of {final} were edited, which going on with the fit would lose; take "
                f"the edits back by isotherm edit {final} undo, or give --force"
            )
        runs.check_work(work)
        final.rename(work)
        run = Run(work, run.about)
    elif run.folder == work:
        runs.check_final(final, force=options.force or runs.may_replace(work))
        if options.force:
            runs.mark(work, replaces=True)
    return run


# The fit ------------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace, run: Run, final: Path) -> Run:
    """The run with its model, under its own name; what fails leaves no more than a checkpoint."""
    try:
        run = run.record(_compute(options, run))
    except (KeyboardInterrupt, OSError, MemoryError):
        if run.checkpoint.exists():
            console.note(f"{run.folder} has what was done; --resume goes on with it")
        elif not run.finished:
            runs.remove(run.folder)
        raise
    except IsothermError:
        if not options.resume:
            runs.remove(run.folder)
        raise
    return runs.finish(run, final)


def _compute(options: argparse.Namespace, run: Run) -> dict[str, Any]:
    """What there is to tell of the fit, once its model is in the run."""
    from isotherm.anneal.trace import Outcome
    from isotherm.io.checkpoint import checkpointing

    begin = time.perf_counter()
    model = models.made(run.settings, options, console.quiet(options))
    stages = _watch(model)
    supervise = run.settings.get("supervise")
    known = None if supervise is None else run.documents.labels(supervise)
    counts = run.to_fit(None if options.memory is None else FOR_BLOCKS * options.memory)
    with warnings.catch_warnings():
        # What these say is said at the end, in the words of this command.
        warnings.filterwarnings("ignore", message="(fit was )?interrupted")
        with ExitStack() as held:
            held.enter_context(checkpointing(run.checkpoint, every=options.checkpoint_every))
            if known is not None:  # tables without a label have an empty text there
                model.fit(counts, [None if label == "" else label for label in known])
            elif options.scheduler is not None:
                from isotherm.placement.cluster.remote import connected

                model.fit(counts, client=held.enter_context(connected(options.scheduler)))
            else:
                model.fit(counts)
            interrupted = model.outcome_ == Outcome.INTERRUPTED.value
            _write_stages(run, stages)
            # Last: where there is a model, the fit is done. What watched it is no part of it.
            model.set_params(engine=None).save(run.folder / runs.MODEL)
    run.drop_stored()
    return {
        "interrupted": interrupted,
        "topics": len(model.weights_),
        "fit_seconds": console.seconds(begin),
        **({"edits": 0} if "edits" in run.about else {}),
        **_memory(options, model),
    }


def _watch(model: CountEstimator) -> Stages:
    """What keeps the stages that a fit comes through; models that grow do so themselves."""
    from isotherm.anneal.stages import Stages

    stages = Stages()
    if not isinstance(model.get_params()["n_components"], str):
        model.set_params(engine__callbacks=[stages])
    return stages


def _write_stages(run: Run, stages: Stages) -> None:
    """Write the stages; a fit that went on from a checkpoint has those from there on."""
    from isotherm.io.store import save

    path = run.folder / explorer.STAGES
    if stages.kept:
        save(stages, path)
    else:
        path.unlink(missing_ok=True)


def _memory(options: argparse.Namespace, model: object) -> dict[str, float]:
    """What a fit with a budget took of it, in MB, where the system tells."""
    peak = getattr(model, "peak_memory_", math.nan)
    if math.isnan(peak):
        return {}
    return {"peak_memory": round(peak, 1), "memory": options.memory}


def _give_name(run: Run, final: Path) -> Run:
    """A run that is done but for its name."""
    if "interrupted" not in run.about:
        run = run.record({"interrupted": False, "topics": len(run.model.weights_)})
    return runs.finish(run, final)


def _report(options: argparse.Namespace, run: Run, begin: float) -> None:
    model = run.model
    topics = topics_of(model, 8, "telling")
    summary: dict[str, Any] = {
        "run": str(run.folder),
        "model": type(model).__name__,
        **{name: run.about[name] for name in ("source", "documents", "words", "tokens")},
        "temperature": model.temperature_,
        "interrupted": run.about["interrupted"],
        "topics": topics,
        **report.levels(model),
        **report.perplexities(run, options),
        "seconds": console.seconds(begin),
    }
    names = ("peak_memory", "memory")
    memory: dict[str, Any] = {name: run.about[name] for name in names if name in run.about}
    summary.update(memory)
    if run.about.get(READ):
        summary[READ] = run.about[READ]
    console.tell(options, summary, report.screen(run, summary))
