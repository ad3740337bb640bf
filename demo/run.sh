#!/bin/sh
# run.sh - the demo: embeds real photos with a real model, then prints the pairs that are nearest to each other.
# `make demo` calls it once everything is there.
set -eu
cd "$(dirname "$0")/.."

cache=$(tools/setup.sh where)
python=$cache/venv-test/bin/python
[ -e "$cache/venv-test/.from" ] || python=$cache/venv/bin/python

mkdir -p build/demo
set -- build/brimful embed -m "$cache/models/efficientnet-lite0" "$cache/photos/demo" -o build/demo/photos.db
echo "\$ $*"
"$@"
echo
"$python" demo/nearest.py build/demo/photos.db
