#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs runtimes that each get one thing wrong; the case meant for it must fail. Needs onnx.

broken_runtimes.py            each with the cases that are meant for it
broken_runtimes.py --all      also prints how many cases of the suite notice it
"""

import argparse
import functools
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx

from broken import files, methods, operators, randomness
from reference import runner, session, validate
from suite import cases, judge, tensors

optimizer, variant = operators.with_optimizer, operators.variant
adam = lambda wrong: optimizer("Adam", variant(operators.adam, wrong=wrong))
adagrad = lambda wrong: optimizer("Adagrad", variant(operators.adagrad, wrong=wrong))
momentum = lambda wrong: optimizer("Momentum", variant(operators.momentum, wrong=wrong))
draws = randomness.runtime
gives, takes = operators.scaled_results, operators.with_gradient

RUNTIMES = {
    "updates one after the other": (methods.OneAfterTheOther, "algorithm/swap"),
    "first update only": (methods.FirstUpdateOnly, "bindings/many-keys"),
    "updates in alphabetical order": (
        methods.UpdatesInAlphabeticalOrder,
        "bindings/many-keys",
    ),
    "no updates": (methods.NoUpdates, "state/of-algorithm"),
    "first algorithm always": (
        methods.FirstAlgorithm,
        "algorithm/one-iteration-is-all-in-order",
    ),
    "algorithms in reverse": (methods.AlgorithmsInReverse, "algorithm/one-iteration-is-all-in-order"),
    "algorithm that forgets": (methods.ForgetfulAlgorithm, "state/of-algorithm"),
    "main outputs are not bound": (
        methods.MainOutputsUnbound,
        "bindings/value-is-a-main-output",
    ),
    "outputs after the update": (
        methods.OutputsAfterTheUpdate,
        "algorithm/old-values-in-outputs",
    ),
    "feeds kept": (methods.KeptFeeds, "algorithm/input-of-algorithm"),
    "bodies folded": (methods.FoldedBodies, "state/not-folded-in-a-body"),
    "no reset": (methods.NoReset, "initialization/resets-unbound-variables"),
    "variables of algorithms not reset": (
        methods.AlgorithmNotReset,
        "initialization/resets-algorithm-initializers",
    ),
    "initialization reads trained values": (
        methods.InitializationWithoutReset,
        "initialization/reads-variable-after-reset",
    ),
    "initialization at load": (
        methods.InitializedAtLoad,
        "initialization/not-called-not-assigned",
    ),
    "initialized once": (methods.InitializedOnce, "initialization/twice-is-once"),
    "update bindings assigned by initialization": (
        methods.UpdatesWhenInitialized,
        "initialization/omitted",
    ),
    "initializations in reverse order": (methods.Reversed, "initialization/later-info-wins"),
    "first initialization only": (methods.FirstInitialization, "initialization/every-info"),
    "no initialization": (methods.NoInitialization, "initialization/assigns-output"),
    "initializations from reset values": (
        methods.InitializationsFromResetValues,
        "initialization/reads-what-an-earlier-info-assigned",
    ),
    "initialization bindings one after the other": (
        methods.InitializationOneAfterTheOther,
        "initialization/swap",
    ),
    "inference with initial values": (methods.StaleInference, "inference/uses-trained-values"),
    "inference before initialization": (
        methods.InferenceBeforeInitialization,
        "state/of-initialization-only",
    ),
    "inference with a side effect": (
        methods.InferenceWithSideEffect,
        "inference/is-side-effect-free",
    ),
    "state of doubles in single precision": (
        methods.SinglePrecision,
        "state/double-adds-small-steps",
    ),
    "state of integers in double precision": (
        methods.IntegersAsDouble,
        "state/integers-beyond-double",
    ),
    "random numbers frozen over steps": (draws(randomness.frozen), "random/noise-in-a-step"),
    "uniform numbers frozen over steps": (
        draws(randomness.frozen),
        "random/uniform-noise-in-a-step",
    ),
    "numbers of a step mirror the last": (
        draws(randomness.mirrored_steps),
        "random/noise-in-a-step",
    ),
    "dropout frozen over steps": (randomness.dropout(False), "random/dropout-in-a-step"),
    "one seed for all nodes": (draws(randomness.one_seed), "random/two-nodes"),
    "one seed for all uniform nodes": (
        draws(randomness.one_seed),
        "random/two-uniform-nodes",
    ),
    "one seed for all nodes of a step": (
        draws(randomness.one_seed),
        "random/two-nodes-in-a-step",
    ),
    "one seed for each place in a graph": (
        randomness.OneSeedPerPlace,
        "random/graph-and-algorithm-at-one-place",
    ),
    "one seed for each place in an initialization": (
        randomness.OneSeedPerPlace,
        "random/two-initializations",
    ),
    "one seed for each place in an algorithm": (
        randomness.OneSeedPerPlace,
        "random/two-algorithms",
    ),
    "sorted numbers": (draws(randomness.ordered), "random/normal-standard"),
    "halves of a sample alike": (draws(randomness.repeated_halves), "random/uniform-unit"),
    "neighbors mirrored": (draws(randomness.mirrored_neighbors), "random/normal-standard"),
    "few different numbers": (draws(randomness.few), "random/normal-standard"),
    "too little variance": (draws(randomness.narrow), "random/uniform-unit"),
    "Gradient at the values of the graph": (
        takes(operators.own_values),
        "gradient/at-another-value",
    ),
    "Gradient ignores the values of zs": (
        takes(operators.own_zs),
        "gradient/zs-at-another-value",
    ),
    "Gradient mixes its inputs up": (takes(operators.swapped_inputs), "gradient/operand-swapped"),
    "Gradient takes zs in reverse": (takes(operators.reversed_zs), "gradient/zs-in-their-order"),
    "Gradient shifts its outputs": (
        operators.RuntimeWithShiftedOutputs,
        "gradient/first-output-left-out",
    ),
    "Gradient of unrelated tensors is one": (
        gives(operators.unrelated_is_one),
        "gradient/unrelated-tensor",
    ),
    "Gradient a little too large": (
        gives(operators.a_little_too_large),
        "gradient/of-several",
    ),
    "Gradient negated": (gives(operators.negated), "gradient/of-a-scalar"),
    "Gradient clipped": (gives(operators.clipped), "gradient/of-a-scalar"),
    "Gradient in a branch is zero": (gives(operators.without_scope), "gradient/in-a-branch"),
    "Gradient in a loop is zero": (gives(operators.without_scope), "gradient/in-a-loop"),
    "Gradient of a Gradient is zero": (
        operators.RuntimeWithoutSecondOrder,
        "gradient/second-order-example",
    ),
    "Adam with epsilon in the root": (adam("inside"), "optimizers/adam-epsilon-outside-the-root"),
    "Adam with a default epsilon of 1e-8": (adam("small"), "optimizers/adam-default-epsilon"),
    "Adam without epsilon": (adam("none"), "optimizers/adam-default-epsilon"),
    "Adam without correction": (adam("uncorrected"), "optimizers/adam-powers"),
    "Adam corrected at T = 0": (adam("from one"), "optimizers/adam-defaults-from-zero"),
    "Adam one step late": (adam("late"), "optimizers/adam-powers"),
    "Adam with T of 15 bits": (adam("short"), "optimizers/adam-count-beyond-16-bits"),
    "Adam with H of the raw gradient": (adam("raw"), "optimizers/adam-norm"),
    "Adam with decoupled decay": (adam("decoupled"), "optimizers/adam-norm"),
    "Adam that decays the old X": (adam("post of old"), "optimizers/adam-post-norm"),
    "Adagrad one step late": (adagrad("late"), "optimizers/adagrad-decay"),
    "Adagrad with epsilon in the root": (
        adagrad("inside"),
        "optimizers/adagrad-epsilon-outside-the-root",
    ),
    "Adagrad without epsilon": (adagrad("none"), "optimizers/adagrad-default-epsilon"),
    "Adagrad with H of the raw gradient": (adagrad("raw"), "optimizers/adagrad-norm"),
    "Momentum with beta in the first step": (
        momentum("unadjusted"),
        "optimizers/momentum-standard-first-iteration",
    ),
    "Momentum that takes T = 1 for the first": (
        momentum("one is first"),
        "optimizers/momentum-standard-first-iteration",
    ),
    "Momentum damped by 1 - alpha": (momentum("damped"), "optimizers/momentum-standard"),
    "Nesterov with the old momentum": (momentum("old"), "optimizers/momentum-nesterov"),
    "Nesterov with the raw gradient": (momentum("raw"), "optimizers/momentum-nesterov-norm"),
    "Nesterov as standard momentum": (
        momentum("standard always"),
        "optimizers/momentum-nesterov",
    ),
}


class Played:
    """Results of a runtime, in memory."""

    def __init__(self, case, runtime):
        self.found = {}
        model = runtime(onnx.load(case.folder / "model.onnx"))
        for index, call in enumerate(case.calls):
            feeds = runner.load_feeds(call.folder)
            outputs = runner.make(model, call.plan, feeds)
            state = {name: model.state[name] for name in call.plan["state"]}
            for prefix, values in (("output", outputs), ("state", state)):
                self.found[index, prefix] = {
                    name: tensors.read(
                        runner.to_tensor(name, np.asarray(value), model.types).SerializeToString()
                    )
                    for name, value in values.items()
                }

    def report(self):
        return "done", ""

    def tensors(self, call, prefix):
        return self.found[call, prefix]


def fails(case, runtime):
    """A runtime that crashes shows nothing."""
    try:
        played = Played(case, runtime)
    except Exception:  # pylint: disable=broad-except
        return False
    return judge.judge(case, played)[0] == judge.FAILED


@functools.lru_cache(None)
def case_of(name):
    return cases.read_case(cases.ROOT / "cases" / name)


def unnoticed_runtimes(everything):
    for what, (runtime, name) in RUNTIMES.items():
        case = case_of(name)
        if fails(case, session.Session):
            yield f"{name} fails with the right runtime"
        if not fails(case, runtime):
            yield f"{name} passes although: {what}"
        if everything:
            caught = sum(fails(one, runtime) for one in everything)
            print(f"{caught:4} cases fail: {what}", flush=True)


def unnoticed_edits():
    for what, (edit, name, right) in files.EDITS.items():
        case = case_of(name)
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder)
            runner.run_case(case.folder, results)
            edit(results)
            passed = judge.judge(case, judge.Results(results))[0] == judge.PASSED
        if passed != right:
            yield f"{name} {'passes' if passed else 'fails'} with {what}"


def unnoticed_rules(found):
    """Every refusal rests on one rule: without it, the model is accepted."""
    for case in found:
        model = onnx.load(case.folder / "model.onnx")
        try:
            validate.validate(model)
            yield f"{case.name} breaks no rule"
        except validate.Refused as error:
            if not validate.accepts_without(model, str(error)):
                yield f"{case.name} breaks another rule than '{error}'"


def unnoticed_answers(found):
    """Programs that say the same of every model."""
    refused = {case.name: (judge.PASSED if case.refused else judge.FAILED, "") for case in found}
    for case in found:
        if case.refused and judge.with_twins(found, refused)[case.name][0] == judge.PASSED:
            yield f"{case.name} passes although every model is refused"

    class Unsupported:
        def report(self):
            return "unsupported", "this runtime does not train"

    for case in found:
        if judge.judge(case, Unsupported())[0] != judge.FAILED:
            yield f"{case.name} is skipped although no operator is named"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="count the cases that notice each")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = cases.read_cases()
    refusals = [case for case in found if case.refused]
    results = [case for case in found if not case.refused]
    findings = [
        *unnoticed_runtimes(results if options.all else []),
        *unnoticed_edits(),
        *unnoticed_rules(refusals),
        *unnoticed_answers(found),
    ]
    print("\n".join(findings), end="\n" if findings else "")
    print(
        f"{len(RUNTIMES)} broken runtimes, {len(files.EDITS)} edits of results, "
        f"{len(refusals)} rules left out, 2 programs with one answer: {len(findings)} findings"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
