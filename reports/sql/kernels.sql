-- Kernels and copies by phase: sum_ns counts overlapping work twice, busy_ns is the union.
SELECT name, kind, coalesce(phase, 'outside') AS phase, sum(calls) AS calls, sum(sum_ns) AS sum_ns, sum(busy_ns) AS busy_ns
FROM kernel_summary
WHERE run_id = $run_id AND pass = $pass
GROUP BY ALL
ORDER BY busy_ns DESC, name
