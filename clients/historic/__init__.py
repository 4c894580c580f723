"""Years of observations: sensor files become RDF by Spark, and the journal becomes an archive.

Needs the extra `spark`; nothing outside this package imports pyspark, and of this package only what runs on Spark does.
"""
