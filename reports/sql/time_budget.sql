-- The mean call of each phase, split by what its own thread was in. The parts sum to the wall time.
WITH calls AS (
    SELECT pass, phase, count(*) AS calls, avg(wall_ns) AS wall_ns
    FROM (SELECT DISTINCT pass, rank, repeat, phase, step, wall_ns FROM time_budget WHERE run_id = $run_id)
    GROUP BY pass, phase
)
SELECT pass, phase, part, sum(ns) / any_value(calls) AS ns, any_value(calls.wall_ns) AS wall_ns, any_value(calls) AS calls,
    sum(device_idle_ns) / any_value(calls) AS device_idle_ns
FROM time_budget JOIN calls USING (pass, phase)
WHERE run_id = $run_id
GROUP BY pass, phase, part
ORDER BY pass = 'profiled' DESC, pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase,
    array_position(['linear', 'attention', 'norm', 'embedding', 'cache update', 'sampling', 'copy', 'other', 'launch', 'runtime',
        'synchronisation', 'between operators', 'device work', 'device idle', 'not established'], part)
