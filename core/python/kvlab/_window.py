# SPDX-License-Identifier: Apache-2.0
"""The window on a session's state: pictures of its views without a display, and the window itself as a process of its
own. The program kvlab makes both; the state reaches it as a capture, which it executes again."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

from ._errors import Error

FORMS = ("png", "svg", "pdf")
DPR = 2  # pixels of a PNG for each one of its size

# Runs in the program. An error of the program becomes the caller's.
SCRIPT = """
const asked = JSON.parse(args[0]);
try {
  lab.openCapture(asked.capture);
  view.theme(asked.theme);
  if (asked.focus) view.focus(asked.focus);
  if (asked.options) view.set(asked.view, asked.options);
  for (const form of asked.forms) view.screenshot(asked.view, "picture." + form, asked.size);
} catch (e) {
  const error = {};
  for (const key of ["code", "what", "why", "remedy", "field", "value"]) error[key] = e[key];
  lab.writeText("error.json", JSON.stringify(e.code ? error : { code: "script_error", what: String(e) }));
}
"""


class Picture:
    """A picture of a view: png, svg and pdf are the bytes of its three forms. Notebooks show it."""

    def __init__(self, size: tuple[int, int], png: bytes, svg: bytes, pdf: bytes) -> None:
        self.size, self.png, self.svg, self.pdf = size, png, svg, pdf

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the form that the suffix of the path names: .png, .svg or .pdf. The last two hold shapes and texts."""
        form = _form(path)
        try:
            pathlib.Path(path).write_bytes(getattr(self, form))
        except OSError as error:
            raise Error("io", f"the picture {path} was not written", error.strerror or str(error),
                        "choose a folder that can be written to", None, "path", os.fspath(path)) from error

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.png, {"width": self.size[0], "height": self.size[1]}

    def _repr_svg_(self) -> str:
        return self.svg.decode()

    def __repr__(self) -> str:
        return f"<kvlab.Picture of {self.size[0]}x{self.size[1]}>"


def _form(path):
    form = pathlib.Path(path).suffix[1:].lower()
    if form not in FORMS:
        why = f"no picture has the suffix .{form}" if form else "the name has no suffix"
        raise Error("bad_argument", f"no picture was written to {path}", why, "end the name with .png, .svg or .pdf",
                    None, "path", os.fspath(path))
    return form


def _program(what):
    """The path of the program, and the environment to start it in."""
    if named := os.environ.get("KVLAB"):
        return named, dict(os.environ)
    with contextlib.suppress(ImportError):
        import kvlab_gui

        return kvlab_gui.program(), kvlab_gui.environment()
    found = shutil.which("kvlab")
    if found and pathlib.Path(found).read_bytes()[:2] != b"#!":  # the command of this package has no window
        return found, dict(os.environ)
    raise Error("unsupported", what, "the program kvlab, which has the window, is not on this machine",
                'pip install "kvlab[gui]", or name the program in the environment variable KVLAB', None, "KVLAB")


def _started(what, command, **more):
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
    except OSError as error:
        raise Error("unsupported", what, f"{command[0]} did not start: {error.strerror}",
                    "name the program in the environment variable KVLAB", None, "KVLAB", command[0]) from error


def _failed(what, code, said):
    """The error of a program that ended with this code and these messages."""
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    ended = f"signal {-code} ended the program" if code < 0 else f"the program ended with code {code}"
    told = [line for line in lines if line.startswith("kvlab: error: ")] or [": ".join([ended, *lines[-1:]])]
    return Error("unsupported", what, told[0].removeprefix("kvlab: error: "), "look whether the program runs by itself")


def pictured(session, name, path, size, theme, focus, options):
    what = f"no picture of {name} was made"
    if path is not None:
        _form(path)
    program, environment = _program(what)
    environment.pop("QT_QPA_PLATFORM", None)  # it chooses the one without a display
    with tempfile.TemporaryDirectory(prefix="kvlab-") as folder:
        folder = pathlib.Path(folder)
        capture, script = folder / "session.kvcap", folder / "picture.js"
        session.save_capture(capture)
        script.write_text(SCRIPT)
        width, height = size
        asked = {"capture": os.fspath(capture), "theme": theme, "focus": focus, "options": options, "view": name,
                 "forms": FORMS, "size": {"width": width, "height": height, "dpr": DPR}}
        command = [program, "run", os.fspath(script), "--out", os.fspath(folder), "--", json.dumps(asked)]
        with _started(what, command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                said = process.communicate()[1]
            except BaseException:
                process.kill()
                raise
        error = folder / "error.json"
        if error.exists():
            raise Error(**json.loads(error.read_text()))
        if process.returncode:
            raise _failed(what, process.returncode, said)
        picture = Picture((width, height), *((folder / f"picture.{form}").read_bytes() for form in FORMS))
    if path is not None:
        picture.save(path)
    return picture


def shown(session):
    what = "the window was not opened"
    program, environment = _program(what)
    platform = environment.get("QT_QPA_PLATFORM", "")
    if platform.startswith(("offscreen", "minimal")):
        raise Error("unsupported", what, f"QT_QPA_PLATFORM is {platform}, where nobody sees windows", "leave it out")
    if not any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        raise Error("unsupported", what, "neither DISPLAY nor WAYLAND_DISPLAY is set", "view() makes pictures without a display")
    folder = tempfile.mkdtemp(prefix="kvlab-")
    try:
        capture = os.path.join(folder, f"tick {session.tick}.kvcap")
        session.save_capture(capture)
        messages = os.path.join(folder, "messages")
        with open(messages, "wb") as out:
            process = _started(what, [program, "replay", capture], env=environment, stdout=subprocess.DEVNULL, stderr=out,
                               start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            if code := process.wait(timeout=1):  # a window that cannot be opened ends at once
                raise _failed(what, code, pathlib.Path(messages).read_bytes())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def clear():
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    threading.Thread(target=clear, daemon=True).start()
    return process
