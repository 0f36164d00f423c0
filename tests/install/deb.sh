#!/bin/sh
# Installs the Debian packages of a folder in a minimal root, as they are and without what they only
# suggest, and tries them: deb.sh FOLDER. Needs root and a network; exits with 77 without.
set -eu
debs=$1
[ "$(id -u)" -eq 0 ] || { echo "skipped: not root"; exit 77; }
command -v debootstrap >/dev/null || {
  echo "skipped: no debootstrap (Debian package debootstrap)"
  exit 77
}
root=$debs/root
rm -rf "$root"
debootstrap --variant=minbase "${SUITE:-bookworm}" "$root" "${MIRROR:-http://deb.debian.org/debian}" \
  >"$debs/debootstrap.log"
cp "$debs"/*.deb "$root/tmp"
cat >"$root/tmp/program.c" <<'END'
#include <ondine/c.h>
#include <stdio.h>

int main(void) {
  ondine_model* model = NULL;
  ondine_error* error = ondine_model_load("tuned.onnx", NULL, &model);
  puts(error ? ondine_error_message(error) : ondine_version());
  ondine_model_free(model);
  ondine_error_free(error);
  return error != NULL;
}
END
cat >"$root/tmp/try.sh" <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive
cd /tmp
install() { apt-get install -y -qq --no-install-recommends "$@" >>apt.log 2>&1; }
install ./libondine0.1_*.deb ./ondine_*.deb
du -sm / --exclude=/proc --exclude=/sys | sed 's/\t.*/ MB in the root/'
printf 'petal,kind\n' >rows.csv
for i in 1 2 3 4 5 6 7 8 9 10; do printf '%s,iris\n%s,rose\n' "1.$i" "4.$i" >>rows.csv; done
ondine --version
ondine finetune --data rows.csv --epochs 5 -o tuned.onnx
ondine eval tuned.onnx --data rows.csv
bash -n /usr/share/bash-completion/completions/ondine
. /usr/share/bash-completion/completions/ondine
complete -p ondine
dpkg -L ondine | grep -c '/man1/ondine'
install ./libondine-dev_*.deb gcc libc6-dev pkgconf
# shellcheck disable=SC2046
gcc -std=c99 -Wall -Werror program.c $(pkg-config --cflags --libs ondine) -o program
./program
dpkg -P libondine-dev ondine libondine0.1
[ ! -e /usr/bin/ondine ] && [ -z "$(find /usr/lib -name 'libondine*')" ]
END
chroot "$root" bash /tmp/try.sh || { tail -20 "$root/tmp/apt.log"; exit 1; }
rm -rf "$root"
echo "installed, tried and removed"
