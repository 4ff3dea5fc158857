-- Device time by the operator that launched it: names that hold across vendors, whose kernels share none.
-- The operator is the one around the launch call. Device rows without a launch in the trace are one row; copies and
-- sets that an operator asks for are a row of their own, so that calls are kernels.
SELECT
    coalesce(k.phase, 'outside') AS phase,
    CASE
        WHEN k.launch_op_id IS NULL THEN '(no launch in the trace)'
        ELSE coalesce(parent.name, call.name) || CASE WHEN k.kind IN ('memcpy', 'memset') THEN ': copies and sets' ELSE '' END
    END AS name,
    count(*) AS calls,
    sum(k.dur_ns)::BIGINT AS ns
FROM kernels k
LEFT JOIN ops call ON call.run_id = k.run_id AND call.op_id = k.launch_op_id
LEFT JOIN ops parent ON parent.run_id = k.run_id AND parent.op_id = call.parent_id
WHERE k.run_id = $run_id AND k.pass = $pass
GROUP BY ALL
ORDER BY ns DESC, name
