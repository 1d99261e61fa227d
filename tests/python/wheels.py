# SPDX-License-Identifier: Apache-2.0
"""Makes the wheels and tries them in empty environments: the package alone, then with the window, on the Qt of PyPI.
Prints sizes and seconds. Needs PyPI.

usage: wheels.py BUILD [--cuda]: a build folder that holds the program; with --cuda also kvlab-cuda, 0.7 GB to install"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).parents[2]
ALONE = """
import kvlab
with kvlab.open("demo") as s:
    s.prompt("Anna has a red ball . Where is the")
    print(s.step(8)[-1]["ok"], len(s.rows(1).to_pandas()), s.rows_array(1)[0].shape)
    try:
        s.evict(99, [0])
    except kvlab.Error as error:
        print(error.code)
"""
POLICY = """
import kvlab
@kvlab.policy
class Newest:
    "The newest rows."
    def score(self, rows):
        return -rows.age
"""
PICTURE = 'const s = lab.open(); s.prompt("a red ball"); s.step(2); view.screenshot("window", "w.png");'


def timed(words, **options):
    """Runs a command without the environment of this program, but for where pip finds packages."""
    environment = {name: os.environ[name] for name in os.environ if re.match("(?i)(https?_|no_)proxy$|pip_|ssl_", name)}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": options["cwd"], "LANG": "C.UTF-8", **options.pop("more", {})}
    begin = time.monotonic()
    done = subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True, **options)
    print(f"{time.monotonic() - begin:6.1f} s  {' '.join(map(str, words))[:90]!r}")
    return done


def expect(done, code, *patterns):
    said = done.stdout + done.stderr
    if done.returncode != code or not all(re.search(one, said, re.MULTILINE) for one in patterns):
        sys.exit(f"exit {done.returncode}, expected {code} and {patterns}:\n{said[-4000:]}")


def holds(wheel, wanted, unwanted, licences=(r"\.dist-info/licenses/libhwy1\.txt$",)):
    """Wheels have the files that they need, with licences, and no others."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        programs = [one.filename for one in packed.infolist() if one.filename.endswith("/bin/kvlab")]
        assert all(packed.getinfo(one).external_attr >> 16 & 0o111 for one in programs), "a program that cannot be run"
    for pattern in (*wanted, r"\.dist-info/licenses/.*LICENSE$", *licences):
        assert any(re.search(pattern, name) for name in names), f"{wheel.name}: nothing matches {pattern}"
    strays = [name for name in names if re.search(unwanted, name)]
    assert not strays, f"{wheel.name}: {strays}"


def cuda(wheel, pip, kvlab, at):
    """The CUDA module finds NVIDIA's libraries in the environment, wherever the system has others."""
    holds(wheel, ["^kvlab_cuda/kvlab_cuda.so$"], r"\.libs/|__pyc", [])
    expect(timed([*pip, wheel], **at), 0)
    done = timed([kvlab, "info"], more={"LD_DEBUG": "libs"}, **at)
    expect(done, 0, "^backend cuda +(runs|not available: (no NVIDIA driver|the driver sees no CUDA device))")
    loaded = re.findall(r"calling init: (\S*lib(?:cudart|cublasLt)\S+)", done.stderr)
    inside = [one for one in loaded if os.path.realpath(one).startswith(os.path.realpath(at["cwd"]))]
    assert len(inside) >= 2 and loaded == inside, f"other libraries: {loaded}"


def main(build, *options):
    subprocess.run([ROOT / "app" / "wheel" / "build", *options, build], check=True)
    [package] = (ROOT / "build/wheels").glob("kvlab-*.whl")
    [window] = (ROOT / "build/wheels").glob("kvlab_gui-*.whl")
    shared = ["^kvlab/share/demo/model.safetensors$", "^kvlab_gui/share/kvlab/scripts/tour.js$"]
    holds(package, [r"^kvlab/_core\..*\.so$", "^kvlab/py.typed$", "/libhwy-", "nanobind.txt", shared[0]], "Qt6|__pyc")
    holds(window, ["^kvlab_gui/bin/kvlab$", "libQCustomPlotQt6", shared[1]], "libQt6|__pyc")
    with tempfile.TemporaryDirectory() as folder:
        at = {"cwd": folder}
        expect(timed([sys.executable, "-m", "venv", "v"], **at), 0)
        pip = [f"{folder}/v/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        kvlab = f"{folder}/v/bin/kvlab"
        expect(timed([*pip, f"{package}[tables]"], **at), 0)
        done = timed([f"{folder}/v/bin/python", "-c", ALONE], **at)
        expect(done, 0, r"True \d\d \(\d\d, \d+, \d+\)\nout_of_range")
        expect(timed([kvlab, "list", "policies"], **at), 0, "^h2o ")
        expect(timed([kvlab, "info"], **at), 0, "KV cache")
        expect(timed([kvlab, "run", "p.js"], **at), 2, r'pip install "kvlab\[gui\]"')
        expect(timed([*pip, window], **at), 0)
        pathlib.Path(folder, "p.js").write_text(PICTURE)
        pathlib.Path(folder, "newest.py").write_text(POLICY)
        expect(timed([kvlab, "--version"], **at), 0, r"^kvlab \d")
        done = timed([kvlab, "info", "--policy-module", "newest.py", "--policy", "newest:ratio=0.5"], **at)
        expect(done, 0, "KV cache")
        done = timed([kvlab, "run", "p.js", "--out", "out"], more={"LD_DEBUG": "libs"}, **at)
        expect(done, 0)
        assert pathlib.Path(folder, "out", "w.png").stat().st_size > 10000, "no picture"
        loaded = sorted(set(re.findall(r"calling init: (\S*libQt6\S+)", done.stderr)))
        assert loaded and all(one.startswith(os.path.realpath(folder)) for one in loaded), f"another Qt: {loaded}"
        print(f"{len(loaded)} libraries of Qt, all of the environment")
        for wheel in (ROOT / "build/wheels").glob("kvlab_cuda-*.whl"):
            cuda(wheel, pip, kvlab, at)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
