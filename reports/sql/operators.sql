-- Operators by the time in them and in nothing they called (self time), by phase.
SELECT name, layer, coalesce(phase, 'outside') AS phase, sum(calls) AS calls, sum(total_ns) AS total_ns, sum(self_ns) AS self_ns
FROM op_summary
WHERE run_id = $run_id AND pass = $pass AND layer = 'operator'
GROUP BY ALL
ORDER BY self_ns DESC, name
