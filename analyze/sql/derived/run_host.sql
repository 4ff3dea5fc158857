CREATE OR REPLACE TEMP TABLE run_host AS
WITH
-- ranges that mark phases are no operators; what they enclose is at the top
marks AS (SELECT op_id FROM ops WHERE run_id = $run_id AND layer = 'operator' AND role IS NULL)
SELECT
    r.rank_no, p.phase_no, n.name_no, o.op_id, o.depth, o.thread_id, o.role, o.start_ns, o.dur_ns,
    o.start_ns + o.dur_ns AS end_ns, o.self_ns, o.depth = 0 OR m.op_id IS NOT NULL AS is_top,
    CASE
        WHEN o.role <> 'operator' THEN NULL
        WHEN k.args_pattern IS NOT NULL AND regexp_matches(o.args, k.args_pattern) THEN k.special_kind_no
        ELSE k.kind_no
    END AS kind_no
FROM ops o
JOIN run_ranks r USING (pass, rank)
JOIN run_names n USING (name)
LEFT JOIN run_rules k USING (name_no)
LEFT JOIN run_phases p
    ON p.rank_no = r.rank_no AND p.repeat = o.repeat AND p.phase = o.phase AND p.step = o.step
LEFT JOIN marks m ON m.op_id = o.parent_id
WHERE o.run_id = $run_id AND o.role IS NOT NULL
