#!/bin/sh
# make_real_logs.sh - records what batches of three real models held at their peak, for tests/governor/test_memory_model.c.
# Run from the repository's root after `make`; takes the models that `tools/setup.sh models` fetched. Seconds differ from
# machine to machine, bytes with the version of ONNX Runtime and with what its kernels are chosen for.
set -eu
models=${MODELS:-$(tools/setup.sh where)/models}
record() { # NAME LAYER COUNT MEGAPIXELS
    "${BENCH_GOVERNOR_MODELS:-build/bench_governor_models}" "$models/$1/model.onnx" "$2" 2 4096 record 1 "$3" "$4" \
        >"tests/data/governor/real-$1.log"
}
record pp-ocr-v4-det sigmoid_0.tmp_0 150 4
record efficientnet-lite0 embedding 150 4
record vit-s14 output_importance 120 2
