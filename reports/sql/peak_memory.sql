-- The highest value of each memory counter over all samples, and the pass that held it: memory, where another held as much.
SELECT counter, max(bytes) AS bytes, arg_max(pass, (bytes, pass = 'memory')) AS pass
FROM memory_timeline
WHERE run_id = $run_id AND available AND counter <> 'recommended_max'
GROUP BY counter
ORDER BY counter
