# SPDX-License-Identifier: Apache-2.0
"""Structure checks: nothing stray at the top, includes point one way, no cycles between folders, one definition
per type, one writer of files, SPDX lines, size budget, one format, documents that exist, a manual that the window can
show, kernels whose needs are written down.

usage: lint.py ROOT; prints every finding and exits 1 if there is one."""
import collections
import fnmatch
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

TOP = {"app", "core", "kernels", "widgets", "resources", "tests", ".ci", ".clang-format",
       ".git-blame-ignore-revs", ".gitignore", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "pyproject.toml",
       "README.md"}
ROOMS = {"kernels": 0, "core": 1, "widgets": 2, "app": 3}
SOURCE = {".h", ".cpp", ".cu", ".cuh"}
SPDX = SOURCE | {".py", ".js", ".ts", ".cmake", ".sh"}
MAX_LINES = 600
MAX_FILES = 40  # files in a folder of app
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)[^;\n]*\{", re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
HASH_COMMENT = re.compile(r'#[^\n]*|""".*?"""', re.S)
DOCUMENT = re.compile(r"(?<![\w/.*-])((?:\.{1,2}/)*[\w/-]+\.md)\b")
SECTION = re.compile(r"semantics\.md,?\s*(?://[/!]?|\*|#)?\s*sections? (\d+)(?:(?:[^.;:\n]{0,20}?),? and (\d+))?")
# Whatever writes a file goes through core/api/part_file.h; journals append to a file that it has made.
WRITES = re.compile(r"\bQSaveFile\b|\bQTemporaryFile\b|\bofstream\b|\bfstream\s+\w+[({]|\bfopen\b|\bWriteOnly\b|\bReadWrite\b|"
                    r"\bO_(?:WRONLY|RDWR|CREAT)\b|\brename\(|\bmkstemp|\bsetFileName\(|"
                    r"\bsave(?:Png|Jpg|Bmp|Pdf|Rastered)\(|\bcopy_file\(|QFile::copy|[\w)\]](?:\.|->)save\((?!\)|&)")
WRITERS = {"core/api/part_file.cpp": "the writer",
           "core/files/capture.cpp": "a journal",
           "core/experiment/sweep_journal.cpp": "a journal",
           "app/plain/child_process.cpp": "the standard error of a child goes nowhere",
           "app/tools/render_icon.cpp": "runs while the program is built"}
MANUAL = pathlib.Path("resources/manual")
LEAKS = re.compile(r"\bnew\s+[\w:<>]+\s*[({][^;]*?\bKV_TRY\b|\{[^;{}()]*,\s*(?:\.\w+ = )?KV_TRY\(")


def tracked(root):
    """The project's files: those that git knows, and new ones in its folders. What else a reader of README.md leaves
    in the tree, as a script and its pictures, is the reader's."""
    def listed(*options):
        out = subprocess.run(["git", "-C", str(root), "ls-files", *options], capture_output=True, text=True)
        return out.stdout.split("\n") if out.returncode == 0 else None

    names = listed()
    if names is None:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if "build" not in p.parts]
    else:
        names += [n for n in listed("-o", "--exclude-standard") if n.split("/")[0] in TOP]
    return [pathlib.Path(n) for n in names if n and (root / n).is_file()]


def folder(path):
    return str(path.parent)


def includes(root, path):
    for name in INCLUDE.findall((root / path).read_text(errors="replace")):
        target = pathlib.Path(name)
        if (root / target).is_file():
            yield target


def check_direction(path, target, say):
    room, other = path.parts[0], target.parts[0]
    if room not in ROOMS or other not in ROOMS:
        return
    if ROOMS[other] > ROOMS[room]:
        say(f"{path}: includes {target}, which is above it")
    if room == "widgets" and other != "widgets" and target.parts[:2] != ("core", "api"):
        say(f"{path}: widgets may include core/api only, not {target}")


def check_types(path, text, types, say):
    """Two types of one name link without a word and share their templates' code."""
    for name in TYPE.findall(text):
        full = "::".join(NAMESPACE.findall(text)[:1] + [name])
        if types.setdefault(full, path) != path:
            say(f"{path}: {full} is defined in {types[full]}, too")


