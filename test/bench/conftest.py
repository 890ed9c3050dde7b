# SPDX-License-Identifier: MIT
"""Makes the benchmarks' runner, a package below the project's root,
importable."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT))


@pytest.fixture
def bench(tmp_path):
    """Runs a suite: bench("micro", "yield_2"); its JSON is in tmp_path."""
    def run(*args):
        return subprocess.run(
            [sys.executable, str(ROOT / "bench/run.py"), *map(str, args),
             "--build", str(BUILD), "--json", str(tmp_path / "out.json")],
            capture_output=True, text=True, timeout=120)
    return run
