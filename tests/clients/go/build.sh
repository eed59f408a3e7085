#!/usr/bin/env bash
# Builds the program of this folder with two majors of the clients: build.sh FOLDER. Needs Go.
set -euo pipefail
folder=$1
mkdir -p "$folder/sources/newest" "$folder/sources/older"
cd "$(dirname "$0")"
source flags.sh
cp go.mod go.sum "$folder/sources"
for file in newest/*.go; do
  cp "$file" "$folder/sources/newest"
  # The path has the major of OpenAI's client, and nothing else differs. The older major of Anthropic's would take as long as
  # everything else, and its types are nearly the same.
  sed 's#openai-go/v3#openai-go/v2#' "$file" >"$folder/sources/older/${file##*/}"
done
cd "$folder/sources"
go build "${flags[@]}" -o "$folder/" ./newest ./older
touch "$folder/complete"
