-- How long the machine was in which thermal state, where a recording says so.
SELECT pass, state, sum(dur_ns)::BIGINT AS dur_ns
FROM device_states
WHERE run_id = $run_id AND kind = 'thermal' AND state IS NOT NULL
GROUP BY pass, state
ORDER BY pass, dur_ns DESC
