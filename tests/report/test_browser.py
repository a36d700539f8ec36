"""The page in a headless Chromium: what a reader can do, and that nothing else happens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from flybench.report import write_report
from tests.helpers.spelled import write_spelled

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no Chromium: apt-get install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[dev]'")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe

pytestmark = pytest.mark.slow

COUNT = 40
LIST, OWN, AR = "#inspector-list", "#inspector-own", "#inspector-ar"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two runs, the second of which does not spell its tokens."""
    path = tmp_path_factory.mktemp("browser")
    runs = [
        write_spelled(path / "one", COUNT, lose=[3, 5]),
        write_spelled(path / "two", COUNT, method="spd", spell=False),
    ]
    return write_report(runs, path / "out").as_uri()


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page; a console message, an error or a request beside the page's own fails the test."""
    scheme = getattr(request, "param", "light")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    events: list[str] = []
    opened.on("console", lambda message: events.append(message.text))
    opened.on("pageerror", lambda error: events.append(str(error)))
    opened.on("request", lambda asked: events.append(asked.url))
    opened.goto(address)
    opened.wait_for_selector(f"{OWN} [role=option]")
    yield opened
    context.close()
    assert [event for event in events if not event.startswith(("data:image/", address))] == []


def shown(page: Any) -> int:
    return int(page.locator("#inspector-count").inner_text().split()[0])


def focused(page: Any, what: str) -> str:
    return str(page.evaluate(f"document.activeElement.{what}"))


def test_first_sample_is_open(page: Any) -> None:
    assert shown(page) == 2 * COUNT
    assert page.locator("#inspector-name").inner_text() == "sums/000 · fly"
    assert page.locator(f"{AR} [role=option]").count() == 40
    assert page.locator(".token.diverged").count() >= 1


def test_filters(page: Any) -> None:
    page.locator("#inspector-flips").check()
    assert shown(page) == 2
    assert "▼ lost" in page.locator(f"{LIST} [role=option]").first.inner_text()
    page.locator("#inspector-flips").uncheck()
    page.locator("#inspector-loose").check()
    assert 0 < shown(page) < COUNT
    page.locator("#inspector-loose").uncheck()
    page.locator("#inspector-arm").select_option(index=2)
    page.locator("#inspector-category").select_option("odd")
    assert shown(page) == COUNT // 2


def test_search_in_ids_and_texts(page: Any) -> None:
    page.locator("#inspector-search").fill("SUMS/01")
    sync_api.expect(page.locator("#inspector-count")).to_have_text("20 of 80 answers")
    page.locator("#inspector-search").fill("paris")
    sync_api.expect(page.locator("#inspector-count")).to_have_text("80 of 80 answers")
    page.locator("#inspector-search").fill("nowhere at all")
    sync_api.expect(page.locator("#inspector-count")).to_have_text("0 of 80 answers")


def test_pointing_at_a_loose_token_tells_what_the_target_thought(page: Any) -> None:
    page.locator("#inspector-loose").check()
    page.locator(f"{LIST} [role=option]").first.click()
    page.locator(f"{OWN} .loose").first.hover()
    told = page.locator("#inspector-token").inner_text()
    for part in ("<b>instead</b>⟨U+202E⟩ at 50.0 %", "25.0 %, rank 2", "1.250 nats", "next 5"):
        assert part in told


def test_keyboard_alone(page: Any) -> None:
    page.locator("#inspector-search").focus()
    page.keyboard.press("Tab")
    assert focused(page, "id") == "inspector-list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".token:focus")
    assert page.locator("#inspector-name").inner_text() == "sums/001 · fly"
    page.keyboard.press("ArrowRight")
    assert (
        page.evaluate(
            "[...document.activeElement.parentElement.children].indexOf(document.activeElement)"
        )
        == 1
    )
    assert "token 1 of" in page.locator("#inspector-token").inner_text()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("n")
    assert "exact" not in focused(page, "className")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("j")
    sync_api.expect(page.locator("#inspector-name")).to_have_text("sums/002 · fly")
    page.keyboard.press("Escape")
    assert focused(page, "id") == "inspector-list"
    page.keyboard.press("End")
    active = page.locator(LIST).get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-posinset") == str(2 * COUNT)


def test_only_what_is_seen_is_drawn(page: Any) -> None:
    assert page.locator(f"{LIST} [role=option]").count() < 30


def test_what_models_wrote_is_text(page: Any) -> None:
    text = page.locator(OWN).inner_text()
    assert "</script><img src=x onerror=alert(1)>⟨U+202E⟩⟨U+200B⟩" in text
    assert page.locator("#inspector img").count() == 0


def test_a_run_that_does_not_spell_its_tokens(page: Any) -> None:
    page.locator("#inspector-arm").select_option(index=2)
    page.locator(f"{LIST} [role=option]").nth(1).click()
    page.wait_for_selector("#inspector-sample .whole")
    assert "<img src=x" in page.locator("#inspector-sample .whole").first.inner_text()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_nothing_bars_a_reader(page: Any) -> None:
    page.locator("#inspector-loose").check()
    page.locator(f"{LIST} [role=option]").first.click()
    page.locator(f"{OWN} .loose").first.focus()
    results = Axe().run(page, context="#inspector")
    assert results.response["passes"]
    found = [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]][:3])
        for violation in results.response["violations"]
    ]
    assert found == []


@pytest.mark.parametrize("page", ["dark"], indirect=True)
def test_dark_scheme(page: Any) -> None:
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(21, 24, 28)"


def test_print_shows_the_open_sample_alone(page: Any) -> None:
    page.emulate_media(media="print")
    assert not page.locator(LIST).is_visible()
    assert page.locator(OWN).is_visible()
    assert page.evaluate(f"getComputedStyle(document.querySelector('{OWN}')).maxHeight") == "none"
