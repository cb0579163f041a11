"""Options and fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.sampling import left_out

GOLDEN = Path(__file__).parent / "golden"

# Tests run side by side: an OpenMP thread that waits leaves its core to them, and does not spin.
# It is read when the first library with OpenMP is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# In CI the same examples each time: what is new is looked for on people's machines.
settings.register_profile(
    "cfxc",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cfxc")

# Started in the background, a shell's jobs ignore Ctrl-C; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the golden files; review the diff"
    )
    parser.addoption(
        "--complete", action="store_true", help="try all there is, no samples (make nightly)"
    )
    parser.addoption("--sample-seed", type=int, default=0, help="what the samples are drawn with")


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--complete"):
        return "all mutants and all cases are tried"
    return f"a sample is tried, drawn with --sample-seed {config.getoption('--sample-seed')}"


@pytest.hookimpl(trylast=True)  # of what -k leaves
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--complete"):
        return
    dropped = left_out(items, config.getoption("--sample-seed"))
    config.hook.pytest_deselected(items=dropped)
    names = {item.nodeid for item in dropped}
    items[:] = [item for item in items if item.nodeid not in names]


@pytest.fixture
def step(request: pytest.FixtureRequest) -> int:
    """Every how many mutants one is tried."""
    return 1 if request.config.getoption("--complete") else 17


@pytest.fixture
def third(request: pytest.FixtureRequest) -> int:
    """Every how many hostile files of a family one is tried."""
    return 1 if request.config.getoption("--complete") else 3


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text equals the file ``tests/golden/<name>``."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"no golden file {name}: run pytest --update-golden and review it"
        assert text == path.read_bytes().decode()

    return check


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The folder that CFXC_DATA names; the test is skipped without it."""
    folder = os.environ.get("CFXC_DATA")
    if not folder:
        pytest.skip("CFXC_DATA is not set: no real data to test on")
    return Path(folder)


@pytest.fixture(scope="module")
def one_torch_thread() -> Iterator[None]:
    """Tests run side by side: torch's threads would only wait for each other."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
