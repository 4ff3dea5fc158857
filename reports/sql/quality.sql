-- What was left out, repaired, or must be known.
SELECT kind, reason, sum(events) AS events, min(detail) AS detail, count(*) AS entries
FROM quality
WHERE run_id = $run_id
GROUP BY kind, reason
ORDER BY array_position(['excluded', 'repaired', 'note'], kind), events DESC, reason
