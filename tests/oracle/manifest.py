# SPDX-License-Identifier: Apache-2.0
"""MANIFEST.json of a fixture folder: versions of the makers and SHA-256 of every file. Standard library only.

    python manifest.py             verify models/ and tokenizers/ beside this file; exits 1 on any difference
"""
import hashlib
import json
import sys
from pathlib import Path

NAME = "MANIFEST.json"


def hash_tree(root):
    """Relative path -> SHA-256, for all files below root but the manifest itself."""
    return {f.relative_to(root).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest()
            for f in sorted(root.rglob("*")) if f.is_file() and f.name != NAME}


def write(root, versions):
    text = json.dumps({"versions": versions, "sha256": hash_tree(root)}, indent=1)
    (root / NAME).write_text(text + "\n")


def read(root):
    return json.loads((root / NAME).read_text())["sha256"]


def differences(root):
    """One line for each file that is changed, missing or not listed."""
    wanted, found = read(root), hash_tree(root)
    return [f"{root.name}/{name}: " + ("missing" if name not in found else "not listed" if name not in wanted else
                                       "differs from the manifest")
            for name in sorted(wanted.keys() | found.keys()) if wanted.get(name) != found.get(name)]


def main():
    here = Path(__file__).resolve().parent
    roots = sorted(f.parent for f in here.glob(f"*/{NAME}"))
    bad = [line for root in roots for line in differences(root)]
    print("\n".join(bad) if bad else f"{sum(len(read(r)) for r in roots)} files as in {len(roots)} manifests")
    return 1 if bad or not roots else 0


if __name__ == "__main__":
    sys.exit(main())
