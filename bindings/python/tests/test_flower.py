"""Apps for Flower, with a grid that calls the ClientApp of each node in this process. Skipped
without Flower; tests/bindings/flower.sh has it."""

import builtins
import importlib
import json
import sys

import numpy as np
import ondine_train as ondine
import pytest

CLASSES, WIDTH = 3, 4


def rows_of(partition, count=60):
    """Clusters; each node has one class more often than the others, and its own number of rows."""
    rng = np.random.default_rng(100 + partition)
    count += 10 * partition
    label = rng.choice(CLASSES, count, p=np.roll([0.6, 0.2, 0.2], partition))
    image = rng.normal(size=(count, WIDTH)).astype(np.float32)
    image[np.arange(count), label] += 3
    return {"image": image, "label": label}


def rows_of_node(context):
    return rows_of(context.node_config["partition-id"])


@pytest.fixture
def file(models, tmp_path):
    made = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="sgd",
                          learning_rate=0.05, init="keep")  # fmt: skip
    made.export_training(tmp_path / "train.onnx")
    return tmp_path / "train.onnx"


def test_a_missing_flower_is_an_import_error_that_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_flower(name, *others):
        if name.split(".")[0] == "flwr":
            raise ModuleNotFoundError("No module named 'flwr'", name="flwr")
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_flower)
    monkeypatch.delitem(sys.modules, "ondine_train.flower", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'flwr>=1\.42' \(No module named 'flwr'\)"):
        importlib.import_module("ondine_train.flower")


try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp.mod import LocalDpMod, adaptiveclipping_mod, fixedclipping_mod
    from flwr.client.mod import secaggplus_mod
    from flwr.serverapp import strategy as strategies
    from flwr.supercore.task_identity import TaskIdentity
    from ondine_train.flower import client_app, server_app

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
except ImportError:
    strategies = None
needs_flower = pytest.mark.skipif(strategies is None, reason="Flower is not installed")


class Nodes:
    """A grid of nodes in this process; `replies` has a list for each call."""

    def __init__(self, app, count):
        self.app, self.count, self.replies = app, count, []
        self.run = None

    def context(self, node):
        return Context(run_id=1, node_id=node, state=RecordDict(), run_config={},
                       node_config={"partition-id": node - 1, "num-partitions": self.count})

    def get_node_ids(self):
        return range(1, self.count + 1)

    def ask(self, message):
        message.metadata.__dict__["_message_id"] = "of the test"
        return self.app(message, self.context(message.metadata.dst_node_id))

    def send_and_receive(self, messages, *, timeout=None):
        messages = sorted(messages, key=lambda one: one.metadata.dst_node_id)
        self.replies.append([self.ask(message) for message in messages])
        return self.replies[-1]


def arrays_of(file, **changes):
    model = ondine.load(file)
    arrays = {one["name"]: model.get_state(one["name"]) for one in model.state
              if one["role"] == "weight"}  # fmt: skip
    arrays.update(changes)
    return ArrayRecord({name: Array(value) for name, value in arrays.items() if value is not None})


def message(arrays=None, config=None, kind="train", node=1):
    content = RecordDict({} if arrays is None else {"arrays": arrays})
    if config is not None:
        content["config"] = ConfigRecord(config)
    return Message(content, dst_node_id=node, message_type=kind)


def numbers(record):
    return {name: array.numpy() for name, array in record.items()}


def only_arrays(reply):
    return numbers(next(iter(reply.content.array_records.values())))


def run(nodes, file, strategy=None, **options):
    """The rounds of a server_app on the nodes; its history and last weights."""
    server = server_app(file, strategy, history=file.parent / "history.json", **options)
    server(nodes, nodes.context(1))
    return json.loads((file.parent / "history.json").read_text())


@needs_flower
def test_losses_fall_and_each_round_is_the_weighted_mean_of_what_the_nodes_sent(file):
    sent = []

    class Recorded(strategies.FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            sent.append(numbers(arrays))
            return super().configure_train(server_round, arrays, config, grid)

    nodes = Nodes(client_app(file, rows_of_node, batch_size=16), 4)
    history = run(nodes, file, Recorded(), rounds=3, output=file.parent / "final.onnx",
                  data=rows_of(9), train_config={"epochs": 2, "learning-rate": 0.02})
    assert [one["round"] for one in history] == [0, 1, 2, 3]
    losses = [one["train"]["loss"] for one in history[1:]]
    assert losses == sorted(losses, reverse=True) and losses[2] < 0.9 * losses[0]
    assert history[3]["server"]["accuracy"] > history[0]["server"]["accuracy"]
    assert history[3]["evaluate"]["loss"] < history[1]["evaluate"]["loss"]
    for number in range(3):
        replies = nodes.replies[2 * number]  # each round asks for training, then for evaluation
        counts = [reply.content["metrics"]["num-examples"] for reply in replies]
        assert counts == [60, 70, 80, 90]
        updates = [only_arrays(reply) for reply in replies]
        means = {name: sum(one[name].astype(np.float64) * count
                           for one, count in zip(updates, counts)) / sum(counts)
                 for name in updates[0]}  # fmt: skip
        after = sent[number + 1] if number < 2 else exported(file)
        for name, mean in means.items():
            np.testing.assert_allclose(after[name], mean, atol=1e-6, rtol=0)


def exported(file):
    final = ondine.prepare(file.parent / "final.onnx", loss="softmax-cross-entropy",
                           optimizer="sgd", init="keep")  # fmt: skip
    return {name: final.get_state(name) for name in ("w", "b")}


@needs_flower
def test_a_round_has_the_bits_of_a_training_from_the_same_weights_and_seed(file):
    w = np.random.default_rng(1).normal(size=(WIDTH, CLASSES)).astype(np.float32)
    nodes = Nodes(client_app(file, rows_of_node, batch_size=16), 1)
    config = {"epochs": 2, "learning-rate": 0.03, "server-round": 4}
    reply = nodes.ask(message(arrays_of(file, w=w), config))
    model = ondine.load(file)
    model.initialize(4)  # the node's seed, 0, and the round
    model.set_state({"w": w, "b": ondine.load(file).get_state("b")})
    model.learning_rate = 0.03
    history = ondine.Trainer(model, epochs=2, batch_size=16).fit(rows_of(0))
    found = only_arrays(reply)
    assert list(found) == ["w", "b"]
    for name, value in found.items():
        np.testing.assert_array_equal(value, model.get_state(name))
    assert reply.content["metrics"]["loss"] == history.metric("loss")[-1]


@needs_flower
def test_arrays_come_back_in_the_order_of_the_message(file):
    nodes = Nodes(client_app(file, rows_of_node), 1)
    turned = ArrayRecord(dict(reversed(list(arrays_of(file).items()))))
    reply = nodes.ask(message(turned, {"epochs": 1}))
    assert list(only_arrays(reply)) == ["b", "w"]


@needs_flower
def test_only_adapters_travel(models, tmp_path):
    made = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="sgd",
                          learning_rate=0.1, init="keep", lora=2, lora_targets="w")  # fmt: skip
    made.export_training(tmp_path / "adapters.onnx")
    weights = {one["name"] for one in made.state if one["role"] == "weight"}
    assert weights and "w" not in weights
    nodes = Nodes(client_app(tmp_path / "adapters.onnx", rows_of_node), 2)
    run(nodes, tmp_path / "adapters.onnx", rounds=1)
    for reply in nodes.replies[0]:
        assert set(only_arrays(reply)) == weights


@needs_flower
def test_strategies_of_flower_work(file):
    def distance(strategy):
        nodes = Nodes(client_app(file, rows_of_node), 3)
        history = run(nodes, file, strategy, rounds=2, train_config={"epochs": 2})
        assert history[1]["train"]["loss"] < history[0]["train"]["loss"]
        updates = [only_arrays(reply) for reply in nodes.replies[0]]
        start = numbers(arrays_of(file))
        return sum(float(np.abs(one[name] - start[name]).sum()) for one in updates for name in one)

    free = distance(strategies.FedAvg())
    assert distance(lambda context: strategies.FedProx(proximal_mu=5.0)) < 0.9 * free
    assert distance(strategies.FedAdam(eta=0.05)) == free


@needs_flower
def test_mods_and_wrappers_of_differential_privacy_bound_the_updates(file):
    start = numbers(arrays_of(file))

    def norms(mod, strategy):
        nodes = Nodes(client_app(file, rows_of_node, mods=[mod]), 3)
        history = run(nodes, file, strategy, rounds=1, train_config={"epochs": 5})
        assert history[0]["train"]["loss"] > 0 and history[0]["evaluate"]["loss"] > 0
        return [np.sqrt(sum(float(((one[name] - start[name]) ** 2).sum()) for name in one))
                for one in map(only_arrays, nodes.replies[0])]  # fmt: skip

    fixed = strategies.DifferentialPrivacyClientSideFixedClipping
    for norm in norms(fixedclipping_mod, fixed(strategies.FedAvg(), 0.0, 0.01, 3)):
        assert norm == pytest.approx(0.01, rel=1e-3)
    adaptive = strategies.DifferentialPrivacyClientSideAdaptiveClipping
    for norm in norms(adaptiveclipping_mod,
                      adaptive(strategies.FedAvg(), 0.0, 3, initial_clipping_norm=0.02)):
        assert norm == pytest.approx(0.02, rel=1e-3)
    for norm in norms(LocalDpMod(0.01, 0.0, 1.0, 1e-5), strategies.FedAvg()):
        assert norm == pytest.approx(0.01, rel=1e-3)
    noisy = norms(LocalDpMod(0.01, 1.0, 1.0, 1e-5), strategies.FedAvg())
    assert min(noisy) > 1
    with pytest.raises(ondine.UnsupportedError, match="secaggplus_mod takes clients of Flower's"):
        client_app(file, rows_of_node, mods=[secaggplus_mod])


def refusals(file):
    w = numbers(arrays_of(file))["w"]
    nan, extra = w.copy(), np.zeros(2, np.float32)
    nan[1, 2] = np.nan
    arrays = arrays_of(file)
    two = message(arrays, {"epochs": 1})
    two.content["more"] = arrays_of(file)
    return [
        (message(arrays_of(file, w=w.T.copy())), r"array 'w': it has the shape '\[3, 4\]'"),
        (message(arrays_of(file, w=w.astype(np.float64))), "array 'w': it is of type 'float64'"),
        (message(arrays_of(file, w=None)), "array 'w' of the model is missing"),
        (message(arrays_of(file, v=extra)), "array 'v' is none of the model's"),
        (message(arrays_of(file, w=nan)), "array 'w': 1 of the numbers of the array is NaN"),
        (message(kind="evaluate"), "array 'w' of the model is missing"),
        (two, "the message has 2 records of arrays: 'arrays', 'more'"),
        (message(arrays, {"epochs": 0}), "setting 'epochs' needs a whole number from 1"),
        (message(arrays, {"epochs": 9}), "asks for 9 epochs, this node does 8 at most"),
        (message(arrays, {"lr": float("nan")}), "setting 'lr' needs a finite number"),
        (message(arrays, {"batch-size": "all"}), "setting 'batch-size' needs a whole number"),
        (message(arrays, {"learning-rate": 3e38, "epochs": 8}), "NaN|infinite|nan"),
    ]


@needs_flower
def test_messages_that_do_not_fit_are_error_replies_and_change_nothing(file):
    nodes = Nodes(client_app(file, rows_of_node, most_epochs=8), 1)
    good = message(arrays_of(file), {"epochs": 1, "server-round": 1})
    before = only_arrays(nodes.ask(good))
    for bad, expected in refusals(file):
        reply = nodes.ask(bad)
        assert reply.has_error(), expected
        with pytest.raises(ValueError, match=expected):
            raise ValueError(reply.error.reason)
    after = only_arrays(nodes.ask(good))
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


@needs_flower
def test_a_setting_without_effect_is_said(file, caplog):
    nodes = Nodes(client_app(file, rows_of_node), 1)
    import logging

    logging.getLogger("flwr").propagate = True
    nodes.ask(message(arrays_of(file), {"epoch": 1}))
    assert "setting 'epoch' of the message has no effect" in caplog.text


@needs_flower
def test_a_server_warns_of_weights_that_are_all_0(file, caplog):
    import logging

    logging.getLogger("flwr").propagate = True
    for value, is_warned in ((0.5, False), (0, True)):
        model = ondine.load(file)
        model.set_state({one["name"]: np.full_like(model.get_state(one["name"]), value)
                         for one in model.state if one["role"] == "weight"})  # fmt: skip
        caplog.clear()
        nodes = Nodes(client_app(file, rows_of_node, batch_size=16), 2)
        server_app(model, rounds=1)(nodes, nodes.context(1))
        assert ("all weights of the model are 0" in caplog.text) == is_warned


@needs_flower
def test_a_query_tells_examples_arrays_and_fingerprint(file):
    reply = Nodes(client_app(file, rows_of_node), 1).ask(message(kind="query"))
    assert reply.content["metrics"]["num-examples"] == 60
    assert reply.content["config"]["arrays"] == ["w", "b"]
    assert reply.content["config"]["fingerprint"] == ondine.load(file).fingerprint


@needs_flower
def test_metrics_go_under_the_names_of_the_options(file):
    app = client_app(file, rows_of_node, train_metric="train_loss=loss",
                     evaluate_metric=["a=accuracy", "b=loss"])  # fmt: skip
    nodes = Nodes(app, 1)
    trained = nodes.ask(message(arrays_of(file))).content["metrics"]
    assert sorted(trained) == ["num-examples", "train_loss"]
    evaluated = nodes.ask(message(arrays_of(file), kind="evaluate")).content["metrics"]
    assert sorted(evaluated) == ["a", "b", "num-examples"]


@needs_flower
def test_options_that_make_no_sense_are_refused(file, tmp_path):
    with pytest.raises(ondine.InvalidOptionError, match="client_app has no option 'batchsize'"):
        client_app(file, rows_of_node, batchsize=3)
    with pytest.raises(ondine.InvalidOptionError, match="rounds must be at least 1, not 0"):
        server_app(file, rounds=0)
    asked = Nodes(client_app(file, rows_of_node, checkpoint=tmp_path / "a.ckpt"), 1)
    reply = asked.ask(message(arrays_of(file)))
    assert "a round of a federation has no checkpoint of its own" in reply.error.reason
    nodes = Nodes(client_app(file, rows_of_node), 2)
    for name in ("output", "history"):
        server = server_app(file, **{name: tmp_path / "none" / "file"})
        with pytest.raises(ondine.IoError, match=f"{name} .* cannot be written"):
            server(nodes, nodes.context(1))
    assert nodes.replies == []


@needs_flower
def test_a_federation_whose_nodes_all_fail_is_an_error(file):
    nodes = Nodes(client_app(file, lambda context: {"image": np.zeros((2, 9), np.float32),
                                                    "label": np.zeros(2, np.int64)}), 2)
    server = server_app(file, rounds=1, output=file.parent / "final.onnx")
    with pytest.raises(ondine.MismatchError, match="no round has a result"):
        server(nodes, nodes.context(1))
    assert not (file.parent / "final.onnx").exists()
