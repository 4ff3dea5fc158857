-- Decode steps whose operators and kernels are the multiset of most steps.
SELECT
    pass,
    count(*) AS steps,
    count(*) FILTER (verdict = 'as most') AS alike,
    string_agg('step ' || step, ', ' ORDER BY step) FILTER (verdict <> 'as most') AS others,
    any_value(operators) FILTER (verdict = 'as most') AS operators,
    any_value(device_rows) FILTER (verdict = 'as most') AS device_rows,
    sum(graph_launches)::BIGINT AS graph_launches
FROM step_audit
WHERE run_id = $run_id AND phase = 'decode'
GROUP BY pass
ORDER BY pass
LIMIT 1
