# SPDX-License-Identifier: Apache-2.0
"""Progress of long calls: a bar of tqdm where it is installed and somebody watches."""
import contextlib
import sys

_wanted = None


def show_progress(on=True):
    """Shows a bar (tqdm) for long calls, or does not. Unless told, bars are shown where standard error is a terminal or
    a notebook runs."""
    global _wanted
    _wanted = on


def _shown():
    if _wanted is not None:
        return _wanted
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextlib.contextmanager
def progress(verb):
    """A function of (what, done, total) for the extension module, or None."""
    if not _shown():
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bar = None

    def told(what, done, total):
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total or None, desc=what or verb, leave=False)
        bar.total, bar.n = total or None, done
        bar.set_description(what or verb, refresh=False)
        bar.refresh()

    try:
        yield told
    finally:
        if bar is not None:
            bar.close()
