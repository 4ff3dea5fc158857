-- Prefill against prompt length: a power law by least squares on log-log axes, for each batch size.
SELECT batch_size, points, lengths, shortest_tokens, longest_tokens, exponent, standard_error, ln_ns_at_one_token, r_squared
FROM scaling_prefill
WHERE series = $series
ORDER BY batch_size
