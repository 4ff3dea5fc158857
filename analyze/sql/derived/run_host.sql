CREATE OR REPLACE TEMP TABLE run_host AS
SELECT
    r.rank_no, p.phase_no, o.op_id, o.parent_id, o.depth, o.thread_id, o.role, o.start_ns, o.dur_ns, o.start_ns + o.dur_ns AS end_ns,
    o.self_ns
FROM ops o
JOIN run_ranks r USING (pass, rank)
LEFT JOIN run_phases p
    ON p.rank_no = r.rank_no AND p.repeat = o.repeat AND p.phase = o.phase AND p.step = o.step
WHERE o.run_id = $run_id AND o.role IS NOT NULL
