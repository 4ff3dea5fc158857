-- Memory in tensors by the allocations of the trace, in 240 stretches of the first repeat: the least and the most in each.
-- since_ns counts from the begin of its first phase. On cpu only what was added since the trace began is known.
WITH extent AS (
    SELECT pass, min(start_ns) AS first_ns, greatest(max(start_ns + dur_ns) - min(start_ns), 1) AS length_ns
    FROM phases
    WHERE run_id = $run_id AND rank = 0 AND repeat = 0 AND start_ns IS NOT NULL
    GROUP BY pass
),
events AS (
    SELECT
        pass, a.device, a.t_ns - first_ns AS since_ns, length_ns,
        if(a.device LIKE 'cpu%', a.since_start_bytes, a.allocated_bytes) AS bytes, a.reserved_bytes
    FROM allocation_timeline a
    JOIN extent USING (pass)
    WHERE a.run_id = $run_id AND a.rank = 0 AND a.t_ns BETWEEN first_ns AND first_ns + length_ns
)
SELECT
    pass, device,
    (since_ns * 240 // length_ns) * length_ns // 240 AS since_ns,
    min(bytes) AS least_bytes, max(bytes) AS most_bytes, max(reserved_bytes) AS reserved_bytes, count(*) AS events
FROM events
WHERE bytes IS NOT NULL
GROUP BY pass, device, since_ns * 240 // length_ns, length_ns
ORDER BY pass, device, 3
