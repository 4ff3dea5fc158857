-- The mean call of each phase, in parts that sum to its wall time. A part that any call lacks is NULL, not 0.
-- One call is one row of phase_breakdown: a phase and step of one repeat and rank.
WITH calls AS (
    SELECT *, operator_ns IS NOT NULL AND sync_ns IS NOT NULL AND between_operators_ns IS NOT NULL AS has_operators,
        device_busy_ns IS NOT NULL AND device_idle_ns IS NOT NULL AS has_device
    FROM phase_breakdown
    WHERE run_id = $run_id AND pass <> 'clean' AND wall_ns > 0
)
SELECT
    pass, phase,
    count(*) AS calls,
    avg(wall_ns) AS wall_ns,
    CASE WHEN bool_and(has_operators) THEN avg(operator_ns - sync_ns) END AS operators_ns,
    CASE WHEN bool_and(has_operators) THEN avg(sync_ns) END AS waiting_ns,
    CASE WHEN bool_and(has_operators) THEN avg(between_operators_ns) END AS between_ns,
    CASE WHEN bool_and(has_device) THEN avg(device_busy_ns) END AS device_busy_ns,
    CASE WHEN bool_and(has_device) THEN avg(device_idle_ns) END AS device_idle_ns,
    avg(operators) AS operators, avg(launches) AS launches, avg(kernels) AS kernels
FROM calls
GROUP BY pass, phase
HAVING bool_or(has_operators) OR bool_or(device_busy_ns IS NOT NULL)
ORDER BY pass = 'profiled' DESC, pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase
