"""How long does a large report take, and how does its page feel? Prints one JSON line.

    python benchmarks/report.py [--runs 10] [--samples 1319] [--tokens 300]

Writes made-up runs of that size, reports them in a process of its own, and opens the page in a
headless Chromium: the time to its first paint, and from a key to the opened sample (the median and
the longest of twenty, all over the list). Times hang on the machine; close what else it does.
"""

from __future__ import annotations

import argparse
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
        line = {"benchmark": "report", **vars(options), **written(paths, out)}
        print(json.dumps(line | opened(out / "index.html")))
    return 0


def written(paths: list[Path], out: Path) -> dict[str, float]:
    """Seconds and peak memory of the report, and the size of its page."""
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
    """Milliseconds in the browser; nothing where there is none."""
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
    """From Enter to the focused first token of a sample some pages further down."""
    page.focus("#inspector-list")
    for _ in range(7):
        page.keyboard.press("PageDown")
    page.evaluate("window.began = performance.now()")
    page.keyboard.press("Enter")
    page.wait_for_selector("#inspector-own .token:focus")
    return float(page.evaluate("performance.now() - window.began"))


if __name__ == "__main__":
    sys.exit(main())
