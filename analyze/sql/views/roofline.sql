-- The least time of each step by the machine's peaks (Williams, Waterman and Patterson 2009, Roofline), and the distance of the
-- clean measurement from it. bound_ns = max(bytes / bandwidth, operations / matmul rate).
CREATE VIEW roofline AS
WITH peaks AS (
    SELECT
        run_id,
        any_value(value) FILTER (quantity = 'memory_bandwidth') AS peak_bytes_per_s,
        any_value(provenance) FILTER (quantity = 'memory_bandwidth') AS peak_bytes_provenance,
        any_value(source) FILTER (quantity = 'memory_bandwidth') AS peak_bytes_source,
        any_value(value) FILTER (quantity = 'matmul_rate') AS peak_flops_per_s,
        any_value(provenance) FILTER (quantity = 'matmul_rate') AS peak_flops_provenance,
        any_value(source) FILTER (quantity = 'matmul_rate') AS peak_flops_source
    FROM run_peaks
    WHERE used
    GROUP BY run_id
),
traced AS (
    SELECT run_id, phase, step, median(flops) AS trace_flops, any_value(provenance) AS trace_flops_provenance
    FROM (
        SELECT run_id, repeat, phase, step, if(count(*) = count(flops), sum(flops), NULL) AS flops, min(provenance) AS provenance
        FROM op_flops
        WHERE pass = 'profiled' AND phase IS NOT NULL AND name IN ('aten::mm', 'aten::addmm')
        GROUP BY ALL
    )
    GROUP BY ALL
),
work AS (
    SELECT
        w.*,
        w.weights_bytes + w.kv_read_bytes + w.kv_written_bytes + w.logits_bytes AS bytes,
        w.linear_flops + w.attention_flops + w.logits_flops AS flops
    FROM roofline_work w
),
timed AS (
    SELECT
        w.*, p.* EXCLUDE (run_id), t.trace_flops, t.trace_flops_provenance, l.median_ns AS measured_ns,
        1e9 * w.weights_bytes / p.peak_bytes_per_s AS weights_ns,
        1e9 * (w.kv_read_bytes + w.kv_written_bytes) / p.peak_bytes_per_s AS kv_ns,
        1e9 * w.logits_bytes / p.peak_bytes_per_s AS logits_ns,
        1e9 * w.bytes / p.peak_bytes_per_s AS memory_ns,
        1e9 * w.flops / p.peak_flops_per_s AS compute_ns
    FROM work w
    LEFT JOIN peaks p USING (run_id)
    LEFT JOIN traced t USING (run_id, phase, step)
    LEFT JOIN step_latency l USING (run_id, phase, step)
)
SELECT
    run_id, phase, step, tokens, cached_tokens, batch_size,
    weights_bytes, kv_read_bytes, kv_written_bytes, logits_bytes, bytes,
    linear_flops, attention_flops, logits_flops, flops,
    flops / nullif(bytes, 0) AS intensity,
    trace_flops, trace_flops_provenance,
    trace_flops / nullif(linear_flops + logits_flops, 0) AS trace_flops_ratio,
    peak_bytes_per_s, peak_bytes_provenance, peak_bytes_source,
    peak_flops_per_s, peak_flops_provenance, peak_flops_source,
    peak_flops_per_s / peak_bytes_per_s AS ridge_intensity,
    weights_ns, kv_ns, logits_ns, memory_ns, compute_ns,
    CASE WHEN memory_ns IS NOT NULL OR compute_ns IS NOT NULL THEN greatest(memory_ns, compute_ns) END AS bound_ns,
    CASE
        WHEN memory_ns IS NULL OR compute_ns IS NULL THEN NULL
        WHEN memory_ns >= compute_ns THEN 'memory'
        ELSE 'compute'
    END AS bound,
    measured_ns,
    measured_ns - greatest(memory_ns, compute_ns) AS remainder_ns,
    tokens / nullif(batch_size, 0) AS tokens_per_sequence,
    1e9 * tokens / greatest(memory_ns, compute_ns) AS bound_tokens_per_s,
    1e9 * tokens / measured_ns AS measured_tokens_per_s,
    1e9 * bytes / measured_ns AS achieved_bytes_per_s,
    1e9 * flops / measured_ns AS achieved_flops_per_s,
    CASE
        WHEN reason IS NOT NULL THEN reason
        WHEN peak_bytes_per_s IS NULL THEN 'no peaks of this machine are known: capture --calibrate measures them'
        WHEN peak_flops_per_s IS NULL THEN 'the matrix rate of this machine in this dtype is not known: the bound is that of memory alone'
        WHEN measured_ns IS NULL THEN 'the clean pass has no time of this step'
        WHEN measured_ns < greatest(memory_ns, compute_ns)
            THEN 'faster than the bound: the weights fit into a cache, or the peak is too low'
    END AS reason
