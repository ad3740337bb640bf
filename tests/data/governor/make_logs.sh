#!/bin/sh
# make_logs.sh - records what the default policy decided on simulated devices, for tests/governor/test_governor.c.
# Run from the repository's root after `make`; a changed log is a changed decision, and wants a reason.
set -eu
for job in card-24gb:20000 laptop-spill:20000 edge:2000 cloud-noisy:6000 text-quadratic:6000; do
    name=${job%:*}
    "${BENCH_GOVERNOR:-build/bench_governor}" trace knee "bench/devices/$name.json" "${job#*:}" 0 3 |
        grep -E '^(offer|ran|refused) ' >"tests/data/governor/$name.log"
done
