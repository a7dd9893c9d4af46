#!/usr/bin/env bash
# bash fuzz/asan.sh [seconds]     the JavaScript tests, then the fuzzer, with AddressSanitizer
#
# Linux on x86-64, a nightly toolchain and the run-time library of GCC's or clang's sanitizer (Debian:
# libasan8; ASAN_RUNTIME names another). What Node.js itself allocates is not instrumented, but comes
# from the sanitizer's allocator: a read or a write of ours next to an ArrayBuffer is seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-120}
target=x86_64-unknown-linux-gnu
runtime=${ASAN_RUNTIME:-$(gcc -print-file-name=libasan.so)}
[ -e "$runtime" ] || { echo "no run-time library of the sanitizer: install one, or set ASAN_RUNTIME"; exit 1; }

RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
  CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=1 \
  cargo +nightly build --release --locked --target "$target" --target-dir target/asan
addon=$PWD/target/asan/msgpack-rs.asan.node
cp "target/asan/$target/release/libmsgpack_rs.so" "$addon"

# An allocation that is refused is an error in JavaScript; Node.js frees little at its end; what is
# freed is kept apart for a while, but not so much of it that the tests of memory see that.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0:abort_on_error=1:quarantine_size_mb=8
export NAPI_RS_NATIVE_LIBRARY_PATH=$addon

with_asan() { LD_PRELOAD=$(realpath "$runtime") "$@"; }

with_asan node -e '
  require("./index.js").pack(1);
  const maps = require("node:fs").readFileSync("/proc/self/maps", "utf8");
  if (!maps.includes("msgpack-rs.asan.node") || !/asan.*\.so/.test(maps)) {
    throw new Error("the instrumented addon was not loaded");
  }'

# What measures memory or time, needs a server, or has the loader find a binary says nothing here; and
# what unwinds on a stack that was made for deep texts is taken for a fault
# (https://github.com/google/sanitizers/issues/189).
tests=()
for file in __test__/*.test.mjs; do
  case $file in
    */addon.* | */memory.* | */mqtt.* | */redis-cache.*) ;;
    */pool.* | */transcode-from-json.*) ;;
    *) tests+=("$file") ;;
  esac
done
# By one at a time: under the sanitizer a process takes a multiple of its memory.
with_asan node --test --test-concurrency=1 "${tests[@]}"
with_asan node fuzz/js/run.mjs --seconds "$seconds"
echo "nothing found with AddressSanitizer"
