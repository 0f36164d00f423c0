"""Tables of pandas, polars and pyarrow."""

import os

import numpy as np
import ondine_train as ondine
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def first_batch(data: ondine.Dataset) -> dict:
    return next(data.batches(len(data), shuffle=False))


NUMBERS = {
    "b": pa.array([True, False, None], pa.bool_()),
    "i8": pa.array([-128, 127, None], pa.int8()),
    "u8": pa.array([0, 255, None], pa.uint8()),
    "i16": pa.array([-32768, 32767, None], pa.int16()),
    "u16": pa.array([0, 65535, None], pa.uint16()),
    "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
    "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
    "i64": pa.array([-(2**53), 2**53, None], pa.int64()),
    "u64": pa.array([0, 2**53, None], pa.uint64()),
    "f16": pa.array(np.array([1.5, -(2.0**-24), np.nan], np.float16)),
    "f32": pa.array([0.1, 3e38, None], pa.float32()),
    "f64": pa.array([0.1, -5e-324, None], pa.float64()),
    "coded": pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array([2.5, 7.0])),
}


@pytest.mark.parametrize("start", [0, 1])
def test_numbers_of_every_type_are_exact(start):
    table = pa.table({**NUMBERS, "target": pa.array([1, 0, 1])}).slice(start)
    data = ondine.Dataset.open(table, target="target", fill=-1)
    found = first_batch(data)["features"]
    for at, array in enumerate(NUMBERS.values()):
        wanted = [-1.0 if one is None or one != one else float(one) for one in array.to_pylist()]
        assert found[:, at].tolist() == wanted[start:], array.type


def test_chunks_and_offsets_follow_each_other():
    numbers = [pa.array(range(count), pa.int64()) for count in (3, 0, 4)]
    parts = [pa.record_batch({"x": one, "y": one}) for one in numbers]
    table = pa.Table.from_batches([parts[0].slice(1), *parts[1:]])
    batch = first_batch(ondine.Dataset.open(table))
    assert batch["features"][:, 0].tolist() == [1, 2, 0, 1, 2, 3]
    assert batch["y"].tolist() == [1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), "coded"])
def test_texts_of_every_type_name_classes(kind):
    names = ["a, \"b\"\nc", "ä", "longer than twelve letters", "ä"]
    column = pa.array(names).dictionary_encode() if kind == "coded" else pa.array(names, kind)
    data = ondine.Dataset.open(pa.table({"x": [1.0, 2, 3, 4], "name": column}))
    assert data.classes == sorted(set(names), key=lambda one: one.encode())
    assert [data.classes[i] for i in first_batch(data)["name"]] == names


def test_pandas_and_polars_give_the_same_rows_without_their_index():
    columns = {"x": [0.25, 2.0, 3.5, 4.0], "k": [1, 2, 3, 4], "label": ["no", "yes", "no", "yes"]}
    frame = pd.DataFrame(columns, index=[7, 3, 9, 1])
    frame["label"] = frame["label"].astype("category")
    for table in (frame, pl.DataFrame(columns), pa.table(columns)):
        data = ondine.Dataset.open(table)
        assert data.classes == ["no", "yes"]
        assert first_batch(data)["features"].tolist() == [[0.25, 1], [2, 2], [3.5, 3], [4, 4]]


def test_a_model_takes_the_columns_that_it_learned_from_in_any_order(models):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 90)
    features = rng.normal(size=(90, 4)) + 4 * np.eye(4)[label]
    frame = pd.DataFrame(features, columns=list("abcd"))
    frame["label"] = np.array(["x", "y", "z"])[label]
    model = ondine.prepare(models / "net.onnx", loss="softmax-cross-entropy", optimizer="adam",
                           learning_rate=0.1, init="keep")  # fmt: skip
    ondine.Trainer(model, epochs=5, batch_size=16).fit(frame)
    turned = frame[["label", "d", "b", "a", "c"]]
    assert ondine.evaluate(model, turned)["metrics"]["accuracy"] > 0.9
    rows = ondine.Dataset.open(pl.from_pandas(turned.drop(columns="label")), model, "inference")
    feeds = next(rows.batches(90, model=model, algorithm=-1, shuffle=False))
    assert (model.infer(feeds)["logits"].argmax(axis=1) == label).mean() > 0.9


def test_a_table_becomes_a_network_that_takes_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    size, kind = rng.normal(size=120), np.array(["a", "b"])[rng.integers(0, 2, 120)]
    frame = pl.DataFrame({"size": size, "kind": kind, "price": size + 3.0 * (kind == "b")})
    report = ondine.finetune(None, frame, tmp_path / "price.onnx", drop="kind", epochs=5)
    assert report.metric == "rmse" and report.rows[0] > report.rows[1] > 0
    assert ondine.load(tmp_path / "price.onnx").inputs[0].dims == (-1, 1)
    assert ondine.new_network(frame, drop="kind")
    with pytest.raises(ondine.MismatchError, match="column 'size' has no number"):
        ondine.finetune(None, frame.with_columns(size=pl.lit(None, pl.Float64)), drop="kind")


def test_texts_and_missing_numbers_of_a_table_are_encoded_in_the_network(tmp_path):
    rng = np.random.default_rng(0)
    size, kind = rng.normal(size=240), np.array(["a", "b"])[rng.integers(0, 2, 240)]
    price = np.nan_to_num(size) + 3.0 * (kind == "b")
    frame = pd.DataFrame({"size": size, "kind": kind, "price": price})
    frame.loc[::20, "size"] = None
    report = ondine.finetune(None, frame, tmp_path / "price.onnx", epochs=30)
    assert any("one-hot for 'kind' (2 values)" in line for line in report.assumed)
    assert report.metrics["r2"] > 0.8
    assert [one.name for one in ondine.load(tmp_path / "price.onnx").inputs] == ["size", "kind"]
    embedded = ondine.finetune(None, frame, epochs=1, embed=["kind=3"])
    assert any("embeddings for 'kind'" in line for line in embedded.assumed)


def test_what_no_table_holds_is_refused_by_its_name():
    y = [0, 1]
    for column in (pa.array([[1], [2]]), pa.array([b"a", b"b"]), pa.array([1, 2], pa.date32())):
        with pytest.raises(TypeError, match="column 'odd' is of Arrow's type"):
            ondine.Dataset.open(pa.table({"odd": column, "y": y}))
    with pytest.raises(ValueError, match=r"'odd' has a text with a character U\+0000"):
        ondine.Dataset.open(pa.table({"odd": ["a\0", "b"], "y": y}))
    with pytest.raises(ondine.CorruptError, match="two columns have one name") as caught:
        ondine.Dataset.open(pa.table([pa.array(y)] * 2, names=["x", "x"]))
    assert "the table" in str(caught.value) and "ondine-" not in str(caught.value)
    with pytest.raises(ondine.CorruptError, match="line 3, column 'x': the number is missing"):
        ondine.Dataset.open(pa.table({"x": [1.0, None], "y": y}))
    with pytest.raises(TypeError, match="one column, not a table"):
        ondine.Dataset.open(pa.chunked_array([[1, 2]]))
    with pytest.raises(ondine.CorruptError, match="no rows"):
        ondine.Dataset.open(pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}))


def test_no_file_of_a_table_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(os.listdir("/dev/shm")) if os.path.exists("/dev/shm") else set()
    ondine.Dataset.open(pa.table({"x": [1, 2], "y": [0, 1]}))
    after = set(os.listdir("/dev/shm")) if os.path.exists("/dev/shm") else set()
    assert not [one for one in after - before if one.startswith("ondine-")]
    assert not list(tmp_path.iterdir())
