CREATE VIEW scaling_points AS
WITH prefill AS (
    SELECT run_id, repeats, median_ns, p5_ns, p95_ns
    FROM step_latency
    WHERE phase = 'prefill' AND step = 0
),
decode AS (
    SELECT
        run_id,
        quantile_cont(median_ns, 0.5) AS median_ns,
        quantile_cont(cached_tokens, 0.5) AS cached_tokens
    FROM step_latency
    WHERE phase = 'decode'
    GROUP BY run_id
),
threads AS (
    SELECT run_id, CAST(detail ->> '$.cpu_threads' AS BIGINT) AS cpu_threads FROM passes WHERE pass = 'clean'
),
point AS (
    SELECT
        -- What has to be the same for two runs to stand on one line: everything but the lengths and the batch.
        concat_ws(
            ' · ', r.model, CASE r.weights WHEN 'random' THEN 'random weights' END, coalesce(r.device_name, r.device),
            r.device, r.dtype, r.attention, r.cache, 'logits ' || r.logits, r.os, 'torch ' || r.torch_version,
            'transformers ' || r.transformers_version, 'CPU threads ' || t.cpu_threads, nullif(r.ranks, 1) || ' ranks',
            'warm-up ' || (r.manifest ->> '$.workload.warmup')
        ) AS series,
        r.run_id, r.model, r.weights, r.device, r.device_name, r.dtype, r.attention, r.cache, r.logits, r.batch_size,
        r.prompt_tokens, r.new_tokens, t.cpu_threads,
        CAST(r.manifest ->> '$.workload.warmup' AS BIGINT) AS warmup, q.disturbed,
        p.repeats,
        p.median_ns AS prefill_ns, p.p5_ns AS prefill_p5_ns, p.p95_ns AS prefill_p95_ns,
        1e9 * r.batch_size * r.prompt_tokens / nullif(p.median_ns, 0) AS prefill_tokens_per_s,
        d.median_ns AS decode_ns, d.cached_tokens AS decode_cached_tokens,
        1e9 * r.batch_size / nullif(d.median_ns, 0) AS decode_tokens_per_s
    FROM runs r
    JOIN prefill p USING (run_id)
    LEFT JOIN decode d USING (run_id)
    LEFT JOIN threads t USING (run_id)
    LEFT JOIN clean_trust q USING (run_id)
    WHERE r.model IS NOT NULL AND r.prompt_tokens IS NOT NULL AND r.batch_size IS NOT NULL
),
neighbours AS (
    SELECT
        *,
        lag(prompt_tokens) OVER shorter AS shorter_tokens,
        lag(prefill_ns) OVER shorter AS shorter_ns
    FROM point
    WINDOW shorter AS (PARTITION BY series, batch_size ORDER BY prompt_tokens, run_id)
)
SELECT
    * EXCLUDE (shorter_tokens, shorter_ns),
    CASE
        WHEN prompt_tokens > shorter_tokens AND prefill_ns > 0 AND shorter_ns > 0
            THEN ln(prefill_ns / shorter_ns) / ln(prompt_tokens / shorter_tokens)
    END AS local_exponent
FROM neighbours;
COMMENT ON VIEW scaling_points IS 'Runs with a clean pass as points of a scaling study. Runs of one series differ in nothing but lengths and batch.';
COMMENT ON COLUMN scaling_points.series IS 'Model, device, dtype, attention, cache, logits, CPU threads, ranks, warm-up and software: what is the same along a line.';
COMMENT ON COLUMN scaling_points.run_id IS 'Run.';
COMMENT ON COLUMN scaling_points.model IS 'Model.';
COMMENT ON COLUMN scaling_points.weights IS 'real or random.';
COMMENT ON COLUMN scaling_points.device IS 'mps, cuda or cpu.';
COMMENT ON COLUMN scaling_points.device_name IS 'Name of the chip or GPU.';
COMMENT ON COLUMN scaling_points.dtype IS 'Element type of weights and activations.';
COMMENT ON COLUMN scaling_points.attention IS 'Attention implementation.';
COMMENT ON COLUMN scaling_points.cache IS 'Class of the KV cache.';
COMMENT ON COLUMN scaling_points.logits IS 'all or last.';
COMMENT ON COLUMN scaling_points.batch_size IS 'Sequences at once.';
COMMENT ON COLUMN scaling_points.prompt_tokens IS 'Prompt tokens of each sequence.';
COMMENT ON COLUMN scaling_points.new_tokens IS 'New tokens of each sequence.';
COMMENT ON COLUMN scaling_points.cpu_threads IS 'Threads that PyTorch computed with in the clean pass; NULL where the bundle does not tell.';
COMMENT ON COLUMN scaling_points.warmup IS 'Generations before the measured ones.';
COMMENT ON COLUMN scaling_points.disturbed IS 'Why the times are not to be quoted (clean_trust); NULL where they may be.';
COMMENT ON COLUMN scaling_points.repeats IS 'Measured repeats of prefill.';
COMMENT ON COLUMN scaling_points.prefill_ns IS 'Median wall time of prefill, clean pass.';
COMMENT ON COLUMN scaling_points.prefill_p5_ns IS '5th percentile over the repeats.';
COMMENT ON COLUMN scaling_points.prefill_p95_ns IS '95th percentile over the repeats.';
COMMENT ON COLUMN scaling_points.prefill_tokens_per_s IS 'Prompt tokens over the batch for each second of prefill.';
COMMENT ON COLUMN scaling_points.decode_ns IS 'Median over the decode steps of their medians, clean pass; NULL without decode steps.';
COMMENT ON COLUMN scaling_points.decode_cached_tokens IS 'Median over the decode steps of the tokens in the cache of one sequence.';
COMMENT ON COLUMN scaling_points.decode_tokens_per_s IS 'New tokens over the batch for each second of decode.';
COMMENT ON COLUMN scaling_points.local_exponent IS 'Slope on log-log axes from the next shorter prompt of this series and batch; NULL at the shortest and between equal lengths.';
