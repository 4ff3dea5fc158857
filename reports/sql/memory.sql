-- Every memory counter at every phase edge; since_ns counts from the begin of the repeat's first phase.
WITH begins AS (
    SELECT pass, repeat, min(start_ns) AS start_ns FROM phases WHERE run_id = $run_id GROUP BY ALL
)
SELECT pass, counter, repeat, phase, step, t_ns - start_ns AS since_ns, bytes, available
FROM memory_timeline
LEFT JOIN begins USING (pass, repeat)
WHERE run_id = $run_id
ORDER BY pass, counter, repeat, t_ns, step
