-- Why the device was idle, summed over the calls of a phase.
SELECT * FROM (
    SELECT pass, coalesce(phase, 'outside') AS phase, cause, count(*) AS gaps, sum(dur_ns) AS idle_ns, max(dur_ns) AS longest_ns
    FROM device_idle
    WHERE run_id = $run_id
    GROUP BY ALL
)
ORDER BY pass, array_position(['prefill', 'decode', 'mixed', 'unknown'], phase) NULLS LAST, phase, idle_ns DESC
