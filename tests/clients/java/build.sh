#!/usr/bin/env bash
# Builds the programs of this folder with two majors of the clients: build.sh FOLDER. Needs a JDK and Maven.
set -euo pipefail
folder=$1
cd "$(dirname "$0")"
build() {
  local major=$1 renames=$2
  mkdir -p "$folder/$major/sources" "$folder/$major/classes"
  mvn --batch-mode --quiet --no-transfer-progress --file "pom-$major.xml" dependency:copy-dependencies \
    -DincludeScope=runtime "-DoutputDirectory=$folder/$major/jars"
  for file in *.java; do sed "$renames" "$file" >"$folder/$major/sources/$file"; done
  javac -nowarn -d "$folder/$major/classes" -cp "$folder/$major/jars/*" "$folder/$major/sources/"*.java
}
build newest ''
# This name alone differs between the majors.
build older 's/addUserMessageOfContentBlockParams/addUserMessageOfBlockParams/'
touch "$folder/complete"
