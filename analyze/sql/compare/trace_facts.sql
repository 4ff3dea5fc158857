-- What a trace of another tool tells of its software and of its workload: versions at the top, and metadata that the
-- profiled program added. Names of hosts, users, paths and processes are not among the keys.
WITH top AS (
    SELECT key, trim(value, '"') AS value
    FROM trace_metadata
    WHERE run_id = $run_id AND regexp_matches(key, '^(cuda|hip|cupti|roctracer|rocprofiler|nccl)[a-z_]*_version$')
), told AS (
    SELECT value FROM trace_metadata WHERE run_id = $run_id AND key = 'metadata' AND json_valid(value) LIMIT 1
), leaves AS (
    SELECT regexp_replace(fullkey, '^\$\.', '') AS key, atom ->> '$' AS value
    FROM told, json_tree(told.value)
    WHERE atom IS NOT NULL
), packages AS (
    SELECT split_part(value, '==', 1) AS key, split_part(value, '==', 2) AS value
    FROM leaves
    WHERE contains(value, '==') AND split_part(value, '==', 1) IN (
        'torch', 'pytorch-triton-rocm', 'triton', 'transformers', 'accelerate', 'flash-attn', 'flash_attn', 'vllm', 'aiter', 'xformers'
    )
)
SELECT DISTINCT 'software' AS kind, key, value FROM top
UNION ALL
SELECT DISTINCT 'software', key, value FROM packages
UNION ALL
SELECT DISTINCT 'workload', key, value
FROM leaves
WHERE regexp_matches(key, '(^|\.)"?(experiment|current_task|workload|model|shape)"?\.') AND NOT regexp_matches(lower(key), 'path|dir|user|host|token$')
ORDER BY 1, 2
