"""`python -m tests.bench.load [SECONDS]`: four threads, eight clients, 50 users, a bucket and a model far away.

The bucket is fake-gcs-server behind a proxy that takes 30 ms more for a read and 60 ms more for a write; the model
thinks for a second. Printed: requests a second, latencies by kind, errors, and the memory of the worker with the
tool's processes, after a sixth of the time and at the end.
"""

import statistics
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.support.far_side import far_side
from tests.support.load import MIX, Footprint, Load, Sample, footprint
from tests.support.server import server

CLIENTS, THREADS, USERS = 8, 4, 50
SECONDS = 60.0


def main(seconds: float) -> None:
    """Print the tables."""
    with (
        tempfile.TemporaryDirectory(prefix="diffmem-load-") as folder,
        far_side(1.0, get_seconds=0.03, put_seconds=0.06) as far,
        server(Path(folder), {**far.environment, "THREADS": str(THREADS)}) as running,
    ):
        load = Load(running, USERS)
        load.prepare()
        early: list[Footprint] = []
        timer = threading.Timer(seconds / 6, lambda: early.append(footprint(running)))
        timer.start()
        samples = load.run(CLIENTS, seconds)
        timer.join()
        late = footprint(running)
    print(f"{THREADS} threads, {CLIENTS} clients, {USERS} users, {seconds:.0f} s: ", end="")
    print(f"{len(samples)} requests, {len(samples) / seconds:.1f} a second")
    _print_latencies(samples)
    _print_errors(samples)
    for when, found in ((f"at {seconds / 6:.0f} s", early[0]), (f"at {seconds:.0f} s", late)):
        print(f"memory {when:8} RSS {found.rss_kb / 1024:.0f} MiB, PSS {found.pss_kb / 1024:.0f} MiB, ", end="")
        print(f"{found.threads} threads, {found.files} files")


def _print_latencies(samples: Sequence[Sample]) -> None:
    print(f"\n{'milliseconds':16}{'count':>7}{'p50':>7}{'p95':>7}{'p99':>7}{'most':>7}")
    for kind in (*MIX, "all"):
        found = sorted(sample.seconds * 1000 for sample in samples if kind in (sample.kind, "all"))
        if len(found) < 2:
            continue
        cuts = statistics.quantiles(found, n=100, method="inclusive")
        print(f"{kind:16}{len(found):7}{cuts[49]:7.0f}{cuts[94]:7.0f}{cuts[98]:7.0f}{found[-1]:7.0f}")


def _print_errors(samples: Sequence[Sample]) -> None:
    errors = [sample for sample in samples if sample.status >= 400]
    degraded = sum(sample.answer.get("degraded") is True for sample in samples)
    pending = sum(sample.answer.get("pending") is True for sample in samples if sample.kind == "remember")
    print(f"\n{len(errors)} errors, {degraded} degraded answers, {pending} sessions left pending")
    for sample in errors[:5]:
        print(f"  {sample.kind}: {sample.status} {sample.answer.get('detail')}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
