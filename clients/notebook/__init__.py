"""Answers and live queries as pandas DataFrames, and charts that follow them: for notebooks, and for plain scripts.

`query` asks once, `Live` stays current, `chart` draws a `Live` and draws it again as it changes, `frame` makes a DataFrame of
what the other clients answer.  Needs the extra `notebook`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401, ICN001 - whoever lacks it is to hear of it here
    import pandas as _pandas  # noqa: F401, ICN001
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"this needs {error.name}, which is not installed: pip install 'triplewire[notebook]'",
        name=error.name,
    ) from error

from .charts import Chart, chart
from .frames import frame, query
from .live import Live

__all__ = ["Chart", "Live", "chart", "frame", "query"]
