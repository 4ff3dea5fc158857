-- Every memory counter at every phase edge.
SELECT pass, counter, repeat, phase, step, t_ns, bytes, available
FROM memory_timeline
WHERE run_id = $run_id
ORDER BY pass, counter, repeat, t_ns, step
