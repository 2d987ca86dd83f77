"""What the engine of Spark refuses, and what it sends, without a cluster."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import InputError, Release, ReleaseError, engines, release
from discreet.engines.spark import ENCRYPTION, _Quiet
from discreet.publish.layout import Layout
from discreet.publish.plan import as_plan
from discreet.publish.spark import Decode, Randomise, Shared
from discreet.publish.spark_types import cast_batch, spark_schema
from discreet.randomness import StreamKey


def session(version="4.3.0", **settings):
    """As much of a session as is looked at."""
    conf = SimpleNamespace(get=lambda name, default: settings.get(name.rpartition(".")[2], default))
    return SimpleNamespace(version=version, read=None, conf=conf)


@pytest.mark.parametrize("version", ["3.5.9", "4.0.0", "4.1.4"])
def test_versions_that_lose_rows_are_refused(version):
    """They report success when rows were lost."""
    with pytest.raises(InputError, match=r"use Spark 4\.2 or later"):
        engines.Spark(session(version))
    engines.Spark(session("4.2.0"))


@pytest.mark.parametrize("name", ["enabled", "enableFullRetryOnMismatch"])
def test_checksums_must_be_on(name):
    """They are the second line behind the keys."""
    with pytest.raises(InputError, match="switched off"):
        engines.Spark(session(**{name: "false"}))


@pytest.mark.parametrize("stated", [{}, {ENCRYPTION: "false"}, {ENCRYPTION: "no"}])
def test_disks_must_be_encrypted(stated):
    """Where it counts, in the settings of the context; a client of Spark Connect has those of its session only."""
    found = session()
    context = SimpleNamespace(getConf=lambda: stated)
    for one in (found, SimpleNamespace(**vars(found) | {"sparkContext": context, "conf": {ENCRYPTION: "true"}})):
        with pytest.raises(InputError, match=f"{ENCRYPTION} is off"):
            engines.Spark.check_encryption(SimpleNamespace(_session=one))
    context = SimpleNamespace(getConf=lambda: {ENCRYPTION: "True"})
    for one in (SimpleNamespace(sparkContext=context, conf={}), SimpleNamespace(conf={ENCRYPTION: "true"})):
        engines.Spark.check_encryption(SimpleNamespace(_session=one))


@pytest.mark.parametrize("wrong", [None, "spark://host", 7])
def test_a_session_is_needed(wrong):
    """Nothing else."""
    with pytest.raises(InputError, match="SparkSession"):
        engines.Spark(wrong)


def test_sources_and_outputs_on_spark_are_folders(tmp_path):
    """One sentence for anything else, before Spark is asked for anything."""
    engine = engines.Spark(session())
    with pytest.raises(ReleaseError, match="there is no file or folder"):
        release(tmp_path / "absent", {}, tmp_path / "out", engine=engine)
    with pytest.raises(ReleaseError, match="folder or a data frame"):
        release(pa.table({"x": [1]}), {}, tmp_path / "out", engine=engine)
    (tmp_path / "data.csv").write_text("x\n1\n")
    with pytest.raises(ReleaseError, match="Parquet"):
        release(tmp_path / "data.csv", {}, tmp_path / "out", engine=engine)
    for wrong in ("spark", 3):
        with pytest.raises(ReleaseError, match="engine must be"):
            release(pa.table({"x": [1]}), PLAN, engine=wrong)
        with pytest.raises(ReleaseError, match="engine must be"):
            Release.open(tmp_path, engine=wrong)


PLAN = {
    "format": 1,
    "public": [{"columns": ["region"]}],
    "private": [
        {
            "columns": ["k"],
            "domain": {"categorical": [f"value number {number}" for number in range(50_000)]},
            "mechanism": "randomized-response",
            "epsilon": 1.0,
        }
    ],
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What tasks read, for a domain that is large, with the path and the SHA-256 of its file."""
    table = pa.table({"region": ["n", "s", "s"], "k": [f"value number {number}" for number in (1, 49_999, 7)]})
    layout = Layout(as_plan(PLAN), table.schema)
    path = tmp_path_factory.mktemp("task") / "task"
    return layout, table, path, Shared(layout, None, layout.released).write(path)


