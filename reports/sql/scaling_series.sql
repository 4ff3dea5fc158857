-- Series that a scaling study can be made of: runs that differ in nothing but lengths and batch.
SELECT
    series, any_value(model) AS model, any_value(weights) AS weights, any_value(device) AS device,
    any_value(device_name) AS device_name, any_value(dtype) AS dtype, any_value(attention) AS attention,
    any_value(cache) AS cache, any_value(cpu_threads) AS cpu_threads, any_value(warmup) AS warmup, count(*) AS runs, count(DISTINCT prompt_tokens) AS lengths,
    count(DISTINCT batch_size) AS batches, min(prompt_tokens) AS shortest, max(prompt_tokens) AS longest, count(disturbed) AS disturbed,
    list(run_id ORDER BY run_id) AS run_ids
FROM scaling_points
GROUP BY series
HAVING lengths > 1 OR batches > 1
ORDER BY model, series
