#!/bin/sh
# check_tidy.sh BUILD - clang-tidy 14 over src/ and cli/, with the compile_commands.json of a build folder.
# Exit 77 (skipped) where that version is not installed.
set -eu
build=$(cd "${1:?usage: check_tidy.sh BUILD}" && pwd)
cd "$(dirname "$0")/.."

for tool in clang-tidy-14 clang-tidy ''; do
    if "${tool:-false}" --version 2>/dev/null | grep -q 'version 14\.'; then break; fi
done
if [ -z "$tool" ]; then
    echo "skipped: no clang-tidy 14 here (it comes with Debian 12)" >&2
    exit 77
fi

# One file a call: with several, the analyser of this version takes va_lists of the second for uninitialised.
find src cli \( -name '*.c' -o -name '*.cc' \) -print0 | xargs -0 -r -P 2 -n 1 "$tool" -p "$build" --quiet
