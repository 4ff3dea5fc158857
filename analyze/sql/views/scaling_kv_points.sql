CREATE VIEW scaling_kv_points AS
SELECT
    p.series, k.run_id, p.batch_size, k.phase, k.step, k.cached_tokens, k.measured_bytes, k.computed_bytes, k.verdict,
    CASE WHEN k.measured_bytes % p.batch_size = 0 THEN k.measured_bytes // p.batch_size END AS sequence_bytes
FROM kv_check k
JOIN scaling_points p USING (run_id)
WHERE k.measured_bytes IS NOT NULL AND k.cached_tokens IS NOT NULL;
COMMENT ON VIEW scaling_kv_points IS 'Measured KV-cache bytes of every step of the runs of a scaling study.';
COMMENT ON COLUMN scaling_kv_points.series IS 'Series of scaling_points.';
COMMENT ON COLUMN scaling_kv_points.run_id IS 'Run.';
COMMENT ON COLUMN scaling_kv_points.batch_size IS 'Sequences at once.';
COMMENT ON COLUMN scaling_kv_points.phase IS 'prefill or decode.';
COMMENT ON COLUMN scaling_kv_points.step IS 'Step.';
COMMENT ON COLUMN scaling_kv_points.cached_tokens IS 'Tokens in the cache of one sequence after the step.';
COMMENT ON COLUMN scaling_kv_points.measured_bytes IS 'Bytes measured over the batch.';
COMMENT ON COLUMN scaling_kv_points.computed_bytes IS 'Bytes that the architecture asks for.';
COMMENT ON COLUMN scaling_kv_points.verdict IS 'equal, differs or not established: measured against computed.';
COMMENT ON COLUMN scaling_kv_points.sequence_bytes IS 'Measured bytes of one sequence; NULL where the batch does not divide them.';
