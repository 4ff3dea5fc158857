-- The runs of one series, clean pass only.
SELECT
    run_id, batch_size, prompt_tokens, new_tokens, repeats, prefill_ns, prefill_p5_ns, prefill_p95_ns,
    prefill_tokens_per_s, local_exponent, decode_ns, decode_cached_tokens, decode_tokens_per_s, disturbed
FROM scaling_points
WHERE series = $series
ORDER BY batch_size, prompt_tokens, new_tokens, run_id
