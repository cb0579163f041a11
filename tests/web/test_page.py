"""The page in a real browser: Chromium with its driver, started here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import cfxc
from tests.web.pages import SCRIPT, STARTS, Served, wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no browser: apt-get install chromium chromium-driver",
)
WIDE, NARROW = (1280, 900), (390, 844)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


class Page:
    """One browser with the page open."""

    def __init__(self, address: str, downloads: Path, size: tuple[int, int] = WIDE) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--window-size={size[0]},{size[1]}"):
            options.add_argument(flag)
        options.add_experimental_option(
            "prefs",
            {"download.default_directory": str(downloads), "download.prompt_for_download": False},
        )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.downloads = downloads
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
        width, height = size  # windows are no narrower than 500
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get(address)
        wait_for(lambda: self("#question").get_attribute("data-ready"), 30)
        wait_for(lambda: self("#now").text not in ("", "…"), 30)

    def __call__(self, selector: str) -> Any:
        """The first element."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(self(selector).text)

    def value(self, label: str) -> Any:
        """The field of a feature."""
        return self(f"#{self.label(label).get_attribute('for')}")

    def label(self, text: str) -> Any:
        return next(each for each in self.all(".feature label") if text in each.text)

    def choose(self, selector: str, value: str) -> None:
        Select(self(selector)).select_by_value(value)

    def type(self, field: Any, text: str) -> None:
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)

    def pick(self, row: int) -> None:
        self.type(self("#row"), f"{row}")
        self("#row").send_keys(Keys.TAB)

    def refused(self) -> None:
        """Ask for ``yes``, of the first row whose outcome is ``no``."""
        self.choose("#target", "yes")
        self.choose("#only", "no")
        wait_for(lambda: self.text("#now") == "no")

    def find(self) -> str:
        """The status after a search."""
        self("#find").click()
        wait_for(lambda: self("#answer").get_attribute("aria-busy") == "false", STARTS)
        return self.text("#status")

    def save(self, name: str) -> Path:
        """A file that was downloaded."""
        kind, before = f"{Path(name).stem}*{Path(name).suffix}", set(self.downloads.iterdir())
        self(f"[data-save='{name}']").click()
        new = lambda: set(self.downloads.glob(kind)) - before  # noqa: E731
        wait_for(lambda: new() or self.all(".downloads .error:not([hidden])"), 60)
        return new().pop()

    def complaints(self) -> list[str]:
        """What the browser complained of: scripts that were refused, errors."""
        return [
            entry["message"] for entry in self.driver.get_log("browser")
            if "422" not in entry["message"]
        ]  # fmt: skip


@pytest.fixture
def open_page(tmp_path: Path) -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def opened(server: Served, size: tuple[int, int] = WIDE) -> Page:
        folder = tmp_path / f"downloads{len(pages)}"
        folder.mkdir()
        pages.append(Page(server.address, folder, size))
        return pages[-1]

    yield opened
    for page in pages:
        page.driver.quit()


@pytest.fixture
def page(open_page: Callable[..., Page], served: Served) -> Page:
    return open_page(served)


@pytest.fixture(scope="module")
def hard(folder: Path) -> Iterator[Served]:
    server = Served(folder, "hard", "--time-limit", "30")
    yield server
    code, said = server.end()
    assert (code, "Traceback" in said) == (0, False)


def test_pick_constrain_answer_keep(page: Page) -> None:
    page.choose("#target", "yes")
    page.choose("#only", "no")
    first = int(page("#row").get_attribute("value"))
    page("#next").click()
    wait_for(lambda: int(page("#row").get_attribute("value")) > first)
    wait_for(lambda: page.text("#now") == "no")
    moves = page("select[aria-label='sector: may it change?']")
    Select(moves).select_by_value("fixed")
    assert "Done" in page.find()
    assert "proved nearest" in page.text(".verdict")
    changed = [each.text for each in page.all(".changes tbody th")]
    assert changed
    assert "sector" not in changed
    assert page.text(".changes tfoot .after") == "yes"
    assert cfxc.check(page.save("certificate.json")).ok
    assert "<html" in page.save("letter.html").read_text("utf-8")
    assert page.complaints() == []


