-- What each step ran, against what most steps of its phase ran.
SELECT pass, rank, repeat, phase, step, verdict, operators, device_rows, typical_steps, steps, extra, missing, graph_launches, graph_kernels
FROM step_audit
WHERE run_id = $run_id
ORDER BY pass, array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase, rank, repeat, step
