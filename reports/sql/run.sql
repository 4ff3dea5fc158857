-- The run, as it was captured and loaded.
SELECT
    run_id, label, source, source_kind, model, weights, device, n.device_name, dtype, attention, cache, logits,
    batch_size, prompt_tokens, new_tokens, ranks, captured_unix_ns, loaded_unix_ns, os, python_version,
    torch_version, transformers_version, phasescope_version, trace_engine, trace_engine_version,
    raw_events, loaded_events, excluded_events,
    CAST(architecture ->> '$.parameters' AS BIGINT) AS parameters,
    CAST(architecture ->> '$.layers' AS BIGINT) AS layers,
    CAST(architecture ->> '$.weight_bytes' AS BIGINT) AS weight_bytes,
    CAST(manifest ->> '$.workload.warmup' AS BIGINT) AS warmup,
    CAST(manifest ->> '$.workload.repeat' AS BIGINT) AS repeats
FROM runs r
JOIN device_names n USING (run_id)
WHERE run_id = $run_id
