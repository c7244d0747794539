"""The linker and the page: one script, one policy, and data that cannot break out."""

import base64
import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import isotherm
from isotherm import IsothermError
from isotherm.viewer import page
from isotherm.viewer.container import unpack
from isotherm.viewer.page import link
from viewer.synthetic import synthetic

FOLDER = Path(isotherm.__file__).resolve().parent / "viewer" / "page"
SCRIPTS = sorted(FOLDER.rglob("*.js"))
# What a folder may import from: those before it.
FOLDERS = ["state", "data", "ui", "gl", "map", "panels"]
MODULES = {
    "app.js": 'import { two, half as third } from "./b.js";\nwindow.answer = two + third();\n',
    "b.js": (
        'import {\n  one,\n} from "./c.js";\n// export let in a comment is no export\n'
        "export const two = one + 1;\nfunction half() {\n  return 0.5;\n}\nexport { half };\n"
    ),
    "c.js": "export const one = 1;\nexport function f() {}\nexport class C {}\n",
    "unused.js": "export default 3;\n",
}


def named(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def test_modules_are_wrapped_in_the_order_of_their_imports() -> None:
    script = link(MODULES, "app.js")
    places = [script.index(f"const module_{name} = ") for name in ("c", "b", "app")]
    assert places == sorted(places)
    assert "unused" not in script
    assert "return { one, f, C };" in script
    assert "return { two, half };" in script
    assert "const { two, half: third } = module_b;" in script
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert script.startswith('"use strict";')


def test_a_module_that_two_import_is_there_once() -> None:
    modules = {
        "app.js": 'import { b } from "./b.js";\nimport { c } from "./c.js";\n',
        "b.js": 'import { c } from "./c.js";\nexport const b = c;\n',
        "c.js": "export const c = 1;\n",
    }
    assert link(modules, "app.js").count("const module_c =") == 1


def test_modules_stand_in_folders() -> None:
    modules = {
        "app.js": 'import { a } from "./x/y/a.js";\nimport { b } from "./x/b.js";\n',
        "x/y/a.js": 'import { b } from "../b.js";\nimport { b as c } from "../../b.js";\n'
        "export const a = b + c;\n",
        "x/b.js": "export const b = 1;\n",
        "b.js": "export const b = 2;\n",
    }
    script = link(modules, "app.js")
    places = [script.index(f"const module_{name} = ") for name in ("x$b", "b", "x$y$a", "app")]
    assert places == sorted(places)
    assert "const { b } = module_x$b;\nconst { b: c } = module_b;" in script


BAD = [
    ({"app.js": 'import { x } from "./gone.js";\n'}, "app.js imports gone.js, which is not there"),
    (
        {"app.js": 'import { x } from "./a.js";\n', "a.js": "export const y = 1;\n"},
        "app.js imports x, which a.js does not export",
    ),
    (
        {
            "app.js": 'import { a } from "./a.js";\n',
            "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
            "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n',
        },
        "import each other: app.js -> a.js -> b.js -> a.js",
    ),
    (
        {"app.js": 'import { a } from "./x/a.js";\n', "x/a.js": 'import { b } from "../b.js";\n'},
        "x/a.js imports b.js, which is not there",
    ),
    (
        {
            "app.js": 'import { a } from "./x/a.js";\n',
            "x/a.js": 'import { a as b } from "../x/a.js";\nexport const a = 1;\n',
        },
        "import each other: app.js -> x/a.js -> x/a.js",
    ),
    (
        {"app.js": 'import { x } from "../../app.js";\n'},
        "app.js imports ../../app.js, which is not there",
    ),
    ({"app.js": 'import { a } from "/a.js";\n', "a.js": ""}, "app.js has 'import"),
    ({"app.js": 'import { a } from "x/a.js";\n', "x/a.js": ""}, "app.js has 'import"),
    ({"app.js": "export const a = 1;\nexport { a };\n"}, "app.js exports a name twice"),
    ({"app.js": "export default 1;\n"}, "app.js has 'export default 1;'"),
    ({"app.js": "export let a = 1;\n"}, "app.js has 'export let a = 1;'"),
    ({"app.js": 'import a from "./a.js";\n', "a.js": ""}, "app.js has 'import a from"),
    ({"app.js": 'import "./a.js";\n', "a.js": ""}, "app.js has 'import"),
    ({"app.js": 'import * as a from "./a.js";\n', "a.js": ""}, "app.js has 'import"),
    ({"app.js": 'import { a } from "other";\n'}, "app.js has 'import"),
    ({"app.js": 'const a = import("./a.js");\n', "a.js": ""}, "app.js has 'import"),
    ({"app.js": "f(import.meta.url);\n"}, "app.js has 'import"),
    ({"app.js": 'const a = "</SCRIPT>";\n'}, "would end it early"),
    ({"app.js": 'const a = "<!--";\n'}, "would end it early"),
    (
        {"app.js": 'import { a-b } from "./a.js";\n', "a.js": "export const a = 1;\n"},
        "'a-b' in a list of names",
    ),
    ({}, "the page imports app.js, which is not there"),
]


@pytest.mark.parametrize(("modules", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_linked_is_refused(modules: dict[str, str], message: str) -> None:
    with pytest.raises(IsothermError, match=re.escape(message)):
        link(modules, "app.js")


def test_types_in_comments_may_name_modules() -> None:
    source = '/** @param {import("./b.js").T} a */\n// import("./x.js")\nexport const a = 1;\n'
    assert "export" not in link({"app.js": source}, "app.js").replace("exports", "")


# The page itself ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole() -> str:
    return page.page(synthetic(200).items(), "<b>Title</b> & more \ud800")


def inside(tag: str, text: str) -> str:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def policies(text: str) -> dict[str, str]:
    found = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert len(found) == 1
    return dict(part.strip().split(" ", 1) for part in found[0].split(";"))


def parts(text: str) -> Iterator[tuple[str, bytes]]:
    for name, body in re.findall(
        r'<script type="application/octet-stream" data-part="([^"]*)">(.*?)</script>', text
    ):
        yield name, base64.b64decode(body, validate=True)


def digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_policy_allows_the_script_and_the_style_by_hash_and_nothing_else(whole: str) -> None:
    assert policies(whole) == {
        "default-src": "'none'",
        "script-src": digest(inside("script", whole)),
        "style-src": digest(inside("style", whole)),
        "img-src": "data: blob:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_live_page_has_no_data_and_may_ask_its_server() -> None:
    text = page.page(None, "Live")
    assert list(parts(text)) == []
    assert policies(text)["connect-src"] == "'self'"
    assert page.policy(live=True) in text
    assert inside("script", text) == page.linked()


def test_points_stand_before_the_script_and_the_rest_behind_it(whole: str) -> None:
    assert [name for name, _ in parts(whole)] == ["points", "documents", "words", "texts", "index"]
    script = whole.index("<script>")
    assert whole.index('data-part="points"') < script < whole.index('data-part="documents"')


def test_parts_come_back(whole: str) -> None:
    given = synthetic(200)
    assert dict(parts(whole)) == given
    assert unpack(dict(parts(whole))["documents"]).strings["titles"][0].startswith("</script>")


def test_title_is_escaped(whole: str) -> None:
    assert f"<title>{html.escape('<b>Title</b> & more �')}</title>" in whole


def test_nothing_of_the_data_stands_in_the_page(whole: str) -> None:
    outside = re.sub(r"<script.*?</script>|<style>.*?</style>", "", whole, flags=re.DOTALL)
    for text in ("alert(1)", "onerror", "bold?", "漢字", "\x00", "\u202e"):
        assert text not in outside
    assert "alert(1)" not in whole


def test_page_needs_nothing_from_elsewhere(whole: str) -> None:
    markup = re.sub(r"<script.*?</script>", "", whole, flags=re.DOTALL)
    # An empty icon, or the browser would ask for one that the policy forbids.
    assert '<link rel="icon" href="data:,">' in markup
    markup = markup.replace('<link rel="icon" href="data:,">', "")
    assert not re.search(
        r"https?:|//[a-z]|@import|url\((?!data:)|\ssrc=|<link|<base|<iframe", markup
    )
    # Styles and handlers within tags are not run under the policy.
    assert not re.search(
        r"<[^>]*\s(style|on\w+)=", re.sub(r"<style>.*</style>", "", markup, flags=re.S)
    )


def test_first_part_must_be_points() -> None:
    with pytest.raises(IsothermError, match="the first part is 'words'"):
        page.page([("words", b"")], "x")


def test_skeleton_must_have_every_mark_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_text", lambda name: "<p>{{csp}} {{title}} {{title}}</p>")
    with pytest.raises(
        IsothermError, match=r"index.html has the marks \['csp', 'title', 'title'\]"
    ):
        page.page(None, "x")


def test_a_title_that_looks_like_a_mark_is_a_title() -> None:
    assert "<title>{{script}}</title>" in page.page(None, "{{script}}")


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_a_module_imports_from_its_own_folder_and_those_before_it(path: Path) -> None:
    folder = named(path).rpartition("/")[0]
    if not folder:
        return  # the entry may import from all
    imported = re.findall(r'^(?:import|\} from)\b.*"(.*)";$', path.read_text("utf-8"), re.MULTILINE)
    below = FOLDERS[: FOLDERS.index(folder) + 1]
    for place in imported:
        assert named((path.parent / place).resolve()).rpartition("/")[0] in below, place


def test_every_module_is_part_of_the_page() -> None:
    modules = {named(path): path.read_text("utf-8") for path in SCRIPTS}
    assert page.linked() == link(modules, page.ENTRY)
    assert page.linked().count("\nconst module_") == len(modules)


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_scripts_put_text_into_the_page_as_text_only(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    assert not re.search(banned, source)
    assert not re.search(r"""setAttribute\(\s*["']style""", source)
