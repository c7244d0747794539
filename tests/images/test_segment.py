import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from isotherm import Callback, IsothermError, Segmentation, segment
from isotherm.images import files
from isotherm.images.segment import _depth, as_grey
from support.corpora import two_waves

IMAGE = two_waves()


@pytest.fixture(scope="module")
def found() -> Segmentation:
    return segment(IMAGE, 2, random_state=0)


def error_rate(labels: Any, truth: Any) -> float:
    """Share of wrong labels after the best matching."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels.ravel(), truth.ravel()), 1)
    return float(1 - table[linear_sum_assignment(-table)].sum() / labels.size)


def test_two_textures_are_told_apart(found: Segmentation) -> None:
    assert found.labels.shape == (128, 128)
    assert found.site_labels.shape == (16, 16)
    assert (found.labels[:, :64] == 0).all()
    assert (found.labels[:, 64:] == 1).all()
    assert found.areas.tolist() == [8192, 8192]
    assert repr(found) == "Segmentation(128 x 128 pixels, 16 x 16 sites, 2 segments)"


def test_parts_of_a_segmentation_belong_together(found: Segmentation) -> None:
    assert found.posterior.shape == (16, 16, 2)
    assert found.posterior.sum(axis=2) == pytest.approx(np.ones((16, 16)), abs=1e-5)
    np.testing.assert_array_equal(found.posterior.argmax(axis=2), found.site_labels)
    np.testing.assert_array_equal(found.labels[4::8, 4::8], found.site_labels)
    np.testing.assert_array_equal(found.image, IMAGE)


@pytest.mark.parametrize("seed", range(4))
def test_components_of_the_fit_are_in_the_order_of_the_segments(seed: int) -> None:
    found = segment(IMAGE, 2, n_init=1, random_state=seed)
    scores = found.counts.matrix @ np.log(np.maximum(found.fit.state.params.word_topic, 1e-30))
    assert (scores.argmax(axis=1) == found.site_labels.ravel()).mean() > 0.95
    np.testing.assert_array_equal(
        found.fit.state.rows[0].posterior.reshape(16, 16, 2), found.posterior
    )


def test_site_updates_count_every_level_and_the_smoothing(found: Segmentation) -> None:
    assert [level.n_blocks for level in found.levels] == [16, 64, 256]
    assert found.levels[0].fits[0].trace[-1].temperature == 16.0
    levels = sum(level.n_blocks * level.n_sweeps for level in found.levels)
    assert found.site_updates == levels + 256 * found.fit.n_sweeps


def test_the_same_seed_gives_the_same_segments_on_any_number_of_threads() -> None:
    noise = np.random.default_rng(0).standard_normal((96, 80))
    one, other = (segment(noise, 3, random_state=5, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.posterior, other.posterior)
    assert one.fit.trace[-1].free_energy == other.fit.trace[-1].free_energy


def test_segments_are_numbered_as_they_appear() -> None:
    turned = segment(IMAGE[:, ::-1], 2, random_state=1)
    assert turned.labels[0, 0] == 0
    assert turned.labels[0, -1] == 1
    # More segments than textures: whichever are empty come last.
    many = segment(IMAGE, 5, random_state=0)
    first = [int(np.flatnonzero(many.site_labels.ravel() == k)[0]) for k in np.unique(many.labels)]
    assert first == sorted(first)
    assert np.unique(many.labels).tolist() == list(range(len(first)))
    assert many.areas.sum() == IMAGE.size


@pytest.mark.parametrize(("shape", "step"), [((100, 131), 8), ((64, 200), 7), ((96, 96), 16)])
def test_any_size_and_step(shape: tuple[int, int], step: int) -> None:
    image = two_waves(*shape)
    found = segment(image, 2, step=step, random_state=0)
    truth = np.broadcast_to(np.arange(shape[1]) >= shape[1] // 2, shape).astype(int)
    assert found.labels.shape == shape
    # At most the sites along the border are wrong.
    assert error_rate(found.labels, truth) <= 1.01 * step / shape[1]


def test_smoothing_removes_specks() -> None:
    image = np.random.default_rng(0).standard_normal((128, 128))

    def borders(smoothing: float) -> int:
        labels = segment(image, 4, smoothing=smoothing, random_state=0).site_labels
        return int((np.diff(labels, axis=0) != 0).sum() + (np.diff(labels, axis=1) != 0).sum())

    assert borders(8.0) < 0.9 * borders(0.0)


def test_one_level_is_the_level_of_sites() -> None:
    found = segment(IMAGE, 2, n_levels=1, n_init=1, random_state=0)
    assert [level.n_blocks for level in found.levels] == [256]
    assert found.levels[0].fits[0].trace[-1].temperature == 1.0
    assert found.areas.tolist() == [8192, 8192]


def test_levels_go_up_to_the_widest_window_while_blocks_are_many() -> None:
    assert _depth((64, 64), 8, 16, None) == 4
    assert _depth((64, 64), 8, 17, None) == 3
    assert _depth((500, 500), 8, 2, None) == 4
    assert _depth((128, 128), 4, 16, None) == 5
    assert _depth((8, 8), 8, 50, None) == 1


def test_colours_are_turned_into_grey() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    grey = 0.2125 * rgb[..., 0] + 0.7154 * rgb[..., 1] + 0.0721 * rgb[..., 2]
    np.testing.assert_allclose(as_grey(rgb), grey)
    np.testing.assert_allclose(as_grey(rgb[..., :1]), rgb[..., 0])
    alpha = np.full((5, 6, 1), 255, np.uint8)
    alpha[0, 0] = 0
    veiled = as_grey(np.concatenate([rgb, alpha], axis=2))
    assert veiled[0, 0] == 255.0
    np.testing.assert_allclose(veiled.ravel()[1:], grey.ravel()[1:])
    half = np.full((5, 6, 2), 0.5)
    assert as_grey(half)[0, 0] == 0.75
    assert as_grey([[True, False]]).tolist() == [[1.0, 0.0]]


def test_a_file_is_read(tmp_path: Path, found: Segmentation) -> None:
    pixels = np.uint8(np.clip(100 + 60 * IMAGE, 0, 255))
    path = files.write_image(tmp_path / "waves.png", np.repeat(pixels[:, :, None], 3, axis=2))
    read = segment(str(path), 2, random_state=0)
    np.testing.assert_array_equal(read.labels, found.labels)


def test_overlay_is_tinted_with_black_borders(found: Segmentation, tmp_path: Path) -> None:
    picture = found.overlay()
    assert picture.shape == (128, 128, 3)
    assert picture.dtype == np.uint8
    assert (picture[:, 63] == 0).all()
    black = (picture == 0).all(axis=2)
    assert black.sum() == 128
    left, right = picture[:, :63].mean(axis=(0, 1)), picture[:, 64:].mean(axis=(0, 1))
    assert np.abs(left - right).max() > 40
    path = found.save_overlay(tmp_path / "overlay.png")
    np.testing.assert_array_equal(files.read_image(path), picture)


def test_plot_shows_image_and_overlay(found: Segmentation) -> None:
    figure = found.plot()
    left, right = figure.axes
    np.testing.assert_array_equal(left.images[0].get_array(), IMAGE)
    np.testing.assert_array_equal(right.images[0].get_array(), found.overlay())
    assert right.get_title() == "2 segments"


def test_callbacks_hear_every_run() -> None:
    class Runs(Callback):
        n = 0

        def on_begin(self) -> None:
            self.n += 1

    heard = Runs()
    segment(IMAGE, 2, n_init=3, callbacks=[heard], random_state=0)
    # Three starts of two runs, two finer levels, the smoothing.
    assert heard.n == 9


def spoiled() -> Any:
    image = IMAGE.copy()
    image[3, 4] = np.nan
    return image


@pytest.mark.parametrize(
    ("image", "settings", "message"),
    [
        (np.zeros((128, 128)), {}, "nothing to segment"),
        (spoiled(), {}, "NaN or infinite"),
        (1e307 * IMAGE, {}, r"pixels of up to .*e\+307; the largest .* is 1e\+100: scale"),
        (IMAGE[:63], {}, "63 x 128 pixels.*at least 64 x 64"),
        (IMAGE[0], {}, r"shape \(128,\); give \(H, W\) grey"),
        (np.zeros((70, 70, 5)), {}, r"shape \(70, 70, 5\)"),
        (np.zeros((0, 70)), {}, r"shape \(0, 70\)"),
        (np.array([["a"]]), {}, "ndarray of type <U1; give an array of numbers"),
        (None, {}, "NoneType of type object"),
        ("no-such.png", {}, r"no-such\.png is not a file"),
        (IMAGE, {"n_segments": 257}, "n_segments=257 for 16 x 16 sites"),
        (IMAGE, {"n_segments": 1}, "n_segments=1; it must be an integer of at least 2"),
        (IMAGE, {"n_segments": 2.0}, "n_segments=2.0"),
        (IMAGE, {"step": 0}, "step=0; it must be an integer"),
        (IMAGE, {"step": 17}, "step=17; it must be at most 16"),
        (IMAGE, {"smoothing": -1}, "smoothing=-1"),
        (IMAGE, {"smoothing": np.inf}, "smoothing=inf"),
        (IMAGE, {"n_levels": 0}, "n_levels=0"),
        (IMAGE, {"n_levels": 6}, "n_levels=6 leaves 1 blocks for 2 segments"),
        (IMAGE, {"n_init": 0}, "n_init=0"),
        (IMAGE, {"n_jobs": 0}, "n_jobs=0"),
        (IMAGE, {"random_state": "x"}, "random_state='x' is no seed"),
        (IMAGE, {"callbacks": 3}, "callbacks=3"),
    ],
)
def test_what_cannot_be_segmented_is_refused(
    image: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(IsothermError, match=message):
        segment(image, **{"n_segments": 2, **settings})


def test_pixels_need_no_scikit_image() -> None:
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "import numpy as np, isotherm\n"
        "image = np.random.default_rng(0).standard_normal((64, 64))\n"
        "print(isotherm.segment(image, 2, n_init=1, random_state=0).areas.sum())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["4096"]


def test_sixteen_textures_of_the_album(shared_data: Path) -> None:
    stored = np.load(shared_data / "brodatz" / "mosaic16.npz")
    found = segment(stored["image"], 16, random_state=0)
    assert error_rate(found.labels, stored["labels"].astype(int)) < 0.06
    assert found.site_labels.shape == (64, 64)
    assert found.site_updates < 150_000