def test_what_is_kept_says_whose_it_is(page: Page) -> None:
    page.refused()
    row = page("#row").get_property("value")
    page.find()
    assert page.text(".verdict").split("\n")[-1].startswith(f"Row {row}: ")
    told = "letter names the certificate"
    assert told in page.text(".downloads")
    assert page.save("certificate.json").name == f"certificate-row-{row}.json"
    assert told not in page.text(".downloads")
    page(".recipes summary").click()
    page(".recipes .hint button").click()
    wait_for((page.downloads / f"row-{row}.json").exists)
    assert f" --factual row-{row}.json " in page.text(".recipes pre")
    assert "stale" not in page("#answer").get_attribute("class")
    page("#next").click()
    wait_for(lambda: page("#answer").get_attribute("class") == "stale")
    assert page("#row").get_property("value") != row
    assert page.save("letter.html").name == f"letter-row-{row}.html"
    wait_for(lambda: "names no sender" in page.text(".downloads"))
    page.type(page("[data-value]"), "41")
    wait_for(lambda: page("#row").get_property("value") == "")
    page("#row").send_keys("2")  # not there yet: the click on Find loads it
    page.find()
    assert page.text(".verdict").split("\n")[-1].startswith("Row 2: ")
    page.choose("#only", "")
    assert not page("#answer").get_attribute("class")  # row 2 still
    page("#live").click()
    page.driver.execute_script(
        "const [value, row] = [document.querySelector('[data-value]'), "
        "document.getElementById('row')];"
        "value.value = 41; value.dispatchEvent(new Event('input', {bubbles: true})); row.value = 2;"
    )  # the number is typed, and not left
    wait_for(lambda: "Done" in page.text("#status") and "Row" not in page.text(".verdict"))
    assert page.save("letter.html").name == "letter.html"


@pytest.mark.parametrize("end", ["click", Keys.ENTER])
def test_a_row_is_asked_about_as_soon_as_its_number_is_typed(page: Page, end: str) -> None:
    here = int(page("#row").get_property("value"))
    for row in range(here + 1, here + 5):
        page.type(page("#row"), f"{row}")
        if end != "click":
            page("#row").send_keys(end)
            wait_for(lambda: page("#answer").get_attribute("aria-busy") == "false", STARTS)
        status = page.text("#status") if end != "click" else page.find()
        assert status.startswith("Done")
        assert page("#target").get_property("value") != page.text("#now")


@pytest.mark.parametrize("row", ["99999", "-1", "1.5", ""])
def test_of_a_row_that_is_not_there_nothing_is_shown(page: Page, row: str) -> None:
    assert page.find().startswith("Done")
    page.type(page("#row"), row)
    assert "something is wrong with the row" in page.find().lower()
    assert f"no row {row};" if row else "by its number;" in page.text("#row-error")
    assert not page.all("#found > *")
    page("#next").click()
    wait_for(lambda: not page("#row-error").is_displayed())
    assert page.find().startswith("Done")


def test_what_was_said_is_marked_once_the_question_changes(page: Page) -> None:
    page.refused()
    page.choose("#target", "no")
    assert "needs no change" in page.find()
    page.choose("#target", "yes")
    wait_for(lambda: page.text("#status").startswith("The question has changed"))
    page.find()
    page.type(page("#row"), "99999")
    page("#row").send_keys(Keys.TAB)
    wait_for(lambda: page.text("#status").startswith("The question has changed"))