def check_writers(path, text, say):
    """One writer: a file is there whole or not at all, and links, devices and permissions stay."""
    if path.parts[0] not in ROOMS or path.as_posix() in WRITERS:
        return
    for number, line in enumerate(COMMENT.sub(lambda gone: "\n" * gone.group().count("\n"), text).split("\n"), 1):
        if (found := WRITES.search(line)) and not re.search(r"&buffer|buffer\.open|QDataStream", line):
            say(f"{path}:{number}: {found.group()} writes a file of its own; use core/api/part_file.h or saveFile()")


def documents_named(path, text):
    """Names of documents in a document, or in the comments of a source."""
    if path.suffix != ".md":
        style = HASH_COMMENT if path.suffix in (".py", ".cmake", ".sh") or path.name == "CMakeLists.txt" else COMMENT
        text = "\n".join(style.findall(text))
    return text, sorted(set(DOCUMENT.findall(text)))


def document_exists(name, path, known):
    """As a path from the top or from beside the file, or as a bare file name; ID and NAME stand for anything."""
    pattern = re.sub(r"\b(ID|NAME)\b", "*", name)
    here = posixpath.normpath(f"{path.parent.as_posix()}/{pattern}")
    return any(fnmatch.fnmatchcase(one, here) or fnmatch.fnmatchcase(one, pattern) or
               ("/" not in pattern and fnmatch.fnmatchcase(posixpath.basename(one), pattern)) for one in known)


def check_documents(root, texts, say):
    """Every document and section that a comment or a document cites exists."""
    known = [path.as_posix() for path in texts if path.suffix == ".md"]
    semantics = texts.get(pathlib.Path("core/semantics.md"), "")
    sections = set(re.findall(r"^## (\d+)\.", semantics, re.M))
    for path, whole in texts.items():
        text, names = documents_named(path, whole)
        for name in names:
            if not document_exists(name, path, known):
                say(f"{path}: names {name}, which does not exist")
        for numbers in SECTION.findall(text):
            for number in numbers:
                if number and number not in sections:
                    say(f"{path}: cites section {number} of semantics.md, which does not exist")


def check_manual(texts, say):
    """Readers start at index.md, and Qt's reader of Markdown loses the text behind an HTML tag."""
    index = texts.get(MANUAL / "index.md", "")
    for path, text in texts.items():
        if path.suffix != ".md" or path.parent != MANUAL:
            continue
        if path.name != "index.md" and f"({path.name})" not in index:
            say(f"{path}: index.md does not link this page")
        prose = re.sub(r"`[^`\n]*`|^    .*$|<!--.*?-->", "", text, flags=re.M)
        if tag := re.search(r"</?[a-zA-Z][^>\n]*>", prose):
            say(f"{path}: {tag.group()} is HTML, behind which Qt shows no text")


def check_format(root, paths, say):
    """Versions of clang-format differ in what they do with one style: version 14 decides."""
    tool = shutil.which("clang-format-14")
    if not tool:
        say("clang-format-14 is missing: tests/run installs it")
        return
    out = subprocess.run([tool, "--dry-run", *map(str, paths)], cwd=root, capture_output=True, text=True)
    for name in sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning:", out.stderr, re.M))):
        say(f"{name}: not formatted; run clang-format-14 -i {name}")


def find_cycle(graph):
    state, trail = {}, []

    def visit(node):
        state[node] = 1
        trail.append(node)
        for nxt in sorted(graph.get(node, ())):
            if state.get(nxt) == 1:
                return trail[trail.index(nxt):] + [nxt]
            if nxt not in state and (found := visit(nxt)):
                return found
        trail.pop()
        state[node] = 2
        return None

    for node in sorted(graph):
        if node not in state and (found := visit(node)):
            return found
    return None


