CREATE VIEW metal_trust AS
SELECT run_id, pass, rank,
       CASE WHEN count(*) FILTER (verdict = 'does not hold') > 0 THEN 'not established'
            WHEN count(*) FILTER (verdict = 'holds' AND gate = 'process captured') = 0 THEN 'not established'
            WHEN count(*) FILTER (verdict = 'not established') > 0 THEN 'partly established'
            ELSE 'established' END AS verdict,
       string_agg(gate, '; ' ORDER BY gate) FILTER (verdict = 'does not hold') AS failed,
       string_agg(gate, '; ' ORDER BY gate) FILTER (verdict = 'not established') AS open
FROM metal_gates GROUP BY ALL;
COMMENT ON VIEW metal_trust IS 'Whether claims may rest on the GPU rows of a recording. A failed gate turns each of them into not established.';
COMMENT ON COLUMN metal_trust.run_id IS 'Run.';
COMMENT ON COLUMN metal_trust.pass IS 'Pass.';
COMMENT ON COLUMN metal_trust.rank IS 'Rank.';
COMMENT ON COLUMN metal_trust.verdict IS 'established (every gate holds), partly established (none fails, some could not be tested), or not established.';
COMMENT ON COLUMN metal_trust.failed IS 'Gates that do not hold.';
COMMENT ON COLUMN metal_trust.open IS 'Gates that could not be tested.';
