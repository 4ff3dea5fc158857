-- Wall time of each phase, split without remainder by what the phase's own thread was in at each instant.
-- One sweep over the thread: sums of +code at begins and -code at ends say, between two neighbouring instants, which phase is
-- open, whether any operator is, the kind of the outermost operator that has one, and the runtime call inside it. Intervals of
-- one sort do not overlap (each counts from where the earlier ones have ended), so a sum is one code.
INSERT INTO time_budget
WITH open_phases AS (
    SELECT
        t.*, r.rank_no,
        dense_rank() OVER (ORDER BY rank_no, thread_id)::INTEGER AS lane,
        row_number() OVER (ORDER BY rank_no, thread_id, start_ns)::INTEGER AS phase_no
    FROM phase_threads t
    JOIN run_ranks r USING (pass, rank)
    WHERE t.run_id = $run_id
),
lanes AS (
    SELECT lane, rank_no, thread_id, bool_or(idle_known OR thread_id IS NULL) AS wants_device,
           min(start_ns) AS first_ns, max(start_ns + dur_ns) AS last_ns
    FROM open_phases GROUP BY ALL
),
host AS (
    SELECT
        l.lane, o.start_ns, o.end_ns, o.depth, o.is_top, o.kind_no AS kind,
        CASE o.role WHEN 'launch' THEN 1 WHEN 'copy' THEN 2 WHEN 'synchronisation' THEN 3 WHEN 'runtime' THEN 4 END::TINYINT AS call
    FROM run_host o
    JOIN lanes l USING (rank_no, thread_id)
    WHERE o.dur_ns > 0 AND o.start_ns < l.last_ns AND o.end_ns > l.first_ns
),
-- What is outermost of its sort from where on: from its begin, or from the end of what it overlaps in part; not at all inside another.
outermost AS (
    SELECT
        lane, start_ns, end_ns, is_top, kind, call,
        greatest(start_ns, coalesce(max(if(kind IS NOT NULL, end_ns, NULL)) OVER earlier, start_ns)) AS kind_from_ns,
        greatest(start_ns, coalesce(max(if(call IS NOT NULL, end_ns, NULL)) OVER earlier, start_ns)) AS call_from_ns
    FROM host
    WINDOW earlier AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC, depth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
-- a launch that stands for many kernels (a graph) is one stretch of work: no idle is claimed between its kernels
work AS (
    SELECT rank_no, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM run_device
    WHERE own AND dur_ns > 0
    GROUP BY queue, rank_no, coalesce(launch_op_id, -1 - kernel_id)
),
intervals AS (
    SELECT
        lane, start_ns, start_ns + dur_ns AS end_ns, phase_no, 0::SMALLINT AS open, 0::SMALLINT AS kind, 0::SMALLINT AS call,
        0::SMALLINT AS device
    FROM open_phases
    UNION ALL
    SELECT
        lane, start_ns, end_ns, 0, is_top::SMALLINT,
        if(kind_from_ns = start_ns, coalesce(kind, 0), 0), if(call_from_ns = start_ns, coalesce(call, 0), 0), 0
    FROM outermost
    WHERE is_top OR (kind IS NOT NULL AND kind_from_ns = start_ns) OR (call IS NOT NULL AND call_from_ns = start_ns)
    UNION ALL
    SELECT lane, kind_from_ns, end_ns, 0, 0, kind, 0, 0
    FROM outermost
    WHERE kind IS NOT NULL AND kind_from_ns > start_ns AND kind_from_ns < end_ns
    UNION ALL
    SELECT lane, call_from_ns, end_ns, 0, 0, 0, call, 0
    FROM outermost
    WHERE call IS NOT NULL AND call_from_ns > start_ns AND call_from_ns < end_ns
    UNION ALL
    SELECT l.lane, w.start_ns, w.end_ns, 0, 0, 0, 0, 1
    FROM work w JOIN lanes l USING (rank_no)
    WHERE l.wants_device AND w.start_ns < l.last_ns AND w.end_ns > l.first_ns
),
edges AS (
    SELECT lane, start_ns AS t_ns, phase_no, open, kind, call, device FROM intervals
    UNION ALL
    SELECT lane, end_ns, -phase_no, -open, -kind, -call, -device FROM intervals
),
-- At the last edge of a lane all sums are 0 again, so that lanes may follow each other.
stretches AS (
    SELECT
        sum(phase_no) OVER w AS phase_no, sum(open) OVER w AS open, sum(kind) OVER w AS kind, sum(call) OVER w AS call,
        sum(device) OVER w AS device, lead(t_ns) OVER w - t_ns AS dur_ns
    FROM edges
    WINDOW w AS (ORDER BY lane, t_ns ROWS UNBOUNDED PRECEDING)
),
summed AS (
    SELECT phase_no, open > 0 AS open, kind, call, device > 0 AS device, sum(dur_ns)::BIGINT AS ns
    FROM stretches
    WHERE phase_no > 0 AND dur_ns > 0
    GROUP BY ALL
),
parts AS (
    SELECT
        p.pass, p.rank, p.repeat, p.phase, p.step, p.dur_ns AS wall_ns, p.thread_id, p.idle_known,
        CASE
            WHEN p.thread_id IS NULL AND NOT p.idle_known THEN 'not established'
            WHEN p.thread_id IS NULL THEN if(s.device, 'device work', 'device idle')
            WHEN s.call = 1 THEN 'launch'
            WHEN s.call = 2 THEN 'copy'
            WHEN s.call = 3 THEN 'synchronisation'
            WHEN s.call = 4 THEN 'runtime'
            WHEN k.kind IS NOT NULL THEN k.kind
            WHEN s.open THEN 'other'
            ELSE 'between operators'
        END AS part,
        s.ns, s.device
    FROM summed s
    JOIN open_phases p USING (phase_no)
    LEFT JOIN run_kinds k ON k.kind_no = s.kind
)
SELECT
    $run_id, pass, rank, repeat, phase, step, thread_id, wall_ns, part,
    sum(ns)::BIGINT AS ns,
    sum(ns) / wall_ns AS share,
    CASE WHEN idle_known THEN coalesce(sum(ns) FILTER (NOT device), 0)::BIGINT END AS device_idle_ns
FROM parts
GROUP BY pass, rank, repeat, phase, step, thread_id, wall_ns, idle_known, part
