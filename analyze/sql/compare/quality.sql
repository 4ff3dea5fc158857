-- What was left out or repaired.
SELECT kind, reason, sum(events)::BIGINT AS events, min(detail) AS detail
FROM quality
WHERE run_id = $run_id
GROUP BY kind, reason
ORDER BY kind, events DESC, reason
