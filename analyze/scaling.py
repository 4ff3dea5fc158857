"""Scaling statistics that SQL lacks: confidence intervals of the fits in the scaling views."""

from dataclasses import dataclass
from typing import Any

import duckdb

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Exponent:
    """How prefill grows with the prompt: latency ~ length ** exponent, for one series and batch size.

    low and high bound the exponent with 95 % confidence: Student's t with points - 2 degrees of freedom on the
    residuals of the line on log-log axes. They tell how well one power law describes these runs, and nothing beyond
    their lengths. None where there are fewer than three lengths.
    """

    series: str
    batch_size: int
    points: int
    lengths: int
    shortest_tokens: int
    longest_tokens: int
    exponent: float | None
    low: float | None
    high: float | None
    ln_ns_at_one_token: float | None
    r_squared: float | None


@dataclass(frozen=True)
class DecodeSlope:
    """What a cached token adds to a decode step, in nanoseconds, with its 95 % interval as for `Exponent`."""

    series: str
    batch_size: int
    points: int
    contexts: int
    shortest_tokens: float
    longest_tokens: float
    ns_per_cached_token: float | None
    low_ns: float | None
    high_ns: float | None
    ns_at_empty_cache: float | None
    r_squared: float | None


def interval(
    estimate: float | None, standard_error: float | None, points: int, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """Two-sided interval of a least-squares slope: estimate +- t * standard error, points - 2 degrees of freedom."""
    if estimate is None or standard_error is None or points < 3:
        return None, None
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, points - 2)) * standard_error
    return estimate - half, estimate + half


def prefill_exponents(con: duckdb.DuckDBPyConnection) -> list[Exponent]:
    """The fitted exponent of prefill for every series and batch size of the store."""
    found = []
    for row in _rows(con, "SELECT * FROM scaling_prefill ORDER BY series, batch_size"):
        low, high = interval(row["exponent"], row.pop("standard_error"), row["points"])
        found.append(Exponent(**row, low=low, high=high))
    return found


def decode_slopes(con: duckdb.DuckDBPyConnection) -> list[DecodeSlope]:
    """The fitted slope of decode latency against cached tokens for every series and batch size of the store."""
    found = []
    for row in _rows(con, "SELECT * FROM scaling_decode ORDER BY series, batch_size"):
        low, high = interval(row["ns_per_cached_token"], row.pop("standard_error_ns"), row["points"])
        found.append(DecodeSlope(**row, low_ns=low, high_ns=high))
    return found


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = con.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
