#!/usr/bin/env bash
# Runs a program of one file with the clients of a folder that build.sh has filled: run.sh FOLDER FILE.
set -euo pipefail
source "$(dirname "$0")/flags.sh"
cd "$1/sources"
exec go run "${flags[@]}" "$2"
