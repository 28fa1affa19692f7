"""Prints the size of an image layer by layer: its files on disk, and compressed as a registry stores and sends it.

python tests/bench/image/measure.py OCI_DIRECTORY     as `buildah push IMAGE oci:OCI_DIRECTORY` writes it
"""

import gzip
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

_MB = 1_000_000


def layers(directory: Path) -> list[tuple[str, int, int]]:
    """For each layer: what made it, the bytes of its files, the bytes of its compressed blob."""
    [entry] = json.loads((directory / "index.json").read_text())["manifests"]
    manifest = _blob(directory, entry["digest"])
    history = _blob(directory, manifest["config"]["digest"])["history"]
    made = [step["created_by"] for step in history if not step.get("empty_layer")]
    return [
        (step, _unpacked(_path(directory, layer["digest"])), int(layer["size"]))
        for step, layer in zip(made, manifest["layers"], strict=True)
    ]


def _path(directory: Path, digest: str) -> Path:
    return directory / "blobs" / digest.replace(":", "/")


def _blob(directory: Path, digest: str) -> Any:
    return json.loads(_path(directory, digest).read_bytes())


def _unpacked(path: Path) -> int:
    with gzip.open(path) as data, tarfile.open(fileobj=data, mode="r|") as archive:
        return sum(member.size for member in archive)


if __name__ == "__main__":
    found = layers(Path(sys.argv[1]))
    print(f"{'files MB':>9} {'sent MB':>8}  layer")
    for step, size, sent in [*found, ("all", sum(row[1] for row in found), sum(row[2] for row in found))]:
        print(f"{size / _MB:9.1f} {sent / _MB:8.1f}  {step.removeprefix('/bin/sh -c ')[:90]}")
