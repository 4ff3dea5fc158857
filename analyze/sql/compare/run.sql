-- What the run says of itself. What a bundle has in its manifest, a trace of another tool may have in its metadata.
WITH device AS (
    SELECT value -> '$[0]' AS properties
    FROM trace_metadata
    WHERE run_id = $run_id AND key = 'deviceProperties' AND json_valid(value)
    LIMIT 1
)
SELECT
    r.run_id, r.label, r.source, r.source_kind, r.model, r.weights, r.device, r.dtype, r.attention, r.cache, r.logits,
    r.batch_size, r.prompt_tokens, r.new_tokens, r.ranks, r.captured_unix_ns, r.os, r.raw_events, r.excluded_events,
    (SELECT n.device_name FROM device_names n WHERE n.run_id = r.run_id) AS device_name,
    r.manifest ->> '$.machine.processor' AS processor,
    CAST(r.manifest ->> '$.machine.cores' AS BIGINT) AS cores,
    CAST(r.manifest ->> '$.machine.gpu_cores' AS BIGINT) AS gpu_cores,
    CAST(r.manifest ->> '$.machine.memory_bytes' AS BIGINT) AS memory_bytes,
    coalesce(
        CAST(r.manifest ->> '$.machine.device_memory_bytes' AS BIGINT),
        (SELECT CAST(properties ->> '$.totalGlobalMem' AS BIGINT) FROM device)
    ) AS device_memory_bytes,
    CAST(r.manifest ->> '$.workload.warmup' AS BIGINT) AS warmup,
    CAST(r.manifest ->> '$.workload.repeat' AS BIGINT) AS repeats,
    CAST(r.manifest ->> '$.workload.seed' AS BIGINT) AS seed,
    CAST(r.architecture ->> '$.parameters' AS BIGINT) AS parameters,
    CAST(r.architecture ->> '$.layers' AS BIGINT) AS layers,
    CAST(r.architecture ->> '$.weight_bytes' AS BIGINT) AS weight_bytes,
    CAST(r.manifest -> '$.software' AS VARCHAR) AS software,
    r.manifest ->> '$.phasescope_version' AS capture_version
FROM runs r
WHERE r.run_id = $run_id
