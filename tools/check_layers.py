#!/usr/bin/env python3
"""Fails on an #include of a module that was not declared to lie below: check_layers.py LAYERS [ROOT]

LAYERS is what CMake writes from the modules' declarations, a line `module: module it may include ...` each. The rules:
  src/M/ includes "M/...", "D/..." of a declared D, and "brimful/..."; nothing else in quotes, never cli/
  cli/ includes headers of its own folder and "brimful/...": what the command can do the library can
  include/brimful/ includes only "brimful/..." and the C standard library: a user needs no other header installed
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
STANDARD = {f"{name}.h" for name in (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype").split()}


def read_layers(path):
    layers = {}
    for line in pathlib.Path(path).read_text().splitlines():
        name, below = line.split(":")
        layers[name] = {name, *re.split(r"[;\s]+", below.strip())}
    return layers


def includes(path):
    """(line, '<' or '"', header) of each #include; those inside comments do not count."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda c: re.sub(r"[^\n]", " ", c[0]), path.read_text(), flags=re.S)
    for found in INCLUDE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1], found[2]


def trouble(place, kind, header, layers, root):
    """Why the file at place (a path relative to root) may not include that header, or None."""
    part, public = place.parts[0], header.startswith("brimful/")
    if public:
        return None if (root / "include" / header).exists() else f"no such public header: {header}"
    if part == "include":
        return None if kind == "<" and header in STANDARD else f"a public header may not include {header}"
    if kind == "<":
        return None
    if part == "cli":
        own = (root / place.parent / header).resolve()
        return None if own.exists() and (root / "cli").resolve() in own.parents else f"cli may not include {header}"
    module, target = place.parts[1], header.split("/")[0]
    if module not in layers:
        return f"{module} is not a declared module"
    if "/" not in header or ".." in header:
        return f'write the module: "{module}/{header}"'
    return None if target in layers[module] else f"{module} may not include {target}"


def main(layers_file, root="."):
    layers, root = read_layers(layers_file), pathlib.Path(root)
    n_files = n_bad = 0
    for part in "src", "cli", "include":
        for path in sorted(p for p in (root / part).rglob("*") if p.suffix in (".c", ".h", ".cc")):
            n_files += 1
            place = path.relative_to(root)
            for line, kind, header in includes(path):
                why = trouble(place, kind, header, layers, root)
                if why:
                    print(f"{place}:{line}: {why}")
                    n_bad += 1
    print(f"{n_files} files, {n_bad} wrong includes")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
