-- Device memory that each run left free, and the context whose KV cache would fill it.
SELECT
    run_id, batch_size, prompt_tokens, new_tokens, cached_tokens, driver_bytes, limit_bytes, headroom_bytes, bytes_per_token,
    longest_context_tokens
FROM scaling_headroom
WHERE series = $series
ORDER BY batch_size, prompt_tokens, run_id
