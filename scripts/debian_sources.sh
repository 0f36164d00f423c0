#!/bin/sh
# debian_sources.sh DIR PACKAGE...
# Unpacks Debian's source packages, with Debian's patches, as DIR/PACKAGE. It installs nothing; apt
# keeps its lists in DIR and reads the repositories of Debian that this machine is configured with.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
missing=
for package; do
  [ -e "$folder/$package/.version" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
command -v dpkg-source >/dev/null ||
  { echo "no dpkg-source: install the Debian package dpkg-dev" >&2; exit 1; }

apt=$folder/apt
rm -rf "$apt"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/sources"
# The same repositories, of this release only, as sources.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  [ -e "$list" ] || continue
  case $list in
    *.sources)
      awk -v release="$release" 'BEGIN { RS = ""; ORS = "\n\n" }
        $0 ~ "(^|\n)Suites:.*[ \t]" release "([- \t\n]|$)" {
          sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); sub(/^\n/, ""); print
        }' "$list" >"$apt/sources/$(basename "$list")"
      ;;
    *)
      sed -n "/ $release\\([-/ ]\\|\$\\)/s/^deb /deb-src /p" "$list" \
        >"$apt/sources/$(basename "$list" .list).list"
      ;;
  esac
done
cat >"$apt/conf" <<END
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Dir::State "$apt/state";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
END
export APT_CONFIG="$apt/conf"
apt-get update -qq

# The newest version that can be had: a mirror's index may be ahead of its files.
download() {
  for version in $(apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rVu); do
    rm -rf "$apt/unpack"
    mkdir "$apt/unpack"
    (cd "$apt/unpack" && apt-get source -qq --download-only "$1=$version" >/dev/null) && return
  done
  echo "no source package $1 in the repositories of $release" >&2
  return 1
}

for package in $missing; do
  download "$package"
  rm -rf "${folder:?}/$package"
  dpkg-source --no-check --no-copy -x "$apt"/unpack/*.dsc "$folder/$package" >/dev/null
  sed -n 's/^Version: //p' "$apt"/unpack/*.dsc | head -n 1 >"$folder/$package/.version"
done
rm -rf "$apt"
