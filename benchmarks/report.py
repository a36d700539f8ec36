"""Time a large report and its page in a browser; print one JSON line.

    python benchmarks/report.py [--runs 10] [--samples 1319] [--tokens 300]

Write synthetic runs of that size, read their records, report them in a separate process, and open
the page in a headless Chromium. Measured are the time to the first paint, and the time from a key
press to the opened sample (median and maximum of twenty across the list). Run it on an idle
machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report_runs import write_runs

from flybench.records.folder import RunFolder

OPENED = 20
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1319)
    parser.add_argument("--tokens", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        paths = write_runs(Path(scratch), options.runs, options.samples, options.tokens)
        out = Path(scratch, "report")
        line = {"benchmark": "report", **vars(options), "read_s": read(paths)}
        line |= written(paths, out)
        print(json.dumps(line | opened(out / "index.html")))
    return 0


def read(paths: list[Path]) -> float:
    """Return the seconds to read the records of all runs, as a report does."""
    gc.disable()  # as `flybench report` does
    start = time.perf_counter()
    for path in paths:
        RunFolder(path).records()
    taken = time.perf_counter() - start
    gc.enable()
    return taken


def written(paths: list[Path], out: Path) -> dict[str, float]:
    """Return the seconds and peak memory of the report, and the size of its page."""
    command = [sys.executable, "-m", "flybench", "report", *map(str, paths), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "report_s": time.perf_counter() - start,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_gb": used.ru_maxrss * 1024 / 1e9,
        "page_mb": (out / "index.html").stat().st_size / 1e6,
    }


def opened(index: Path) -> dict[str, float]:
    """Return milliseconds in the browser; empty without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(index.resolve().as_uri(), wait_until="commit")
        page.wait_for_selector("#inspector-own [role=option]", timeout=120_000)
        ready = 1000 * (time.perf_counter() - start)
        paint = page.evaluate(PAINT)
        times = [_open(page) for _ in range(OPENED)]
        browser.close()
    return {
        "first_paint_ms": paint,
        "inspector_ready_ms": ready,
        "open_ms": statistics.median(times),
        "open_longest_ms": max(times),
    }


def _open(page: Any) -> float:
    """Return the time from Enter to the focused first token of a sample further down the list."""
    page.focus("#inspector-list")
    for _ in range(7):
        page.keyboard.press("PageDown")
    page.evaluate("window.began = performance.now()")
    page.keyboard.press("Enter")
    page.wait_for_selector("#inspector-own .token:focus")
    return float(page.evaluate("performance.now() - window.began"))


if __name__ == "__main__":
    sys.exit(main())
