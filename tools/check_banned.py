#!/usr/bin/env python3
"""Fails on functions that the library may not call: check_banned.py [ROOT]

Under src/ nothing allocates past its account, talks, ends the process or writes past a buffer. HOMES lists the few files
that may, each with what it may. Comments and strings do not count.
"""
import pathlib
import re
import sys

BANNED = {
    "allocates past its account": "malloc calloc realloc reallocarray free strdup strndup aligned_alloc posix_memalign "
                                  "memalign valloc asprintf vasprintf getline getdelim",
    "talks": "printf vprintf fprintf vfprintf puts putchar perror dprintf vdprintf",
    "ends the process": "exit _exit _Exit quick_exit abort",
    "knows no bounds or no errors": "strcpy strcat stpcpy sprintf vsprintf gets atoi atol atoll atof strtok alloca",
}
WHY = {name: why for why, names in BANNED.items() for name in names.split()}
HOMES = {
    "src/memory/heap.c": {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign"},
}
# A name that is used, be it called or passed on; not one of a longer name, nor a member of something (x->free, x.free).
NAME = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(WHY) + r")(?!\w)")
# The names stand for something else in the declaration of a member, (*free)(...), and in __attribute__((format(printf, ...
OTHER = re.compile(r"\(\s*\*\s*\w+\s*\)|\bformat\s*\(\s*printf\b")
SKIPPED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[ \t]*include[^\n]*', re.S)


def code_only(text):
    """The text with all that is not a use of a name blanked, each line where it was."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])

    return OTHER.sub(blank, SKIPPED.sub(blank, text))


def main(root="."):
    root = pathlib.Path(root)
    n_files = n_bad = 0
    for path in sorted(p for p in (root / "src").rglob("*") if p.suffix in (".c", ".h", ".cc")):
        n_files += 1
        place = path.relative_to(root).as_posix()
        for number, line in enumerate(code_only(path.read_text()).splitlines(), 1):
            for name in NAME.findall(line):
                if name not in HOMES.get(place, ()):
                    print(f"{place}:{number}: {name} {WHY[name]}")
                    n_bad += 1
    print(f"{n_files} files, {n_bad} banned names")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
