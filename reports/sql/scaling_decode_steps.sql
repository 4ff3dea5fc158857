-- The median of every decode step of the series' runs, clean pass.
SELECT p.run_id, p.batch_size, p.prompt_tokens, s.step, s.cached_tokens, s.median_ns
FROM step_latency s
JOIN scaling_points p USING (run_id)
WHERE p.series = $series AND s.phase = 'decode' AND s.cached_tokens IS NOT NULL
ORDER BY p.batch_size, p.prompt_tokens, p.run_id, s.step
