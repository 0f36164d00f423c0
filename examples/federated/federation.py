#!/usr/bin/env python3
"""federation.py ONDINE WORK NATIVE PYTHON ROUNDS: a SuperLink with TLS and node authentication and
so many nodes of both kinds, which train on WORK/part0, part1, ... With 0 native nodes and `ray` for
PYTHON the nodes are those of a simulation by Ray, as many as there are parts."""
import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
from superlink import SuperLink, wait_for  # noqa: E402


def start_nodes(link, ondine, native, python):
    """A node's key must be registered before the node may join."""
    for number in range(native):
        options = ["--model", "train.onnx", "--data", f"part{number}", "--batch-size", "32",
                   "--threads", "1", "--checkpoint", f"node{number}.ckpt", "--retry", "2m"]
        assert link.start_native(f"native{number}", ondine, *options).wait(60) == 1
        link.register(f"node{number}.ckpt.key.pub")
        link.start_native(f"native{number}", ondine, *options)
    for number in range(native, native + python):
        key = link.make_key(f"node{number}.key")
        link.register(f"{key}.pub")
        link.start_python(f"python{number}", key, partition_id=number,
                          num_partitions=native + python)


def print_history(work):
    history = json.loads((work / "history.json").read_text())
    print("round  accuracy  loss")
    for one in history:
        print(f"{one['round']:5d}  {100 * one['server']['accuracy']:7.1f} %"
              f"  {one['server']['loss']:.3f}")
    return history


def main(ondine, work, native, python, rounds):
    work = pathlib.Path(work).resolve()
    for old in ["home", "app", *(one.name for one in work.glob("*.log"))]:
        shutil.rmtree(work / old) if (work / old).is_dir() else (work / old).unlink(True)
    for old in work.glob("node*"):
        old.unlink()
    shutil.copytree(HERE / "app", work / "app", ignore=shutil.ignore_patterns("__pycache__"))
    simulated = python == "ray"
    nodes = len(list(work.glob("part*"))) if simulated else int(native) + int(python)
    link = SuperLink(work, tls=not simulated)
    try:
        link.launch(*(["--simulation"] if simulated else []))
        if not simulated:
            start_nodes(link, pathlib.Path(ondine).resolve(), int(native), int(python))
        run = link.start_run("app", {"work": work, "rounds": int(rounds), "nodes": nodes}, *(
            ["--federation-config", f"num-supernodes={nodes} client-resources-num-cpus=1"]
            if simulated else []))
        wait_for("the run", lambda: run.poll() is not None, 540)
        assert run.returncode == 0 and (work / "final.onnx").exists(), "the run failed"
    except BaseException:
        link.print_logs()
        raise
    finally:
        link.end()
    history = print_history(work)
    assert len(history) == int(rounds) + 1, history


if __name__ == "__main__":
    main(*sys.argv[1:])
