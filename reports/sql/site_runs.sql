-- Every run with the numbers that its line in the index shows. Latencies are medians of the clean pass only.
WITH kv AS (
    SELECT run_id, max_by(measured_bytes, cached_tokens) AS bytes, max(cached_tokens) AS tokens
    FROM kv_check
    WHERE measured_bytes IS NOT NULL AND cached_tokens > 0
    GROUP BY run_id
)
SELECT
    r.run_id, r.label, r.source_kind, r.model, r.weights, r.device, n.device_name, r.dtype, r.attention, r.cache, r.logits,
    r.batch_size, r.prompt_tokens, r.new_tokens, r.ranks, r.captured_unix_ns, r.os, r.python_version, r.torch_version,
    r.transformers_version, r.raw_events, r.loaded_events, r.excluded_events,
    p.prefill_ns, p.decode_ns, p.decode_tokens_per_s, p.cpu_threads, p.warmup, p.disturbed,
    CASE WHEN k.bytes % (k.tokens * r.batch_size) = 0 THEN k.bytes // (k.tokens * r.batch_size) END AS kv_bytes_per_token,
    (SELECT list(c.verdict || ': ' || c.claim ORDER BY c.claim) FROM claims c WHERE c.run_id = r.run_id) AS claims,
    left(md5(concat_ws('|', r.model, r.weights, r.device, r.device_name, r.dtype, r.attention, r.cache, r.logits,
        r.batch_size, r.prompt_tokens, r.new_tokens, 'threads ' || p.cpu_threads, 'warm-up ' || p.warmup)), 10) AS workload
FROM runs r
JOIN device_names n USING (run_id)
LEFT JOIN scaling_points p USING (run_id)
LEFT JOIN kv k USING (run_id)
ORDER BY r.captured_unix_ns DESC NULLS LAST, r.run_id
