#!/usr/bin/env bash
# dist.sh wheel|source MATURIN [--pgo]: writes into dist the source distribution, and the wheel built from it, or the sources with all crates they need (vendored).
# With --pgo the wheel is built from the checkout, and twice: the second time with a profile of benches/train.py (needs `rustup component add llvm-tools`).
set -euo pipefail
maturin=$(realpath "$2")
cd "$(dirname "$0")/.."

# The commit goes into the source distribution, whose wheels then name it (crates/python/build.rs).
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  trap 'rm -f COMMIT' EXIT
  dirty=$(git status --porcelain --untracked-files=no)
  echo "$(git rev-parse --short=7 HEAD)${dirty:+.dirty}" >COMMIT
fi
if [ "$1" = wheel ] && [ "${3:-}" != --pgo ]; then
  "$maturin" build --release --locked --sdist --out dist
  exit
fi

"$maturin" sdist --out dist
if [ "$1" = wheel ]; then
  "$maturin" build --release --locked --pgo --out dist
  exit
fi
name=afflux-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
place=$(mktemp -d)
trap 'rm -rf COMMIT "$place"' EXIT
tar -xzf "dist/$name.tar.gz" -C "$place"
mv "$place/$name" "$place/$name-vendored"
mkdir "$place/$name-vendored/.cargo"
(cd "$place/$name-vendored" && cargo vendor --locked --versioned-dirs >.cargo/config.toml)
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$place" -c "$name-vendored" | gzip -9n >"dist/$name-vendored.tar.gz"
echo "dist/$name-vendored.tar.gz"
