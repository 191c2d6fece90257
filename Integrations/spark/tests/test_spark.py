"""Tests of the Spark job on a local cluster with two executors, one of which is killed.

python -m unittest discover Integrations/spark/tests
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import lookalike
import numpy as np
import pyarrow.parquet as pq

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from lookalike_spark import compute, import_parquet, read_images  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
COVERS = os.path.join(ROOT, "Examples/Demo/covers")


def executors() -> list[int]:
    """The executors of the cluster of this process."""
    lines = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, check=True).stdout.decode().splitlines()
    processes = [line.split(None, 2) for line in lines[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in processes}

    def is_own(pid: int) -> bool:
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return [int(pid) for pid, _, words in processes if "CoarseGrainedExecutorBackend" in words and is_own(int(pid))]


class SparkTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.images = os.path.join(cls.folder, "images")
        os.mkdir(cls.images)
        covers = sorted(name for name in os.listdir(COVERS) if name.endswith(".jpg"))
        for copy in range(10):
            for name in covers:
                shutil.copy(os.path.join(COVERS, name), os.path.join(cls.images, f"{copy}-{name}"))
        with open(os.path.join(cls.images, "broken.jpg"), "wb") as file:
            file.write(b"no image")
        cls.spark = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.ui.enabled", "false")
            .config("spark.executor.memory", "512m")
            .config("spark.sql.files.openCostInBytes", "1")
            .getOrCreate()
        )
        cls.spark.sparkContext.setLogLevel("OFF")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.spark.stop()
        shutil.rmtree(cls.folder)

    def check(self, output: str) -> None:
        rows = pq.read_table(output).to_pylist()
        self.assertEqual(len(rows), len(os.listdir(self.images)))
        errors = {os.path.basename(row["path"]): row["error"] for row in rows if row["error"] is not None}
        self.assertEqual(set(errors), {"broken.jpg"})
        results = {os.path.basename(row["path"]): row for row in rows if row["error"] is None}
        names = sorted(results)
        with lookalike.Engine() as engine:
            paths = [os.path.join(self.images, name) for name in names]
            expected = engine.compute(paths, local_features=True, thumbnail=256)
            for name, computed in zip(names, expected):
                row = results[name]
                np.testing.assert_array_equal(np.array(row["print"], np.float32), computed.print)
                self.assertEqual(row["localFeatures"], computed.local_features)
                self.assertEqual(row["thumbnail"], computed.thumbnail)
                self.assertEqual(row["model"], engine.model[1])

    def test_a_job_and_its_catalog(self) -> None:
        output = os.path.join(self.folder, "prints")
        compute(read_images(self.spark, self.images).repartition(6)).write.parquet(output)
        self.check(output)
        with lookalike.Catalog(os.path.join(self.folder, "catalog")) as catalog:
            count = len(os.listdir(self.images)) - 1
            self.assertEqual(import_parquet(output, catalog, root=self.images), count)
            self.assertEqual(len(catalog.entities()), count)
            name = sorted(os.listdir(self.images))[5]
            matches = catalog.search(os.path.join(self.images, name))
            self.assertIn(os.path.splitext(name)[0], [match.id for match in matches])
            self.assertGreater(matches[0].inliers, 10)

    def test_ids_are_those_of_a_folder(self) -> None:
        images = os.path.join(self.folder, "classes")
        covers = sorted(name for name in os.listdir(COVERS) if name.endswith(".jpg"))
        for number, name in enumerate(("cats/0001.jpg", "dogs/0001.jpg", "dogs/a.b.jpg", "großes/ä é.jpg")):
            os.makedirs(os.path.join(images, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(COVERS, covers[number]), os.path.join(images, name))
        output = os.path.join(self.folder, "partitioned")
        results = compute(read_images(self.spark, images).repartition(3))
        is_cat = results.path.contains("/cats/")
        results.withColumn("cat", is_cat).write.partitionBy("cat").parquet(output)
        self.assertEqual(sorted(name for name in os.listdir(output) if "=" in name), ["cat=false", "cat=true"])
        found = []
        for name, fill in (
            ("imported", lambda catalog: import_parquet(output, catalog, root=images)),
            ("indexed", lambda catalog: catalog.index(images)),
        ):
            with lookalike.Catalog(os.path.join(self.folder, name)) as catalog:
                fill(catalog)
                matches = catalog.search(os.path.join(images, "dogs/0001.jpg"))
                found.append(([entity["id"] for entity in catalog.entities()], matches[0].id, matches[0].confidence))
        self.assertEqual(sorted(found[0][0]), sorted(found[1][0]))
        self.assertEqual(found[0][1:], found[1][1:])
        self.assertEqual(found[0][1], "dogs/0001")

    def test_small_files_share_a_task(self) -> None:
        names = ("spark.sql.files.openCostInBytes", "spark.sql.files.maxPartitionBytes")
        before = {name: self.spark.conf.get(name) for name in names}
        try:
            for name in names:
                self.spark.conf.unset(name)
            # The session of the tests has a setting of its own.
            self.spark.conf.set(names[0], "4194304")
            images = read_images(self.spark, self.images)
            self.assertLessEqual(images.rdd.getNumPartitions(), 3)
            for name in names:
                self.spark.conf.set(name, "1000")
            images = read_images(self.spark, self.images)
            self.assertEqual({self.spark.conf.get(name) for name in names}, {"1000"})
            self.assertGreater(images.rdd.getNumPartitions(), 50)
        finally:
            for name, value in before.items():
                self.spark.conf.set(name, value)

    def test_an_executor_that_is_killed(self) -> None:
        before = executors()
        self.assertEqual(len(before), 2)
        killed: list[int] = []
        output = os.path.join(self.folder, "killed")
        marker = os.path.join(self.folder, "started")

        def mark(batches):
            # The first task of the job dies with its executor, once.
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                is_first = True
            except FileExistsError:
                is_first = False
            for number, batch in enumerate(batches):
                if is_first and number == 1:
                    parent = os.getppid()
                    # The daemon that forks Python's processes is a child of the executor.
                    with open(f"/proc/{parent}/stat") as file:
                        os.kill(int(file.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
                yield batch

        images = read_images(self.spark, self.images).repartition(4)
        compute(images.mapInArrow(mark, "path string, content binary")).write.parquet(output)
        after = executors()
        killed = [pid for pid in before if pid not in after]
        self.assertEqual(len(killed), 1)
        self.check(output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
