"""The job: images to Parquet."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from lookalike_spark import compute, read_images


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="lookalike_spark", description="Computes prints, local features and thumbnails of images with Spark."
    )
    parser.add_argument("images", help="a folder of images, of any file system that Spark reads")
    parser.add_argument("output", help="the folder of the Parquet files; it must not be there")
    parser.add_argument("--no-local-features", action="store_true", help="leave out local features")
    parser.add_argument("--thumbnails", type=int, default=256, metavar="PIXELS", help="the long side; 0 for none")
    parser.add_argument("--partitions", type=int, help="the number of tasks; Spark's choice by default")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("lookalike").getOrCreate()
    try:
        images = read_images(spark, arguments.images)
        if arguments.partitions:
            images = images.repartition(arguments.partitions)
        results = compute(
            images, local_features=not arguments.no_local_features, thumbnail=arguments.thumbnails or None
        )
        results.write.parquet(arguments.output)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
