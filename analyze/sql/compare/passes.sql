-- The passes, with what shows that two of them read and wrote the same tokens.
SELECT
    pass, status, reason,
    detail ->> '$.prompt_sha256' AS prompt_sha256,
    detail ->> '$.generated_sha256' AS generated_sha256,
    CAST(detail ->> '$.cpu_threads' AS BIGINT) AS cpu_threads,
    CAST(detail -> '$.conditions' AS VARCHAR) AS conditions
FROM passes
WHERE run_id = $run_id
ORDER BY pass
