-- Calls that launch, copy or wait, by name and phase, in one traced pass.
SELECT role, coalesce(phase, 'outside') AS phase, name, count(*) AS calls, sum(dur_ns)::BIGINT AS ns
FROM ops
WHERE run_id = $run_id AND pass = $pass AND role IN ('launch', 'copy', 'synchronisation')
GROUP BY ALL
ORDER BY role, calls DESC, name
