#!/bin/sh
# foreign_packages.sh MACHINE DIR PACKAGE...
# Unpacks Debian packages of another machine (aarch64, armv7, riscv64, s390x) below DIR, without root.
# It installs nothing and registers no architecture with dpkg; apt keeps its lists in DIR. From the
# environment:
#   SUITE    another release of Debian: its packages, with all that they depend on
set -eu
machine=$1
mkdir -p "$2"
root=$(cd "$2" && pwd)
shift 2
: "${SUITE:=}"
case $machine in
  aarch64) debian=arm64 ;;
  armv7) debian=armhf ;;
  riscv64 | s390x) debian=$machine ;;
  x86_64) debian=amd64 ;;
  *) echo "unknown machine $machine" >&2; exit 2 ;;
esac
missing=
for package; do
  [ -e "$root/apt/$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

apt=$root/apt
# The repository that this machine takes its own release from.
if [ -n "$SUITE" ]; then
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  repository=$(apt-get indextargets --no-release-info --format "\$(RELEASE) \$(REPO_URI)" |
    sed -n "s/^$release //p" | head -n 1)
  [ -n "$repository" ] || { echo "no repository of Debian $release" >&2; exit 1; }
fi
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
cat >"$apt/conf" <<END
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
if [ -n "$SUITE" ]; then
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$keys] $repository $SUITE main" >"$apt/suite.list"
  cat >>"$apt/conf" <<END
Dir::Etc::sourcelist "$apt/suite.list";
Dir::Etc::sourceparts "/dev/null";
END
fi
export APT_CONFIG="$apt/conf"
# A mirror may lack one of several lists for a time; whether the packages are in the others shows.
apt-get update -qq || echo "going on with the lists that could be had" >&2
for package in $missing; do
  rm -f "$apt"/*.deb
  if [ -n "$SUITE" ]; then
    apt-get install -y -qq --no-install-recommends --download-only "$package" >/dev/null
    mv "$apt"/cache/archives/*.deb "$apt"
  else
    (cd "$apt" && apt-get download -qq "$package")
  fi
  for file in "$apt"/*.deb; do dpkg-deb -x "$file" "$root"; done
  : >"$apt/$package"
done
rm -rf "$apt"/*.deb "$apt/state" "$apt/cache"
