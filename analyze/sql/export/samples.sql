-- Counters sampled at the edges of phases; those that the device does not have are left out.
SELECT
    CASE counter
        WHEN 'kv_cache' THEN 'KV cache' WHEN 'tensor' THEN 'tensors' WHEN 'driver' THEN 'driver memory'
        WHEN 'resident' THEN 'resident memory' WHEN 'footprint' THEN 'physical footprint'
        WHEN 'peak' THEN 'peak of tensors' ELSE 'recommended maximum'
    END AS track,
    'bytes' AS unit, t_ns, bytes::DOUBLE AS value
FROM memory_timeline
WHERE run_id = $run_id AND pass = $pass AND $rank = 0 AND available AND t_ns IS NOT NULL
UNION ALL
SELECT 'CPU of the process', '% of one core', t_ns, process_cpu_percent FROM samples
WHERE run_id = $run_id AND pass = $pass AND $rank = 0 AND process_cpu_percent IS NOT NULL AND t_ns IS NOT NULL
ORDER BY track, t_ns
