-- Kernels and copies by phase: sum_ns counts overlapping work twice, busy_ns is the union. Of a recording of the whole
-- machine, also the processes that they ran for.
WITH owners AS (
    SELECT name, kind, string_agg(DISTINCT process, ', ' ORDER BY process) AS process
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass AND process IS NOT NULL
    GROUP BY ALL
)
SELECT
    name, kind, any_value(process) AS process, coalesce(phase, 'outside') AS phase,
    sum(calls) AS calls, sum(sum_ns) AS sum_ns, sum(busy_ns) AS busy_ns
FROM kernel_summary
LEFT JOIN owners USING (name, kind)
WHERE run_id = $run_id AND pass = $pass
GROUP BY name, kind, phase
ORDER BY busy_ns DESC, name