def test_an_answer_stands_again_once_its_question_is_put_back(page: Page) -> None:
    page.refused()
    done = page.find()
    own = page.value("age").get_property("value")
    assert own
    for text, stale in (("41", True), (own, False), ("41", True)):
        page.type(page.value("age"), text)
        wait_for(lambda stale=stale: (page("#answer").get_attribute("class") == "stale") == stale)
        assert (page.text("#status") == done) != stale
    page.type(page.value("age"), own)
    row = page(".verdict").text.split("Row ")[1].split(":")[0]
    wait_for(lambda: page("#answer").get_attribute("class") != "stale")
    assert page("#row").get_property("value") == row
    page("#row").send_keys("777")  # not there yet, and already another one
    wait_for(lambda: page("#answer").get_attribute("class") == "stale")
    page.type(page("#row"), row)
    page("#row").send_keys(Keys.TAB)
    wait_for(lambda: page("#answer").get_attribute("class") != "stale")
    page("#next").click()  # another row, whatever its fields
    wait_for(lambda: page.text("#status").startswith("The question has changed"))


def test_an_edited_row_has_no_number(page: Page) -> None:
    page.pick(3)
    own = page.value("age").get_property("value")
    page.type(page("#row"), "99999")
    page("#row").send_keys(Keys.TAB)
    wait_for(lambda: page("#row-error").is_displayed())
    page.type(page.value("age"), "33")
    assert not page("#row-error").is_displayed()
    assert page("#row").get_property("value") == ""
    assert page.find().startswith("Done")
    page("#next").click()  # of the last row that was there
    wait_for(lambda: page("#row").get_property("value") == "4")
    page.pick(3)
    wait_for(lambda: page.value("age").get_property("value") == own)


def test_each_click_is_a_step(page: Page) -> None:
    here = int(page("#row").get_property("value"))
    page.driver.execute_script(
        "for (let i = 0; i < 3; i += 1) document.querySelector('#next').click()"
    )
    wait_for(lambda: page("#row").get_property("value") == str(here + 3))


def test_a_slider_asks_the_model(page: Page) -> None:
    page.refused()
    page.find()
    assert page.text("#try-outcome") == "yes"
    next(each for each in page.all(".what-if button") if each.text == "as now").click()
    wait_for(lambda: page.text("#try-outcome") == "no")
    page.choose("#try-more", "0")
    slider = page("input[type=range][data-try=age]")
    slider.send_keys(Keys.END)
    wait_for(lambda: page.text("#try-outcome") == "yes")
    assert slider.get_attribute("value") == slider.get_attribute("max")


def test_infeasible_says_why(page: Page) -> None:
    page.refused()
    for select in page.all("select[aria-label$='may it change?']"):
        Select(select).select_by_value("fixed")
    page.find()
    assert "none exists" in page.text(".verdict")
    assert any("may not change" in rule.text for rule in page.all(".rules li"))
    assert "there is one" in page.text(".relaxed")
    assert page.all(".changes tbody tr")


@pytest.mark.parametrize("text", ["old", "", "900", "1e999"])
def test_bad_input_is_told_beside_the_field(page: Page, text: str) -> None:
    age = page.value("age")
    page.type(age, text)
    wait_for(lambda: age.get_attribute("aria-invalid") == "true", 30)
    page.find()
    assert "see beside" in page.text("#status")
    told = page(f"#{age.get_attribute('id')}-error")
    assert told.is_displayed()
    assert "age" in told.text
    assert page.driver.switch_to.active_element == age
    page.type(age, "40")
    wait_for(lambda: age.get_attribute("aria-invalid") == "false", 30)
    assert not told.is_displayed()


def test_a_wrong_condition_and_a_wrong_limit_are_told(page: Page) -> None:
    more = page("details summary")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", more)
    more.click()
    page("#conditions").send_keys("ages > 3")
    assert "ages" in page.find()
    assert page("#status").get_attribute("class") == "wrong"
    page.type(page("#conditions"), "")
    page.type(page("input[aria-label='age: at least']"), "x")
    assert "see beside" in page.find()
    page.type(page("input[aria-label='age: at least']"), "")
    for wrong in ("1000", "1,5"):
        page.type(page("#seconds"), wrong)
        assert "seconds" in page.find()
    assert page("#wanted-error").is_displayed()
    page.type(page("#seconds"), "1e999999999")
    assert "seconds" in page.find()
    page.type(page("#seconds"), "10")
    page.type(page("#probability"), "2")
    assert "probability" in page.find()
    assert page("#wanted-error").is_displayed()
    page.pick(5000)
    wait_for(lambda: "no row 5000" in page.text("#row-error"))