def test_a_task_is_small_and_says_nothing(shared):
    """PySpark writes functions above a megabyte to a file; the key travels in far less, however large the domain."""
    _, _, path, sha256 = shared
    secret = b"0123456789abcdef" * 2
    task = _Quiet(Randomise(secret, True, str(path), sha256, True))
    assert len(pickle.dumps(task)) < 2_000
    assert path.stat().st_size > 1_000_000
    assert b"0123456789abcdef" not in path.read_bytes()
    assert "0123456789abcdef" not in repr(task._task)


@pytest.mark.parametrize("staged", [True, False])
def test_every_attempt_of_a_task_gives_the_same(shared, staged):
    """Under one key and partition; another partition has another noise and order."""
    layout, table, path, sha256 = shared
    key = StreamKey.fresh()
    rows = pa.concat_tables([table] * 400).combine_chunks().to_batches()

    def attempt(partition):
        task = Randomise(key.reveal(), True, str(path), sha256, staged)
        return pa.Table.from_batches(task(partition, iter(rows)))

    assert attempt(3).equals(attempt(3))
    assert not attempt(3).equals(attempt(4))
    if staged:
        decoded = pa.Table.from_batches(Decode(str(path), sha256)(0, iter(attempt(3).to_batches())))
        assert decoded.schema == spark_schema(layout.released)
        assert decoded.column("region").to_pylist() == ["n", "s", "s"] * 400


def test_more_partitions_than_a_key_tells_apart_are_refused(shared):
    """None of them would share a stream with another; the sentence says what to do."""
    _, table, path, sha256 = shared
    task = Randomise(StreamKey.fresh().reveal(), True, str(path), sha256, True)
    with pytest.raises(InputError, match="use fewer partitions"):
        next(task(1 << 32, iter(table.to_batches())))


def test_a_changed_task_is_not_read(shared, tmp_path):
    """What is unpickled is what was written."""
    _, _, path, sha256 = shared
    (tmp_path / "task").write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ReleaseError, match="was changed"):
        Shared.read(str(tmp_path / "task"), sha256)


def test_types_that_spark_does_not_have_become_wider_ones():
    """As Spark reads them, so that every cell is the same; what does not fit on the way back is refused, not shown."""
    cells = pa.array(["255", "7"])
    kinds = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.large_string()]
    columns = [*(cells.cast(kind) for kind in kinds), cells.dictionary_encode()]
    batch = pa.record_batch(columns, names=[*"abcdef"])
    there = cast_batch(batch, spark_schema(batch.schema))
    assert there.schema.types == [pa.int16(), pa.int32(), pa.int64(), pa.decimal128(20, 0), pa.string(), pa.string()]
    assert [[int(cell) for cell in column.to_pylist()] for column in there.columns] == [[255, 7]] * 6
    assert cast_batch(there, batch.schema).equals(batch)
    with pytest.raises(ReleaseError, match='column "n" has a cell that uint8') as caught:
        cast_batch(pa.record_batch({"n": [65_537]}), pa.schema([("n", pa.uint8())]))
    assert "65" not in str(caught.value)


def test_parts_with_different_columns_are_refused(tmp_path):
    """Spark would read the columns of one of them."""
    for number, name in enumerate("xy"):
        pq.write_table(pa.table({name: [1]}), tmp_path / f"part-{number}.parquet")
    with pytest.raises(ReleaseError, match="other columns or types"):
        release(tmp_path, PLAN, tmp_path.parent / "out", engine=engines.Spark(session()))


def test_an_error_of_a_task_keeps_its_arguments():
    """The command line can still name the option after an error has passed through Java."""
    from discreet.engines.spark import _from_a_task, _refusing
    from discreet.errors import Argument, EstimationError

    said = EstimationError('column "missing=x": the value is missing; ', Argument('missing="drop"'), " leaves it out")
    with pytest.raises(EstimationError) as caught, _refusing():
        raise RuntimeError(f"Py4JJavaError: at org.apache\n{_from_a_task(said)}\n at java")
    assert caught.value.parts == said.parts
    assert [isinstance(part, Argument) for part in caught.value.parts] == [False, True, False]
