-- Phases of one pass and rank as slices.
SELECT
    'phases' AS track, CASE WHEN step = 0 THEN phase ELSE phase || ' ' || step END AS name, 'phase' AS category,
    start_ns, dur_ns,
    json_object('repeat', repeat, 'step', step, 'tokens', tokens, 'cached_tokens', cached_tokens, 'source', source)::VARCHAR AS args,
    NULL::BIGINT[] AS flows
FROM phases
WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
ORDER BY start_ns
