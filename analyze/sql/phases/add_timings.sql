-- Steps that the trace does not show.
INSERT INTO phases BY NAME
SELECT
    $run_id AS run_id, $pass AS pass, 0 AS rank, t.repeat, t.phase, t.step, t.start_ns, t.dur_ns, t.cpu_ns, t.tokens,
    t.cached_tokens, 'timer' AS source
FROM timings t
ANTI JOIN (SELECT repeat, phase, step FROM phases WHERE run_id = $run_id AND pass = $pass AND rank = 0) p
    USING (repeat, phase, step)
