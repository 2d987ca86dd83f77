"""Files in and out: Parquet, CSV, folders of parts and Arrow streams, read batch by batch."""
