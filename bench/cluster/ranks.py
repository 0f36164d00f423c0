"""Ranks of MPICH in namespaces of this machine, which talk as those of several machines would."""
import os
import re
import subprocess
import sys

OVER_TCP = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "link0"}
EPOCH = re.compile(r"epoch \d+/\d+: .* ([0-9.]+) s")


def epoch_seconds(network, ranks, command, epochs, after_epoch=lambda: None):
    """Seconds of each epoch that `command` prints; network.inside(number): words that start a command
    in the namespace of a rank. The ranks are stopped after the last one: MPI_Finalize may wait."""
    words = ["mpirun.mpich"]
    for number in range(ranks):
        words += [":"] * (number > 0) + ["-n", "1", *network.inside(number), *command]
    process = subprocess.Popen(words, env={**os.environ, **OVER_TCP}, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    seconds = []
    line = ""
    try:
        for line in process.stdout:
            found = EPOCH.search(line)
            if found:
                seconds.append(float(found[1]))
                after_epoch()
            if len(seconds) == epochs:
                return seconds
        sys.exit("the ranks ended early: " + line)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        network.close()
