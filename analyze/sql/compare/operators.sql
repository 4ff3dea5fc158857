-- Host-side operators by self time, in one traced pass.
SELECT coalesce(phase, 'outside') AS phase, name, sum(calls)::BIGINT AS calls, sum(self_ns)::BIGINT AS ns
FROM op_summary
WHERE run_id = $run_id AND pass = $pass AND layer = 'operator'
GROUP BY ALL
ORDER BY ns DESC, name
