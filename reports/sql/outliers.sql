-- Decode steps of the clean pass over 5 median deviations away from the others, the trend taken out, with what was different.
SELECT repeat, step, cached_tokens, dur_ns, dur_ns / median_ns AS times_the_median, deviation_mad, in_repeats, repeats, difference
FROM decode_outliers
WHERE run_id = $run_id
ORDER BY abs(deviation_mad) DESC
