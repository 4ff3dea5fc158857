"""The confidence interval of the fits in the scaling views, which SQL cannot give."""

CONFIDENCE = 0.95


def interval(
    estimate: float | None, standard_error: float | None, points: int, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """Two-sided interval of a least-squares slope: estimate +- t * standard error, points - 2 degrees of freedom.

    It tells how well one line describes these points, and nothing beyond them. None, None below three points.
    """
    if estimate is None or standard_error is None or points < 3:
        return None, None
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, points - 2)) * standard_error
    return estimate - half, estimate + half