def knots(graph):
    """Groups of nodes that reach each other (Tarjan 1972)."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for nxt in sorted(graph.get(node, ())):
            if nxt not in index:
                visit(nxt)
                low[node] = min(low[node], low[nxt])
            elif nxt in stack:
                low[node] = min(low[node], index[nxt])
        if low[node] == index[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            out.append(sorted(group))

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return [group for group in out if len(group) > 1]


def check_knots(root, graph, say):
    """Headers with their sources include each other in no circle but those of unit_cycles.txt, which only shrink."""
    place = pathlib.Path("tests/lint/unit_cycles.txt")
    lines = (root / place).read_text().split("\n") if (root / place).exists() else []
    known = [set(line.split()) for line in lines if line and not line.startswith("#")]
    now = [set(group) for group in knots(graph)]
    for group in now:
        if not any(group <= one for one in known):
            say("units that include each other: " + " ".join(sorted(group)))
    for one in known:
        if one not in now:
            say(f"{place}: {' '.join(sorted(one))} is no longer such a group: write down what is left of it")


CONSTANT = re.compile(r"^(?:static )?const(?:expr)? [^\n]*?\b(k[A-Z]\w*)(?=\s*(?:\[|=|\{))", re.M)


def check_constants(texts, say):
    """The files of a folder are compiled together, in groups that change with the number of files: a constant outside
    functions has a name of its own there."""
    places = collections.defaultdict(set)
    for path, text in texts.items():
        if path.suffix == ".cpp" and path.parts[0] != "kernels":
            for name in CONSTANT.findall(text):
                places[path.parent, name].add(path.name)
    for (place, name), files in sorted(places.items()):
        if len(files) > 1:
            say(f"{place}: {' and '.join(sorted(files))} have a constant {name}")


KERNELS = pathlib.Path("tests/kernels/simt/kernel_resources.inc")
KERNEL = re.compile(r"__global__ void\s+(__launch_bounds__\([^()]*\)\s+)?(\w+)\(")


def check_kernels(texts, say):
    """Every CUDA kernel says how many threads a block has, so that its registers fit, and has a line in the table of
    what kernels take of a device."""
    listed = set(re.findall(r"^KVLAB_KERNEL\((\w+),", texts.get(KERNELS, ""), re.M))
    there = set()
    for path, text in texts.items():
        for bounds, name in KERNEL.findall(text) if path.is_relative_to("kernels/cuda") else ():
            there.add(name)
            if not bounds:
                say(f"{path}: {name} has no __launch_bounds__")
            if name not in listed:
                say(f"{path}: {name} is not in {KERNELS}, which cuda_resource_table.py MODULE --update writes")
    for name in sorted(listed - there):
        say(f"{KERNELS}: there is no {name}")


def main(root):
    findings, graph, units, types, sources, texts = [], {}, {}, {}, [], {}
    for path in tracked(root):
        if path.parts[0] not in TOP:
            findings.append(f"{path}: stands at the top, where only {', '.join(sorted(TOP))} belong")
        text_file = path.suffix in SPDX or path.name == "CMakeLists.txt"
        if not text_file and path.suffix not in (".md", ".inc"):
            continue
        text = texts[path] = (root / path).read_text(errors="replace")
        if not text_file:
            continue
        if "SPDX-License-Identifier" not in text[:400]:
            findings.append(f"{path}: no SPDX line")
        if path.suffix in SOURCE:
            sources.append(path)
            if text.count("\n") > MAX_LINES:
                findings.append(f"{path}: {text.count(chr(10))} lines, the limit is {MAX_LINES}")
            per_target = path.name.endswith("-inl.h")  # compiled once per instruction set
            if path.suffix == ".h" and not per_target and "#pragma once" not in text:
                findings.append(f"{path}: no #pragma once")
            if path.parts[0] in ("core", "kernels") and re.search(r"#\s*include\s+<Q[A-Za-z]", text):
                findings.append(f"{path}: Qt below widgets/")
            check_writers(path, text, findings.append)
            if leak := LEAKS.search(text):
                line = text.count("\n", 0, leak.start()) + 1
                findings.append(f"{path}:{line}: an error of KV_TRY leaves behind what new or the list has made before it; take the value first")
            if path.suffix == ".h" and path.parts[0] in ROOMS:
                check_types(path, text, types, findings.append)
            for target in includes(root, path):
                check_direction(path, target, findings.append)
                if path.parts[0] in ROOMS and folder(path) != folder(target):
                    graph.setdefault(folder(path), set()).add(folder(target))
                if path.parts[0] in ROOMS and target.suffix in SOURCE and path.with_suffix("") != target.with_suffix(""):
                    units.setdefault(path.with_suffix("").as_posix(), set()).add(target.with_suffix("").as_posix())
    check_documents(root, texts, findings.append)
    check_manual(texts, findings.append)
    check_constants(texts, findings.append)
    check_kernels(texts, findings.append)
    check_format(root, sources, findings.append)
    check_knots(root, units, findings.append)
    for place in sorted({folder(path) for path in sources if path.parts[0] == "app"}):
        if (count := sum(folder(path) == place for path in sources)) > MAX_FILES:
            findings.append(f"{place}: {count} files, the limit is {MAX_FILES}")
    if cycle := find_cycle(graph):
        findings.append("cycle between folders: " + " -> ".join(cycle))
    for finding in findings:
        print(finding)
    print(f"lint: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
