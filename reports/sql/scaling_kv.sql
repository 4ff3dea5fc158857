-- KV bytes against tokens and batch, checked on whole numbers.
SELECT
    points, lengths, batches, shortest_tokens, longest_tokens, off_the_line, linear_in_length, linear_in_batch,
    bytes_per_token, fixed_bytes, equal_to_computed
FROM scaling_kv
WHERE series = $series
