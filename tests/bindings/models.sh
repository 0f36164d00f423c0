#!/bin/sh
# models.sh LIBRARY-FOLDER MODELS: writes the models of program/models.cpp, by the build whose library
# lies in the folder.
set -eu
mkdir -p "$2"
for folder in "$1/bin" "$1/../bin"; do
  if [ -x "$folder/bindings_models" ]; then exec "$folder/bindings_models" "$2"; fi
done
echo "no bin/bindings_models beside $1: build it" >&2
exit 1
