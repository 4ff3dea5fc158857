-- Wall time of each phase, split without remainder by what the phase's own thread was in at each instant.
-- One sweep over the thread: sums of +code at begins and -code at ends say, between two neighbouring instants, which phase is
-- open, whether any operator is, the kind of the outermost operator that has one, and the runtime call inside it. Within each
-- of these the intervals do not overlap (what starts before an earlier one ends is left out), so a sum is one code.
CREATE VIEW time_budget AS
WITH open_phases AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY run_id ORDER BY pass, rank, thread_id) AS lane,
        row_number() OVER (PARTITION BY run_id ORDER BY pass, rank, thread_id, start_ns) AS phase_no
    FROM phase_threads
),
lanes AS (
    SELECT lane, run_id, pass, rank, thread_id, bool_or(idle_known OR thread_id IS NULL) AS wants_device,
           min(start_ns) AS first_ns, max(start_ns + dur_ns) AS last_ns
    FROM open_phases GROUP BY ALL
),
named AS (SELECT DISTINCT run_id, name FROM ops WHERE layer = 'operator' AND role = 'operator'),
ruled AS (
    SELECT
        n.run_id, n.name,
        arg_min(k.kind, k.priority) FILTER (k.args_pattern IS NULL) AS kind,
        arg_min(k.kind, k.priority) FILTER (k.args_pattern IS NOT NULL) AS special_kind,
        arg_min(k.args_pattern, k.priority) FILTER (k.args_pattern IS NOT NULL) AS args_pattern
    FROM named n
    JOIN operator_kinds k ON regexp_full_match(n.name, k.name_pattern)
    GROUP BY ALL
),
-- ranges that mark phases are no operators; what they enclose is at the top
marks AS (SELECT run_id, op_id FROM ops WHERE layer = 'operator' AND role IS NULL),
host AS (
    SELECT
        o.run_id, l.lane, o.start_ns, o.start_ns + o.dur_ns AS end_ns, o.depth,
        o.depth = 0 OR m.op_id IS NOT NULL AS is_top,
        CASE o.role WHEN 'launch' THEN 1 WHEN 'copy' THEN 2 WHEN 'synchronisation' THEN 3 WHEN 'runtime' THEN 4 END AS call,
        CASE
            WHEN o.role <> 'operator' THEN NULL
            WHEN r.args_pattern IS NOT NULL AND regexp_matches(o.args, r.args_pattern) THEN r.special_kind
            ELSE r.kind
        END AS kind
    FROM ops o
    JOIN lanes l ON l.run_id = o.run_id AND l.pass = o.pass AND l.rank = o.rank AND l.thread_id = o.thread_id
    LEFT JOIN ruled r ON r.run_id = o.run_id AND r.name = o.name
    LEFT JOIN marks m ON m.run_id = o.run_id AND m.op_id = o.parent_id
    WHERE o.layer = 'operator' AND o.role IS NOT NULL AND o.dur_ns > 0 AND o.start_ns < l.last_ns AND o.start_ns + o.dur_ns > l.first_ns
),
kinds AS (
    SELECT kind, (row_number() OVER (ORDER BY kind))::BIGINT AS code
    FROM (SELECT DISTINCT kind FROM operator_kinds)
),
kind_intervals AS (
    SELECT run_id, lane, start_ns, end_ns, code
    FROM host JOIN kinds USING (kind)
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY run_id, lane ORDER BY start_ns, end_ns DESC, depth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
call_intervals AS (
    SELECT run_id, lane, start_ns, end_ns, call
    FROM host
    WHERE call IS NOT NULL
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY run_id, lane ORDER BY start_ns, end_ns DESC, depth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
-- a launch that stands for many kernels (a graph) is one stretch of work: no idle is claimed between its kernels
work AS (
    SELECT run_id, pass, rank, min(start_ns) AS start_ns, max(start_ns + dur_ns) AS end_ns
    FROM own_device_rows
    WHERE dur_ns > 0
    GROUP BY run_id, pass, rank, device, coalesce(launch_op_id, -1 - kernel_id)
),
edges AS (
    SELECT run_id, lane, unnest([start_ns, start_ns + dur_ns]) AS t_ns, unnest([phase_no, -phase_no]) AS phase_no, 0 AS open, 0 AS kind, 0 AS call, 0 AS device
    FROM open_phases
    UNION ALL
    SELECT run_id, lane, unnest([start_ns, end_ns]), 0, unnest([1, -1]), 0, 0, 0 FROM host WHERE is_top
    UNION ALL
    SELECT run_id, lane, unnest([start_ns, end_ns]), 0, 0, unnest([code, -code]), 0, 0 FROM kind_intervals
    UNION ALL
    SELECT run_id, lane, unnest([start_ns, end_ns]), 0, 0, 0, unnest([call, -call]), 0 FROM call_intervals
    UNION ALL
    SELECT run_id, l.lane, unnest([w.start_ns, w.end_ns]), 0, 0, 0, 0, unnest([1, -1])
    FROM work w JOIN lanes l USING (run_id, pass, rank)
    WHERE l.wants_device AND w.start_ns < l.last_ns AND w.end_ns > l.first_ns
),
instants_ AS (
    SELECT run_id, lane, t_ns, sum(phase_no) AS phase_no, sum(open) AS open, sum(kind) AS kind, sum(call) AS call, sum(device) AS device
    FROM edges GROUP BY run_id, lane, t_ns
),
stretches AS (
    SELECT
        run_id, sum(phase_no) OVER w AS phase_no, sum(open) OVER w AS open, sum(kind) OVER w AS kind, sum(call) OVER w AS call,
        sum(device) OVER w AS device, lead(t_ns) OVER w - t_ns AS dur_ns
    FROM instants_
    WINDOW w AS (PARTITION BY run_id, lane ORDER BY t_ns)
),
summed AS (
    SELECT run_id, phase_no, open > 0 AS open, kind, call, device > 0 AS device, sum(dur_ns)::BIGINT AS ns
    FROM stretches
    WHERE phase_no > 0
    GROUP BY ALL
),
parts AS (
    SELECT
        p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, p.dur_ns AS wall_ns, p.thread_id, p.idle_known,
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
    JOIN open_phases p USING (run_id, phase_no)
    LEFT JOIN kinds k ON k.code = s.kind
)
SELECT
    run_id, pass, rank, repeat, phase, step, thread_id, wall_ns, part,
    sum(ns)::BIGINT AS ns,
    sum(ns) / wall_ns AS share,
    CASE WHEN idle_known THEN coalesce(sum(ns) FILTER (NOT device), 0)::BIGINT END AS device_idle_ns
FROM parts
GROUP BY run_id, pass, rank, repeat, phase, step, thread_id, wall_ns, idle_known, part;
COMMENT ON VIEW time_budget IS 'Wall time of each phase, split by what its own thread was in: the parts of a phase sum to wall_ns exactly. One row a part with time in it.';
COMMENT ON COLUMN time_budget.run_id IS 'Run.';
COMMENT ON COLUMN time_budget.pass IS 'Pass; only passes with operators or device rows. Times of pass profiled explain, they are no latencies.';
COMMENT ON COLUMN time_budget.rank IS 'Rank.';
COMMENT ON COLUMN time_budget.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN time_budget.phase IS 'Phase; one that overlaps an earlier one of its thread has no rows.';
COMMENT ON COLUMN time_budget.step IS 'Step.';
COMMENT ON COLUMN time_budget.thread_id IS 'Thread whose time is split: that of the phase''s range, else the one with most operator time; NULL for ranges of a device''s stream and passes without operators.';
COMMENT ON COLUMN time_budget.wall_ns IS 'Wall time of the phase.';
COMMENT ON COLUMN time_budget.part IS 'attention, linear, norm, embedding, sampling, cache update, copy (a synchronous copy waits for the device too), other (operators, by operator_kinds), launch, synchronisation, runtime (calls of the runtime inside them), between operators (Python and framework); without a thread device work, device idle or not established.';
COMMENT ON COLUMN time_budget.ns IS 'Time of the part. On MPS this is the time to encode work, never GPU time.';
COMMENT ON COLUMN time_budget.share IS 'ns as part of wall_ns, 0 to 1.';
COMMENT ON COLUMN time_budget.device_idle_ns IS 'The part of ns in which no device of the rank worked: host time that the device waits for. Kernels of one graph launch are one stretch of work. NULL where idle is not established or the loop runs ahead of the device.';
