CREATE VIEW kv_check AS
WITH measured AS (
    SELECT
        s.run_id,
        CASE s.phase WHEN 'after_prefill' THEN 'prefill' ELSE 'decode' END AS phase,
        s.step,
        p.cached_tokens,
        min(s.kv_cache_bytes) AS smallest,
        max(s.kv_cache_bytes) AS measured_bytes
    FROM samples s
    LEFT JOIN phases p
        ON p.run_id = s.run_id AND p.pass = s.pass AND p.repeat = s.repeat AND p.step = s.step AND p.rank = 0
        AND p.phase = CASE s.phase WHEN 'after_prefill' THEN 'prefill' ELSE 'decode' END
    WHERE s.pass = 'profiled' AND s.phase IN ('after_prefill', 'after_decode')
    GROUP BY ALL
)
SELECT
    m.run_id, m.phase, m.step, m.cached_tokens, m.measured_bytes, e.computed_bytes,
    CASE
        WHEN m.measured_bytes IS NULL OR e.computed_bytes IS NULL THEN 'not established'
        WHEN m.measured_bytes = e.computed_bytes AND m.smallest = e.computed_bytes THEN 'equal'
        ELSE 'differs'
    END AS verdict
FROM measured m
LEFT JOIN kv_expected e ON e.run_id = m.run_id AND e.cached_tokens = m.cached_tokens;
COMMENT ON VIEW kv_check IS 'KV-cache bytes measured in the profiled pass against the bytes that the architecture asks for.';
COMMENT ON COLUMN kv_check.run_id IS 'Run.';
COMMENT ON COLUMN kv_check.phase IS 'prefill or decode.';
COMMENT ON COLUMN kv_check.step IS '0 for prefill, 1 and on for decode.';
COMMENT ON COLUMN kv_check.cached_tokens IS 'Tokens of one sequence in the cache after the step.';
COMMENT ON COLUMN kv_check.measured_bytes IS 'Bytes of the unique storages reachable in the cache object; the largest, should repeats differ.';
COMMENT ON COLUMN kv_check.computed_bytes IS 'Bytes computed from the configuration (kv_expected, with the formula); NULL where it does not tell.';
COMMENT ON COLUMN kv_check.verdict IS 'equal (in every repeat), differs, or not established where one of the two is not known.';
