#!/usr/bin/env bash
# Writes clients from the OpenAPI document and builds the programs of this folder with them: build.sh FOLDER. Needs Go, a JDK, Maven,
# npm and Python. The file `installed` says that everything is downloaded, and `complete` that everything is built.
set -euo pipefail
folder=$1
mkdir -p "$folder"/{go/gateway,generator,java/classes,java/jars,python,typescript}
cd "$(dirname "$0")"
cp go/go.mod go/go.sum go/main.go "$folder/go"
cp typescript/main.ts.txt "$folder/typescript/main.ts"

copy_jars() {
  mvn --batch-mode --quiet --no-transfer-progress --file "java/$1" dependency:copy-dependencies "-DoutputDirectory=$folder/$2" "${@:3}"
}
install() {
  (cd "$folder/go" && GOTOOLCHAIN=local go mod download) &
  local go=$!
  npm install --prefix "$folder/typescript" --ignore-scripts --prefer-offline --no-audit --no-fund --silent \
    openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3
  python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
  copy_jars pom.xml java/jars
  copy_jars generator.xml generator -DexcludeTransitive=true # the archive has its dependencies
  wait "$go"
}

build_go() {
  cd "$folder/go"
  export GOTOOLCHAIN=local GOFLAGS=-mod=readonly
  go tool oapi-codegen -config "$OLDPWD/go/oapi-codegen.yaml" -o gateway/client.go ../openapi.json
  go build -gcflags='all=-N -l' -ldflags='-s -w' -o openapi . # without optimization, in half the time
}

# Short runs of Java take half the time with the first compiler alone.
generate() {
  local log="$folder/generator-$1.log"
  java -XX:TieredStopAtLevel=1 -jar "$folder"/generator/*.jar generate -i "$folder/openapi.json" -g "$1" -o "$folder/$1/client" \
    --global-property models,apis,supportingFiles,modelDocs=false,apiDocs=false,modelTests=false,apiTests=false >"$log" 2>&1 ||
    { tail -n 50 "$log" >&2; return 1; }
}

build_java() {
  generate java
  find "$folder/java/client/src/main" -name '*.java' >"$folder/java/sources"
  javac -J-XX:TieredStopAtLevel=1 -nowarn -proc:none -parameters -g:none -d "$folder/java/classes" -cp "$folder/java/jars/*" \
    "@$folder/java/sources" java/Main.java
}

build_python() {
  generate python
  cp -r "$folder/python/client/openapi_client" python/main.py "$folder/python"
}

build_typescript() {
  local bin="$folder/typescript/node_modules/.bin"
  "$bin/openapi-typescript" "$folder/openapi.json" -o "$folder/typescript/types.d.ts" >/dev/null
  generate typescript-fetch
  "$bin/tsc" --noEmit --strict --target esnext --module nodenext --allowImportingTsExtensions --skipLibCheck \
    "$folder/typescript/main.ts" "$folder/typescript-fetch/client/index.ts"
}

install
touch "$folder/installed"
../../../node_modules/.bin/node ../../../src/cli.ts openapi >"$folder/openapi.json"
builds=()
for build in build_go build_java build_python build_typescript; do
  ("$build") &
  builds+=($!)
done
for build in "${builds[@]}"; do wait "$build"; done
touch "$folder/complete"
