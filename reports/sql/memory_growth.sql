-- What grew in prefill and in decode (medians over the repeats), and the highest value of each counter.
SELECT
    pass, source, counter,
    median(prefill_growth_bytes) AS prefill_growth_bytes,
    median(decode_growth_bytes) AS decode_growth_bytes,
    median(last_bytes) AS last_bytes,
    max(peak_bytes) AS peak_bytes,
    arg_max(peak_phase, peak_bytes) AS peak_phase,
    arg_max(peak_step, peak_bytes) AS peak_step
FROM memory_growth
WHERE run_id = $run_id AND rank = 0
GROUP BY pass, source, counter
ORDER BY source = 'samples' DESC, array_position(['kv_cache', 'tensor', 'driver', 'resident', 'footprint', 'peak'], counter) NULLS LAST, counter
