UPDATE phases
SET tokens = t.tokens, cached_tokens = t.cached_tokens, cpu_ns = t.cpu_ns
FROM timings t
WHERE phases.run_id = $run_id AND phases.pass = $pass AND phases.rank = 0
    AND phases.repeat = t.repeat AND phases.phase = t.phase AND phases.step = t.step
