#!/usr/bin/env python3
"""zip_folder.py FOLDER NAME FILE SECONDS: packs FOLDER/NAME as the .zip FILE; each member has the time
SECONDS (of 1970, UTC) and the order is that of the names."""
import pathlib
import sys
import time
import zipfile


def main():
    folder, name, file, seconds = sys.argv[1:]
    folder = pathlib.Path(folder)
    when = time.gmtime(int(seconds))[:6]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted((folder / name).rglob("*")):
            if path.is_file():
                member = zipfile.ZipInfo(path.relative_to(folder).as_posix(), when)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.external_attr = 0o644 << 16
                archive.writestr(member, path.read_bytes())


main()
