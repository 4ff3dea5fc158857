-- The mean call of each phase, split by what its own thread was in. The parts sum to the wall time.
WITH split AS MATERIALIZED (SELECT pass, rank, repeat, phase, step, wall_ns, part, ns FROM time_budget WHERE run_id = $run_id),
calls AS (
    SELECT pass, phase, count(*) AS calls, avg(wall_ns) AS wall_ns
    FROM (SELECT DISTINCT pass, rank, repeat, phase, step, wall_ns FROM split)
    GROUP BY pass, phase
)
SELECT pass, phase, part, sum(ns) / any_value(calls) AS ns, any_value(calls.wall_ns) AS wall_ns, any_value(calls) AS calls
FROM split JOIN calls USING (pass, phase)
GROUP BY pass, phase, part
ORDER BY pass = 'profiled' DESC, pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase,
    array_position(['linear', 'attention', 'norm', 'embedding', 'cache update', 'sampling', 'elementwise', 'layout', 'copy',
        'other', 'launch', 'runtime', 'synchronisation', 'between operators', 'device work', 'device idle', 'not established'], part)
