-- The mean call of each phase in the traced passes: what it is made of. The profiler is on, so these times explain and
-- are no latencies. Over several ranks the mean is over all of their calls.
SELECT
    pass, phase,
    count(*) AS calls,
    avg(wall_ns) AS wall_ns,
    avg(operator_ns - sync_ns) AS operators_ns,
    avg(sync_ns) AS waiting_ns,
    avg(between_operators_ns) AS between_ns,
    avg(device_busy_ns) AS device_busy_ns,
    CASE WHEN count(device_idle_ns) = count(*) THEN avg(device_idle_ns) END AS device_idle_ns,
    avg(operators) AS operators, avg(launches) AS launches, avg(kernels) AS kernels,
    sum(tokens)::BIGINT AS tokens,
    sum(operators)::BIGINT AS operators_sum, sum(launches)::BIGINT AS launches_sum, sum(kernels)::BIGINT AS kernels_sum
FROM phase_breakdown
WHERE run_id = $run_id AND pass <> 'clean' AND wall_ns > 0
GROUP BY pass, phase
ORDER BY pass = 'profiled' DESC, pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase
