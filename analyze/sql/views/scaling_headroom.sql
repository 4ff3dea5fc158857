CREATE VIEW scaling_headroom AS
WITH held AS (
    SELECT
        s.run_id,
        -- On cpu the device counters are explicit zeros that mean "not available".
        max(nullif(s.driver_bytes, 0)) AS driver_bytes,
        max(nullif(s.recommended_max_bytes, 0)) AS limit_bytes
    FROM samples s
    JOIN runs r USING (run_id)
    WHERE r.device <> 'cpu' AND s.pass = 'profiled'
    GROUP BY s.run_id
),
longest AS (
    SELECT run_id, max(cached_tokens) AS cached_tokens FROM scaling_kv_points GROUP BY run_id
)
SELECT
    p.series, p.run_id, p.batch_size, p.prompt_tokens, p.new_tokens,
    l.cached_tokens,
    h.driver_bytes,
    h.limit_bytes,
    h.limit_bytes - h.driver_bytes AS headroom_bytes,
    k.bytes_per_token,
    CASE
        WHEN h.limit_bytes >= h.driver_bytes AND k.bytes_per_token > 0
            THEN l.cached_tokens + (h.limit_bytes - h.driver_bytes) // (k.bytes_per_token * p.batch_size)
    END AS longest_context_tokens
FROM scaling_points p
LEFT JOIN held h USING (run_id)
LEFT JOIN longest l USING (run_id)
LEFT JOIN scaling_kv k USING (series);
COMMENT ON VIEW scaling_headroom IS 'Device memory that a run leaves free, and the longest context whose KV cache would fit into it.';
COMMENT ON COLUMN scaling_headroom.series IS 'Series of scaling_points.';
COMMENT ON COLUMN scaling_headroom.run_id IS 'Run.';
COMMENT ON COLUMN scaling_headroom.batch_size IS 'Sequences at once.';
COMMENT ON COLUMN scaling_headroom.prompt_tokens IS 'Prompt tokens of each sequence.';
COMMENT ON COLUMN scaling_headroom.new_tokens IS 'New tokens of each sequence.';
COMMENT ON COLUMN scaling_headroom.cached_tokens IS 'Most tokens that were in the cache of one sequence.';
COMMENT ON COLUMN scaling_headroom.driver_bytes IS 'Most bytes that the driver held for the process, pools included; NULL where not available, as on cpu.';
COMMENT ON COLUMN scaling_headroom.limit_bytes IS 'Working set that Metal recommends, or memory of the CUDA device; NULL where not available.';
COMMENT ON COLUMN scaling_headroom.headroom_bytes IS 'Limit less what the driver held; negative where the run was over the limit.';
COMMENT ON COLUMN scaling_headroom.bytes_per_token IS 'Measured KV-cache bytes of one more token of one sequence (scaling_kv); NULL where growth is not linear.';
COMMENT ON COLUMN scaling_headroom.longest_context_tokens IS 'Tokens of one sequence at which the KV cache alone fills the headroom: an upper bound, since a longer prefill needs more activations too; NULL where one of its numbers is not known.';
