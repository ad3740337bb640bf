#!/bin/sh
# check_format.sh - fails when a source is not as clang-format 14 lays it out; --fix lays it out.
# Exit 77 (skipped) where that version is not installed.
set -eu
cd "$(dirname "$0")/.."

for tool in clang-format-14 "$(tools/setup.sh where)/venv-test/bin/clang-format" clang-format ''; do
    if "${tool:-false}" --version 2>/dev/null | grep -q 'version 14\.'; then break; fi
done
if [ -z "$tool" ]; then
    echo "skipped: no clang-format 14 here (tools/setup.sh test installs it)" >&2
    exit 77
fi

how='--dry-run -Werror'
[ "${1:-}" != --fix ] || how=-i
folders=$(ls -d include src cli tests examples bench fuzz 2>/dev/null)
find $folders \( -name '*.[ch]' -o -name '*.cc' \) -print0 | xargs -0 -r "$tool" --style=file $how