def test_time_out_says_what_is_open(open_page: Callable[..., Page], hard: Served) -> None:
    page = open_page(hard)
    page.choose("#distance", "l1")  # the fewest changes are found at once
    page.type(page("#seconds"), "0.5")
    other = {"yes": "no", "no": "yes"}[page.text("#now")]
    page.choose("#target", other)
    page.find()
    assert re.search("not proved nearest|nothing found", page.text(".verdict"))
    assert "lies below" in page.text(".facts") or "Nothing is proved" in page.text(".facts")


def test_stop_and_edit_end_a_search(open_page: Callable[..., Page], hard: Served) -> None:
    page = open_page(hard)
    page.choose("#distance", "l1")
    page.type(page("#seconds"), "30")
    page.choose("#target", {"yes": "no", "no": "yes"}[page.text("#now")])
    page("#find").click()
    wait_for(
        lambda: "Searching," in page.text("#status") and page("#bounds").is_displayed(), STARTS
    )
    page("#stop").click()
    wait_for(lambda: page("#answer").get_attribute("aria-busy") == "false", 15)
    assert page.all(".verdict")
    page("#find").click()
    wait_for(lambda: "Searching" in page.text("#status"))
    page.choose("#count", "2")
    wait_for(lambda: "called off" in page.text("#status"))
    assert not page("#stop").is_displayed()


def test_the_end_of_a_server_that_searches_is_quiet(
    folder: Path, open_page: Callable[..., Page]
) -> None:
    server = Served(folder, "hard", "--time-limit", "30")
    page = open_page(server)
    page("#find").click()
    wait_for(lambda: page("#bounds").is_displayed(), STARTS)
    code, said = server.end()
    assert (code, said) == (0, "Ctrl-C ends it\n")


def test_two_users_have_their_own_answers(open_page: Callable[..., Page], served: Served) -> None:
    one, other = open_page(served), open_page(served, NARROW)
    one.refused()
    other.choose("#target", "no")
    other.choose("#only", "yes")
    wait_for(lambda: (one.text("#now"), other.text("#now")) == ("no", "yes"))
    for page in (one, other):
        page("#find").click()
    for page, outcome in ((one, "yes"), (other, "no")):
        wait_for(lambda page=page: page("#answer").get_attribute("aria-busy") == "false", STARTS)  # type: ignore[misc]
        assert page.text(".changes tfoot .after") == outcome
    row = json.loads(one.save("certificate.json").read_text("utf-8"))
    assert row != json.loads(other.save("certificate.json").read_text("utf-8"))


def test_several_answers_change_other_features(page: Page) -> None:
    page.refused()
    assert not page("#diversity").is_displayed()
    page.choose("#count", "2")
    assert page("#diversity").get_attribute("value") == "features"
    page.find()
    told, (first, second) = "letter names the certificates", page.all("[data-save*=certificate]")
    assert (first.text, second.text) == tuple(f"Certificate of answer {i} (JSON)" for i in (1, 2))
    one, other = page.save("certificate.json"), page.save("certificate-2.json")
    assert told not in page.text(".downloads")
    claims = [json.loads(path.read_text("utf-8"))["claim"] for path in (one, other)]
    assert claims[0] != claims[1]
    assert cfxc.check(one).ok
    assert cfxc.check(other).ok
    assert '"features"' in page("pre[aria-label='In Python']").get_attribute("textContent").replace(
        "'", '"'
    )
    page.choose("#diversity", "points")
    page.find()
    assert "--diversity points" in page("pre").get_attribute("textContent")


def test_few_changes_and_a_sure_outcome_are_asked_for(page: Page) -> None:
    page.refused()
    page.type(page("#max_changes"), "1")
    page.type(page("#probability"), "0.6")
    assert "1 change is enough" in page.find()
    page.type(page("#max_changes"), "")
    assert "Done" in page.find()