FROM timed;
COMMENT ON VIEW roofline IS 'The least time of each step by the machine''s peaks, and the measured distance from it. Operations and bytes are derived from the architecture, times measured in the clean pass.';
COMMENT ON COLUMN roofline.run_id IS 'Run.';
COMMENT ON COLUMN roofline.phase IS 'prefill or decode.';
COMMENT ON COLUMN roofline.step IS '0 for prefill, 1 and on for decode.';
COMMENT ON COLUMN roofline.tokens IS 'Tokens processed, over the batch.';
COMMENT ON COLUMN roofline.cached_tokens IS 'Tokens of one sequence in the cache after the step.';
COMMENT ON COLUMN roofline.batch_size IS 'Sequences.';
COMMENT ON COLUMN roofline.weights_bytes IS 'Weight bytes read (derived).';
COMMENT ON COLUMN roofline.kv_read_bytes IS 'KV-cache bytes read (derived).';
COMMENT ON COLUMN roofline.kv_written_bytes IS 'KV-cache bytes written (derived).';
COMMENT ON COLUMN roofline.logits_bytes IS 'Bytes of logits written (derived).';
COMMENT ON COLUMN roofline.bytes IS 'Sum of the four; NULL where one is not known.';
COMMENT ON COLUMN roofline.linear_flops IS 'Operations of the linear layers (derived), a multiply-add being two.';
COMMENT ON COLUMN roofline.attention_flops IS 'Operations of attention (derived), causal.';
COMMENT ON COLUMN roofline.logits_flops IS 'Operations of the logits (derived).';
COMMENT ON COLUMN roofline.flops IS 'Sum of the three.';
COMMENT ON COLUMN roofline.intensity IS 'Operations a byte.';
COMMENT ON COLUMN roofline.trace_flops IS 'Operations of aten::mm and aten::addmm of the step in the profiled pass: what linear_flops + logits_flops are checked against. NULL where a product has neither count nor shapes.';
COMMENT ON COLUMN roofline.trace_flops_provenance IS 'measured (the profiler counted) or derived (from recorded shapes by its formula).';
COMMENT ON COLUMN roofline.trace_flops_ratio IS 'trace_flops over linear_flops + logits_flops; 1 where the trace agrees with the architecture.';
COMMENT ON COLUMN roofline.peak_bytes_per_s IS 'Peak memory bandwidth; NULL where not known.';
COMMENT ON COLUMN roofline.peak_bytes_provenance IS 'How that number came to be: measured, published, derived or estimated.';
COMMENT ON COLUMN roofline.peak_bytes_source IS 'Where it is from.';
COMMENT ON COLUMN roofline.peak_flops_per_s IS 'Peak matrix rate in the run''s dtype; NULL where not known.';
COMMENT ON COLUMN roofline.peak_flops_provenance IS 'How that number came to be.';
COMMENT ON COLUMN roofline.peak_flops_source IS 'Where it is from.';
COMMENT ON COLUMN roofline.ridge_intensity IS 'Intensity at which both bounds are equal.';
COMMENT ON COLUMN roofline.weights_ns IS 'Time to read the weights at the peak bandwidth.';
COMMENT ON COLUMN roofline.kv_ns IS 'Time to read and write the KV cache at this depth.';
COMMENT ON COLUMN roofline.logits_ns IS 'Time to write the logits.';
COMMENT ON COLUMN roofline.memory_ns IS 'Sum of the three: least time by bandwidth.';
COMMENT ON COLUMN roofline.compute_ns IS 'Least time by the matrix rate.';
COMMENT ON COLUMN roofline.bound_ns IS 'Least time of the step: the greater of the two, or the only one known. For decode this is per token of a sequence.';
COMMENT ON COLUMN roofline.bound IS 'memory or compute, whichever is greater; NULL unless both are known. A statement about the shape, no evidence of what limited the run.';
COMMENT ON COLUMN roofline.measured_ns IS 'Median wall time in the clean pass.';
COMMENT ON COLUMN roofline.remainder_ns IS 'measured_ns less bound_ns: the flat remainder that neither bytes nor operations explain; negative where the bound does not hold.';
COMMENT ON COLUMN roofline.tokens_per_sequence IS 'Tokens of one sequence in the step: divide a step''s times by it for times a token.';
COMMENT ON COLUMN roofline.bound_tokens_per_s IS 'Tokens a second at the bound, over the batch.';
COMMENT ON COLUMN roofline.measured_tokens_per_s IS 'Tokens a second measured, over the batch.';
COMMENT ON COLUMN roofline.achieved_bytes_per_s IS 'bytes over the measured time.';
COMMENT ON COLUMN roofline.achieved_flops_per_s IS 'flops over the measured time.';
COMMENT ON COLUMN roofline.reason IS 'What is missing, or what is wrong with the bound; NULL where nothing is.';
