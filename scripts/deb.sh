#!/bin/sh
# deb.sh [--try]
# Builds the Debian packages libondine0.1, libondine-dev and ondine from the last commit, checks them
# with lintian and, with --try, installs and tries them in a minimal root that debootstrap makes (as
# root, with a network). From the environment:
#   WORK         folder of the build and of the packages (build-deb)
#   JOBS         1
#   PLAIN        1: the flags of an ordinary build instead of Debian's hardening, so that ccache has
#                the objects of one
#   MAINTAINER   "NAME <ADDRESS>"; else that of git
# Exits with 77 where a program is missing.
set -eu
cd "$(dirname "$0")/.."
: "${WORK:=build-deb}" "${JOBS:=1}" "${PLAIN:=0}"
for program in dpkg-buildpackage dh lintian; do
  command -v "$program" >/dev/null || {
    echo "skipped: no $program (Debian packages dpkg-dev, debhelper, lintian)"
    exit 77
  }
done
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
maintainer=${MAINTAINER:-$(git log -1 --format='%an <%ae>')}
date=$(git log -1 --format=%cD)
mkdir -p "$WORK"
WORK=$(cd "$WORK" && pwd)
tree=$WORK/ondine-$version

# The build folder stays, so that a second run builds what changed.
mkdir -p "$tree"
find "$tree" -mindepth 1 -maxdepth 1 ! -name 'obj-*' -exec rm -r {} +
git archive HEAD | tar -x -C "$tree"
rm -r "$tree/packaging"
cp -R packaging/debian "$tree/debian"
sed -i "s/@MAINTAINER@/$maintainer/; s/@YEAR@/$(git log -1 --format=%cd --date=format:%Y)/" \
  "$tree/debian/control" "$tree/debian/copyright"
cat >"$tree/debian/changelog" <<END
ondine ($version) unstable; urgency=medium

  * CHANGELOG.md of the sources says what is new.

 -- $maintainer  $date
END

if [ "$PLAIN" = 1 ]; then
  export DEB_CFLAGS_SET='' DEB_CXXFLAGS_SET='' DEB_CPPFLAGS_SET=''
fi
# debhelper gives programs a home of their own.
if command -v ccache >/dev/null; then
  : "${CCACHE_DIR:=$(ccache -k cache_dir)}" "${CCACHE_CONFIGPATH:=$HOME/.config/ccache/ccache.conf}"
  export CCACHE_DIR CCACHE_CONFIGPATH
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
(cd "$tree" && DEB_BUILD_OPTIONS="parallel=$JOBS" dpkg-buildpackage -b -us -uc -nc)
cd "$WORK"
lintian --fail-on error,warning --allow-root "ondine_${version}_$(dpkg --print-architecture).changes"
ls -l ./*_"$version"_*.deb
[ "${1:-}" = --try ] || exit 0
exec "$OLDPWD/tests/install/deb.sh" "$WORK"
