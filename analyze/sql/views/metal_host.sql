CREATE VIEW metal_host AS
WITH own AS (
    SELECT run_id, pass, rank, target_pid FROM instruments_recordings WHERE target_pid IS NOT NULL
), pieces AS (
    SELECT k.run_id, k.pass, k.rank, k.repeat, k.phase, k.step, 'gpu' AS side, k.start_ns, k.start_ns + k.dur_ns AS end_ns
    FROM kernels k WHERE k.kind = 'metal' AND k.phase IS NOT NULL
    UNION ALL
    SELECT p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, 'encode', greatest(e.start_ns, p.start_ns),
           least(e.start_ns + e.dur_ns, p.start_ns + p.dur_ns)
    FROM phases p
    JOIN own o USING (run_id, pass, rank)
    JOIN metal_encoders e ON e.run_id = p.run_id AND e.pass = p.pass AND e.rank = p.rank AND e.pid = o.target_pid
     AND e.start_ns < p.start_ns + p.dur_ns AND e.start_ns + e.dur_ns > p.start_ns
), edges AS (
    SELECT run_id, pass, rank, repeat, phase, step, start_ns AS t_ns, (side = 'gpu')::INTEGER AS gpu, (side = 'encode')::INTEGER AS encode FROM pieces
    UNION ALL
    SELECT run_id, pass, rank, repeat, phase, step, end_ns, -(side = 'gpu')::INTEGER, -(side = 'encode')::INTEGER FROM pieces
), moments AS (
    SELECT run_id, pass, rank, repeat, phase, step, t_ns, sum(gpu) AS gpu, sum(encode) AS encode FROM edges GROUP BY ALL
), stretches AS (
    SELECT run_id, pass, rank, repeat, phase, step, sum(gpu) OVER w AS gpu, sum(encode) OVER w AS encode,
           lead(t_ns) OVER w - t_ns AS dur_ns
    FROM moments WINDOW w AS (PARTITION BY run_id, pass, rank, repeat, phase, step ORDER BY t_ns)
), totals AS (
    SELECT run_id, pass, rank, repeat, phase, step,
           coalesce(sum(dur_ns) FILTER (gpu > 0), 0)::BIGINT AS gpu_busy_ns,
           coalesce(sum(dur_ns) FILTER (encode > 0), 0)::BIGINT AS encode_ns,
           coalesce(sum(dur_ns) FILTER (encode > 0 AND gpu > 0), 0)::BIGINT AS encode_hidden_ns
    FROM stretches GROUP BY ALL
)
SELECT p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, p.dur_ns AS wall_ns, t.gpu_busy_ns AS hidden_ns,
       p.dur_ns - t.gpu_busy_ns AS exposed_ns, t.encode_ns, t.encode_hidden_ns,
       t.encode_ns - t.encode_hidden_ns AS encode_exposed_ns
FROM phases p JOIN totals t USING (run_id, pass, rank, repeat, phase, step)
WHERE EXISTS (FROM pieces g WHERE g.side = 'gpu' AND g.run_id = p.run_id AND g.pass = p.pass AND g.rank = p.rank
    AND g.repeat = p.repeat AND g.phase = p.phase AND g.step = p.step);
COMMENT ON VIEW metal_host IS 'Host time of a phase that the GPU hid by working meanwhile, and host time that was exposed. Only phases with GPU rows.';
COMMENT ON COLUMN metal_host.run_id IS 'Run.';
COMMENT ON COLUMN metal_host.pass IS 'Pass.';
COMMENT ON COLUMN metal_host.rank IS 'Rank.';
COMMENT ON COLUMN metal_host.repeat IS 'Repeat.';
COMMENT ON COLUMN metal_host.phase IS 'Phase.';
COMMENT ON COLUMN metal_host.step IS 'Step.';
COMMENT ON COLUMN metal_host.wall_ns IS 'Synchronised wall time of the phase in this pass.';
COMMENT ON COLUMN metal_host.hidden_ns IS 'Time in which the GPU worked for the process, so that host work beside it cost nothing.';
COMMENT ON COLUMN metal_host.exposed_ns IS 'wall_ns less hidden_ns: the GPU had nothing of this process to do.';
COMMENT ON COLUMN metal_host.encode_ns IS 'Union of the times in which the process encoded GPU work on the CPU.';
COMMENT ON COLUMN metal_host.encode_hidden_ns IS 'The part of encode_ns during which the GPU worked.';
COMMENT ON COLUMN metal_host.encode_exposed_ns IS 'The part of encode_ns during which it did not.';