def test_live_asks_again_after_edits(page: Page) -> None:
    page.choose("#target", "yes")
    page("#live").click()
    page.type(page.value("age"), "21")
    wait_for(lambda: "Done" in page.text("#status"), 60)


def test_live_asks_for_what_is_wanted_of_the_row_at_hand(page: Page) -> None:
    page("#live").click()
    for outcome in ("no", "yes", "no"):
        page.type(page.value("age"), "old")
        wait_for(lambda: "see beside" in page.text("#status"), 60)
        page.choose("#only", outcome)
        page("#next").click()
        wait_for(lambda: page.text("#status").startswith("Done"), 60)
        assert page.text("#now") == outcome
        assert page.text(".changes tfoot .after") == page("#target").get_property("value")
        assert page("#target").get_property("value") != outcome


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_nothing_is_wider_than_the_page(
    open_page: Callable[..., Page], served: Served, size: tuple[int, int]
) -> None:
    page = open_page(served, size)
    page.refused()
    page.find()
    for details in page.all("details summary"):
        page.driver.execute_script("arguments[0].parentElement.open = true", details)
    root = "document.documentElement"
    width = page.driver.execute_script(f"return {root}.scrollWidth - {root}.clientWidth")
    assert width <= 0
    unnamed = page.driver.execute_script(
        "return [...document.querySelectorAll('input,select,textarea,button')].filter("
        "e => !e.labels.length && !e.getAttribute('aria-label') && !e.textContent.trim())"
        ".map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert page.complaints() == []


@pytest.mark.parametrize("size", [(1200, 900), (420, 900)])
def test_the_text_of_every_choice_is_shown(
    open_page: Callable[..., Page], served: Served, size: tuple[int, int]
) -> None:
    page = open_page(served, size)
    cut = page.driver.execute_script(
        "const pen = document.createElement('canvas').getContext('2d'), arrow = 36;"
        "return [...document.querySelectorAll('select')].filter(each => each.offsetParent && "
        "[...each.options].some(option => { pen.font = getComputedStyle(each).font;"
        "return pen.measureText(option.textContent).width + arrow > each.clientWidth; }))"
        ".map(each => each.outerHTML)"
    )
    assert [each for each in cut if "distance" in each or "data-value" in each] == []


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("other_payment_plans", ["other_", "payment_", "plans"]),
        ("NumberOfTimes90DaysLate", ["Number", "Of", "Times90", "Days", "Late"]),
        ("a__b", ["a__", "b"]),
        ("<b>age</b>", ["<b>age</b>"]),
    ],
)
def test_names_break_between_words(page: Page, name: str, parts: list[str]) -> None:
    broken = page.driver.execute_async_script(
        "const [name, done] = arguments; import('/static/api.js').then(api =>"
        "done(api.breakable(name).map(each => each.nodeName === 'WBR' ? null : each)))",
        name,
    )
    assert broken[::2] == parts
    assert broken[1::2] == [None] * (len(parts) - 1)


def test_hostile_names_are_shown_and_do_nothing(
    open_page: Callable[..., Page], folder: Path
) -> None:
    server = Served(folder, "hostile")
    try:
        page = open_page(server)
        now = page.text("#now")
        page.choose("#target", next(t for t in ("no", SCRIPT) if t != now))
        page.find()
        assert page.all(".verdict")
        assert SCRIPT in page.text("#features")
        assert page.driver.title == "Nearest changes"
        assert page.complaints() == []
    finally:
        assert server.end()[0] == 0


def test_without_the_key_there_is_no_page(page: Page, served: Served) -> None:
    page.driver.delete_all_cookies()
    page.driver.get(served.address.partition("?")[0])
    assert "key" in page.driver.find_element(By.TAG_NAME, "h1").text


def test_the_key_leaves_the_address(page: Page) -> None:
    assert "key" not in page.driver.current_url
    page.driver.refresh()
    wait_for(lambda: page("#question").get_attribute("data-ready"), 30)
