"""Processes that run training steps of a workload on command, so that two can be timed in turns.

Process is the side that asks and serve() the one that answers; both speak the protocol of
bench/run/main.cpp. A process that cannot go on answers with a line "cannot REASON".
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CHECKED_STEPS = 3
BLOCK_MS = 200
# Before each block: threads of the other program may still wait actively for work.
REST_S = 0.3
TOLERANCE = {"float32": 1e-4, "bf16": 1e-2}


class PeerError(Exception):
    """A program that cannot be had, cannot run a workload or computes something else."""


class Process:
    """A program under test. It is killed after `limit` seconds without an answer."""

    def __init__(self, command, threads, limit=None, environment=None):
        self.limit, self.expired = limit, False
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        settings = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        settings.update(environment or {})
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=settings)

    def expire(self):
        self.expired = True
        self.process.kill()

    def last_words(self):
        self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        status = self.process.returncode
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return f"ended with {how}" + (f": {lines[-1]}" if lines else "")

    def ask(self, question):
        timer = threading.Timer(self.limit, self.expire) if self.limit else None
        if timer:
            timer.start()
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if timer:
            timer.cancel()
        if self.expired:
            raise PeerError(f"no answer within {self.limit:g} s")
        if not answer:
            raise PeerError(self.last_words())
        if answer.startswith("cannot "):
            raise PeerError(answer[len("cannot "):].strip())
        return answer.split()

    def steps(self, count):
        """Milliseconds of each step, and their losses."""
        numbers = [float(word) for word in self.ask(f"steps {count}")]
        return numbers[:count], numbers[count:]

    def memory(self):
        """Peak of resident memory in MB."""
        return float(self.ask("memory")[0])

    def close(self):
        """Ends the process and gives its memory back before the next one starts."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def in_one_line(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 240 else text[:240] + "..."


def serve(make_step):
    """Answers on standard output until standard input ends. Others' prints go to standard error.

    make_step() gives a function that runs one step and returns its loss.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(*words):
        print(*words, file=answers, flush=True)

    try:
        step = make_step()
        for line in sys.stdin:
            words = line.split()
            if words[0] == "steps":
                times, losses = [], []
                for _ in range(int(words[1])):
                    start = time.perf_counter()
                    losses.append(step())
                    times.append((time.perf_counter() - start) * 1e3)
                answer(*times, *losses)
            elif words[0] == "memory":
                answer(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    except Exception as error:  # frameworks raise types of their own
        import traceback
        traceback.print_exc()
        answer("cannot", in_one_line(error))


def check_losses(ours, theirs, tolerance):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if not abs(a - b) <= tolerance * abs(b):
            raise PeerError(f"the loss of step {i} is {b:.9g}, in Ondine {a:.9g}")


def time_in_turns(ours, theirs, slower, blocks):
    """Median milliseconds of both programs in alternating blocks, of which the first is not
    counted; slower: milliseconds of a step of the slower one."""
    block = max(1, min(500, int(BLOCK_MS / slower)))
    ours.steps(block), theirs.steps(block)
    times, their_times = [], []
    for _ in range(blocks):
        for process, kept in ((ours, times), (theirs, their_times)):
            time.sleep(REST_S)
            kept += process.steps(block)[0]
    return statistics.median(times), statistics.median(their_times)
