#!/bin/sh
# foreign_packages.sh MACHINE DIR PACKAGE...
# Unpacks Debian packages of another machine (aarch64, s390x) below DIR, without root. It installs
# nothing and registers no architecture with dpkg; apt keeps its lists in DIR.
set -eu
machine=$1
mkdir -p "$2"
root=$(cd "$2" && pwd)
shift 2
case $machine in
  aarch64) debian=arm64 ;;
  s390x) debian=s390x ;;
  *) echo "unknown machine $machine" >&2; exit 2 ;;
esac
missing=
for package; do
  [ -e "$root/apt/$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

apt=$root/apt
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
export APT_CONFIG="$apt/conf"
apt-get update -qq
for package in $missing; do
  rm -f "$apt"/*.deb
  (cd "$apt" && apt-get download -qq "$package")
  dpkg-deb -x "$apt"/*.deb "$root"
  : >"$apt/$package"
done
rm -rf "$apt"/*.deb "$apt/state" "$apt/cache"
