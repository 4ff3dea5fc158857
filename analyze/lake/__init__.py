"""A lake: runs as Parquet files in a folder or a bucket, for more traces than one file or machine should hold."""
