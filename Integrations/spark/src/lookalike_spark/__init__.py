"""Computes images with Spark: a `lookalike worker` per task slot, Parquet as the result.

    from lookalike_spark import compute, read_images

    results = compute(read_images(spark, "s3://bucket/images/"))
    results.write.parquet("s3://bucket/prints/")

The package `lookalike` has to be installed on every executor, from the wheel that carries the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import lookalike
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SCHEMA", "compute", "import_parquet", "read_images"]

SCHEMA = "path string, print array<float>, localFeatures binary, thumbnail binary, model string, error string"
"""The columns of a result: `error` is null if the image could be used; the others, except `path`, are null if not."""

_ARROW_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("print", pa.list_(pa.float32())),
        ("localFeatures", pa.binary()),
        ("thumbnail", pa.binary()),
        ("model", pa.string()),
        ("error", pa.string()),
    ]
)

# By default Spark counts 4 MiB per file besides its bytes, and puts up to 128 MiB into a task: 32 images. A task of
# Python takes a tenth of a second by itself, as long as a dozen images.
_SPARK_FILES = {
    "spark.sql.files.openCostInBytes": ("4194304", str(64 << 10)),
    "spark.sql.files.maxPartitionBytes": ("134217728", str(512 << 20)),
}

# Images in memory at once, in Spark and in Python. By default Spark makes batches of 10,000 rows.
_ROWS_PER_BATCH = 32


def read_images(spark: SparkSession, path: str | list[str], *, recursive: bool = True) -> DataFrame:
    """Returns the files of folders with their bytes, as Spark's `binaryFile` reads them; it leaves out empty files.

    Small files are put into larger tasks than by default, unless the session has other settings for that.

    Args:
        spark: the session.
        path: a folder or several, of any file system that Spark reads.
        recursive: whether folders below are read, too.
    """
    for name, (default, value) in _SPARK_FILES.items():
        if spark.conf.get(name, default).rstrip("bB") == default:
            spark.conf.set(name, value)
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", str(recursive).lower())
    return reader.load(path).select("path", "content")


def compute(images: DataFrame, *, local_features: bool = True, thumbnail: int | None = 256, jobs: int = 1) -> DataFrame:
    """Returns what a catalog stores of images, with the columns of `SCHEMA`.

    A task that is lost is computed again by Spark; images do not depend on each other.

    Args:
        images: a table with the columns `path` (any text that names the image) and `content` (the bytes of an image
            file), such as of `read_images`.
        local_features: whether to extract local features, which verify matches.
        thumbnail: the long side of thumbnails in pixels; None for none.
        jobs: the threads of a worker. Spark starts one per core, so that one thread is enough.
    """
    spark = images.sparkSession
    rows = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch", "10000"))
    if not 0 < rows <= _ROWS_PER_BATCH:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", _ROWS_PER_BATCH)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from lookalike_spark import _computed

        yield from _computed(batches, local_features=local_features, thumbnail=thumbnail, jobs=jobs)

    return images.select("path", "content").mapInArrow(run, SCHEMA)


# Python's processes serve many tasks, and a worker takes a moment to start.
_engines: dict[int, lookalike.Engine] = {}


def _engine(jobs: int) -> lookalike.Engine:
    if jobs not in _engines:
        _engines[jobs] = lookalike.Engine(jobs=jobs)
    return _engines[jobs]


def _computed(
    batches: Iterable[pa.RecordBatch], *, local_features: bool, thumbnail: int | None, jobs: int
) -> Iterator[pa.RecordBatch]:
    """A batch of results per batch of images. The engine is given the next batch while the last one is written."""
    engine = _engine(jobs)
    model = engine.model[1]
    paths: list[str] = []
    ends: list[int] = []

    def contents() -> Iterator[memoryview]:
        for batch in batches:
            paths.extend(batch.column("path").to_pylist())
            ends.append(len(paths))
            for value in batch.column("content"):
                yield memoryview(value.as_buffer() or b"")

    rows: list[dict[str, Any]] = []
    count = 0
    for result in engine.compute(contents(), local_features=local_features, thumbnail=thumbnail):
        row: dict[str, Any] = {"path": paths[count]}
        if isinstance(result, lookalike.ImageError):
            row["error"] = result.reason
        else:
            row |= {"print": result.print, "model": model}
            row |= {"localFeatures": result.local_features, "thumbnail": result.thumbnail}
        rows.append(row)
        count += 1
        # A batch may be empty.
        while ends and ends[0] < count:
            ends.pop(0)
        if ends and ends[0] == count:
            yield pa.RecordBatch.from_pylist(rows, schema=_ARROW_SCHEMA)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW_SCHEMA)


def import_parquet(
    folder: str | os.PathLike[str], catalog: lookalike.Catalog, *, root: str | os.PathLike[str] | None = None
) -> int:
    """Adds the results of `compute` to a catalog, a Parquet file after the other; no image is read.

    An image's id is its path below the root without the extension, as for a folder that is indexed. Images with an
    error are left out. A run that was interrupted is completed by another one.

    Args:
        folder: a local folder with the Parquet files, or with folders of them.
        catalog: made if it is not there.
        root: the folder of the images, as it was given to `read_images`. Paths that are not absolute need none.

    Returns:
        The number of images that were added or were there.

    Raises:
        ValueError: if there is no Parquet file, an image is not below the root, or two images have the same id. Nothing
            is added then.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    files = sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.endswith(".parquet")
    )
    if not files:
        raise ValueError(f"{os.fspath(folder)}: has no Parquet files")
    paths: dict[str, str] = {}
    models: set[str] = set()
    for file in files:
        table = pq.ParquetFile(file).read(columns=["path", "model"])
        table = table.filter(pc.is_valid(table["model"]))
        models |= set(table["model"].unique().to_pylist())
        if len(models) > 1:
            raise ValueError(f"{file}: has prints of another model than the files before it")
        for path in table["path"].to_pylist():
            other = paths.setdefault(_entity_id(path, root), path)
            if other != path:
                raise ValueError(f"{path}: has the same id “{_entity_id(path, root)}” as {other}; rename one of them")
    columns = ["path", "print", "localFeatures", "thumbnail", "model"]
    count = 0
    for file in files:
        table = pq.ParquetFile(file).read(columns=columns)
        table = table.filter(pc.is_valid(table["print"]))
        if table.num_rows == 0:
            continue
        prints = table["print"].combine_chunks()
        matrix = prints.flatten().to_numpy().reshape(table.num_rows, -1)
        entities = [{"id": _entity_id(path, root), "image": path} for path in table["path"].to_pylist()]
        catalog.import_prints(
            matrix, entities, local_features=_records(table["localFeatures"]), thumbnails=_records(table["thumbnail"])
        )
        count += table.num_rows
    return count


def _entity_id(path: str, root: str | os.PathLike[str] | None) -> str:
    """The path of an image below the root, without the extension: what `lookalike index` makes of a folder."""

    def plain(text: str) -> str:
        return re.sub(r"^file:/+", "/", text)

    below = plain(path)
    if root is not None:
        start = plain(os.fspath(root)).rstrip("/") + "/"
        if not re.match(r"/|\w[\w+.-]*:", start):
            start = os.path.abspath(start) + "/"
        if not below.startswith(start):
            raise ValueError(f"{path}: is not below the root, {os.fspath(root)}")
        below = below[len(start) :]
    elif re.match(r"/|\w[\w+.-]*:", below):
        raise ValueError(f"{path}: give the folder of the images as the root, since ids are paths below it")
    folder, slash, name = below.rpartition("/")
    return folder + slash + (name.rpartition(".")[0] or name)


def _records(column: pa.ChunkedArray) -> Iterator[bytes | None] | None:
    """The values of a column; None if it has none."""
    if column.null_count == len(column):
        return None
    return (value.as_py() for value in column)
