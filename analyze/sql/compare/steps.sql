-- Clean latency of every step in every repeat.
SELECT phase, step, repeat, dur_ns, cached_tokens
FROM phases
WHERE run_id = $run_id AND pass = 'clean' AND dur_ns > 0
ORDER BY phase = 'prefill' DESC, phase, step, repeat
