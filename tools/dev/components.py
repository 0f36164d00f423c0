#!/usr/bin/env python3
"""Lists what a built program consists of, as CycloneDX 1.5: components.py PROGRAM VERSION [OUTPUT].

Components are the Debian packages of the shared libraries that the program is linked to and of the
headers whose code is compiled into it, with versions and licences from the package database. The
same program and packages give the same bytes. Exits with 77 where there is no package database.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

# Packages of which code is compiled in, with the reason.
COMPILED_IN = {
    "libboost1.74-dev": "serialization archives of checkpoints",
    "libcli11-dev": "options of the command line",
    "libeigen3-dev": "determinants, products of integers",
    "libprotobuf-dev": "generated code of the .onnx schema",
    "nlohmann-json3-dev": "JSON of the command line",
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """The shared libraries that the program names, with the files that the loader takes."""
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", output_of("readelf", "-d", program))
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", output_of("ldd", program), re.M))
    return [(name, found[name]) for name in needed if name in found]


def package_of(path):
    """The package that owns a file; the loader's path may go through a link of directories."""
    candidates = [path, "/usr" + path, str(pathlib.Path(path).resolve())]
    for candidate in candidates:
        result = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout.split(":")[0]
    sys.exit(f"components.py: no package owns {path}")


def licences(package):
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    if not path.exists():
        return []
    found = re.findall(r"^License:[ \t]*(\S.*)$", path.read_text(encoding="utf-8"), re.M)
    return sorted(set(text.strip() for text in found))


def component(package, why):
    version, architecture = output_of(
        "dpkg-query", "-W", "-f=${Version} ${Architecture}", package).split()
    row = {
        "type": "library", "bom-ref": f"deb/{package}", "name": package, "version": version,
        "purl": f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}?arch={architecture}",
        "properties": [{"name": "ondine:use", "value": why}],
    }
    names = licences(package)
    if names:
        row["licenses"] = [{"license": {"name": name}} for name in names]
    return row


def document(program, version):
    used = {}
    for name, path in libraries(program):
        used.setdefault(package_of(path), []).append(name)
    components = {package: component(package, "linked: " + ", ".join(sorted(names)))
                  for package, names in used.items()}
    for package, why in COMPILED_IN.items():
        components[package] = component(package, "compiled in: " + why)
    ordered = [components[package] for package in sorted(components)]
    main = {"type": "application", "bom-ref": "ondine", "name": "ondine", "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}]}
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([main, ordered], sort_keys=True))
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{identity}",
        "version": 1, "metadata": {"component": main}, "components": ordered,
        "dependencies": [{"ref": "ondine", "dependsOn": [one["bom-ref"] for one in ordered]}],
    }


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    if shutil.which("dpkg-query") is None:
        print("skipped: no package database (dpkg-query)", file=sys.stderr)
        sys.exit(77)
    text = json.dumps(document(sys.argv[1], sys.argv[2]), indent=1) + "\n"
    if len(sys.argv) == 3:
        sys.stdout.write(text)
    else:
        pathlib.Path(sys.argv[3]).write_text(text, encoding="utf-8")


main()
