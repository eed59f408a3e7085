#!/usr/bin/env bash
# Builds the program of this folder with two majors of the clients: build.sh FOLDER. Needs Go.
set -euo pipefail
folder=$1
mkdir -p "$folder/sources/newest" "$folder/sources/older"
cd "$(dirname "$0")"
cp go.mod go.sum "$folder/sources"
for file in newest/*.go; do
  cp "$file" "$folder/sources/newest"
  # The path has the major of OpenAI's client, and nothing else differs. The older major of Anthropic's would take as long as
  # everything else, and its types are nearly the same.
  sed 's#openai-go/v3#openai-go/v2#' "$file" >"$folder/sources/older/${file##*/}"
done
cd "$folder/sources"
# Without optimization, debug information and collections of its memory the compiler takes a third of the time.
GOGC=800 GOTOOLCHAIN=local GOFLAGS=-mod=readonly go build -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' -o "$folder/" ./newest ./older
touch "$folder/complete"
