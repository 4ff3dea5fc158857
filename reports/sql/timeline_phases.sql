-- The phases in the timeline's window.
SELECT phase, step, start_ns - $start_ns AS start_ns, dur_ns, tokens, cached_tokens
FROM phases
WHERE run_id = $run_id AND pass = $pass AND rank = $rank
    AND start_ns < $end_ns AND start_ns + dur_ns > $start_ns
ORDER BY start_ns, step
