#!/bin/sh
# run.sh - the demo: embeds real photos with a real model, then prints the pairs that are nearest to each other.
# `make demo` calls it once everything is there.
set -eu
cd "$(dirname "$0")/.."

cache=$(tools/setup.sh where)
python=$cache/venv-test/bin/python
[ -e "$cache/venv-test/.from" ] || python=$cache/venv/bin/python

# Another cache has other photos, though they look alike: a store holds those of one.
[ "$(cat build/demo/cache 2>/dev/null)" = "$cache" ] || rm -rf build/demo
mkdir -p build/demo
printf '%s\n' "$cache" >build/demo/cache
set -- build/brimful embed -m "$cache/models/efficientnet-lite0" "$cache/photos/demo" --root "$cache/photos/demo" \
    -o build/demo/photos.db
echo "\$ $*" >&2
"$@"
echo
"$python" demo/nearest.py build/demo/photos.db
