-- Least time of each step by the machine's peaks, and the clean time beside it.
SELECT phase, step, tokens, tokens_per_sequence, cached_tokens, weights_bytes, kv_read_bytes, kv_written_bytes, logits_bytes, bytes,
    flops, intensity, trace_flops_ratio, trace_flops_provenance, peak_bytes_per_s, peak_bytes_provenance, peak_bytes_source,
    peak_flops_per_s, peak_flops_provenance, peak_flops_source, weights_ns, kv_ns, logits_ns, memory_ns, compute_ns, bound_ns, bound,
    measured_ns, remainder_ns, bound_tokens_per_s, measured_tokens_per_s, achieved_bytes_per_s, achieved_flops_per_s, reason
FROM roofline
WHERE run_id = $run_id
ORDER BY phase = 'prefill' DESC, phase, step
