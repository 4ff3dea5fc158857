-- The highest value of each memory counter over all samples.
SELECT counter, max(bytes) AS bytes, count(DISTINCT (pass, repeat)) AS generations
FROM memory_timeline
WHERE run_id = $run_id AND available
GROUP BY counter
ORDER BY counter
