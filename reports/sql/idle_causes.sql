-- Why the device was idle, summed over the calls of a phase.
SELECT pass, phase, cause, count(*) AS gaps, sum(dur_ns) AS idle_ns, max(dur_ns) AS longest_ns
FROM device_idle
WHERE run_id = $run_id
GROUP BY pass, phase, cause
ORDER BY pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase, idle_ns DESC
