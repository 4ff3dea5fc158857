-- The highest value of each memory counter over all samples.
SELECT counter, max(bytes) AS bytes, max(pass) AS pass
FROM memory_timeline
WHERE run_id = $run_id AND available AND counter <> 'recommended_max'
GROUP BY counter
