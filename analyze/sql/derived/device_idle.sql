-- Gaps between device work inside a phase, split by what the trace shows of the reason; and copies that run alone.
-- A gap lies between the end of all earlier work of its device and the next row, cut where the extent of a phase begins or
-- ends. It belongs to the phase of that row if it lies in its extent, else to the phase in whose extent it lies.
INSERT INTO device_idle
WITH extent AS (
    SELECT p.phase_no, p.rank_no, e.start_ns, e.end_ns, e.synchronised, e.established
    FROM device_extent e
    JOIN run_phases p USING (pass, rank, repeat, phase, step)
    WHERE e.run_id = $run_id
),
queues AS (SELECT DISTINCT queue, rank_no, device FROM run_device),
work AS (
    SELECT queue, rank_no, phase_no, start_ns, end_ns, launch_op_id, true AS is_row FROM run_device WHERE own
    UNION ALL
    SELECT q.queue, e.rank_no, NULL, e.edge_ns, e.edge_ns, NULL, false
    FROM (SELECT rank_no, unnest([start_ns, end_ns]) AS edge_ns FROM extent) e
    JOIN queues q USING (rank_no)
    WHERE e.edge_ns IS NOT NULL
),
before AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY queue ORDER BY start_ns, is_row DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns
    FROM work
),
pieces AS (SELECT *, busy_until_ns AS gap_start_ns, start_ns AS gap_end_ns FROM before WHERE busy_until_ns < start_ns),
gaps AS (
    SELECT
        g.queue, g.rank_no, coalesce(own.phase_no, around.phase_no) AS phase_no, g.gap_start_ns, g.gap_end_ns,
        o.start_ns AS launched_ns,
        coalesce(own.established, around.established, false) AND (o.op_id IS NOT NULL OR NOT g.is_row) AS established
    FROM pieces g
    LEFT JOIN extent own
        ON own.phase_no = g.phase_no AND own.start_ns <= g.gap_start_ns AND own.end_ns >= g.gap_end_ns
    ASOF LEFT JOIN (FROM extent WHERE start_ns IS NOT NULL) latest
        ON latest.rank_no = g.rank_no AND latest.start_ns <= g.gap_start_ns
    LEFT JOIN extent around ON around.phase_no = latest.phase_no AND around.end_ns >= g.gap_end_ns
    LEFT JOIN run_host o ON o.op_id = g.launch_op_id
    -- Between the phases nothing is asked of the device; what is outside all of them is said where a row says so.
    WHERE own.phase_no IS NOT NULL OR around.phase_no IS NOT NULL OR (g.is_row AND g.phase_no IS NULL)
),
-- Each gap before and after the launch of the row that ends it.
parts AS (
    SELECT
        queue, rank_no, phase_no, gap_start_ns AS start_ns, least(gap_end_ns, coalesce(launched_ns, gap_end_ns)) AS end_ns,
        CASE WHEN established THEN 'host' ELSE 'not established' END AS cause
    FROM gaps
    WHERE gap_start_ns < launched_ns OR launched_ns IS NULL
    UNION ALL
    SELECT
        queue, rank_no, phase_no, greatest(gap_start_ns, launched_ns), gap_end_ns,
        CASE WHEN established THEN 'launch' ELSE 'not established' END
    FROM gaps
    WHERE launched_ns < gap_end_ns
),
-- Calls that wait for the device, and how far those begun so far reach: few gaps meet one, and only these are swept.
waits AS (
    SELECT
        rank_no, start_ns, end_ns,
        max(end_ns) OVER (PARTITION BY rank_no ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS reach_ns
    FROM run_host
    WHERE role = 'synchronisation' AND dur_ns > 0
),
met AS (
    SELECT p.*, coalesce(p.cause = 'host' AND w.reach_ns > p.start_ns, false) AS waited
    FROM parts p
    ASOF LEFT JOIN waits w ON p.rank_no = w.rank_no AND p.end_ns > w.start_ns
),
-- +1 at the begin and -1 at the end of gaps and waits; the running sums say what holds between one edge and the next.
edges AS (
    SELECT queue, unnest([start_ns, end_ns]) AS t_ns, unnest([1, -1]) AS gap, 0 AS wait, unnest([coalesce(phase_no, 0), NULL]) AS phase_no
    FROM met
    WHERE waited
    UNION ALL
    SELECT d.queue, unnest([w.start_ns, w.end_ns]), 0, unnest([1, -1]), NULL
    FROM waits w
    JOIN (SELECT DISTINCT queue, rank_no FROM met WHERE waited) d USING (rank_no)
),
swept AS (
    SELECT
        queue, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(gap) OVER ordered AS gap,
        sum(wait) OVER ordered AS wait,
        last_value(phase_no IGNORE NULLS) OVER ordered AS phase_no
    FROM edges
    WINDOW ordered AS (PARTITION BY queue ORDER BY t_ns, gap ROWS UNBOUNDED PRECEDING)
),
-- Copies, and the other rows that meet one.
copies AS (
    SELECT
        queue, start_ns, end_ns, phase_no,
        max(end_ns) OVER (PARTITION BY queue ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS reach_ns
    FROM run_device
    WHERE kind = 'memcpy' AND dur_ns > 0
),
engine_edges AS (
    SELECT queue, unnest([start_ns, end_ns]) AS t_ns, unnest([1, -1]) AS copying, 0 AS other, unnest([coalesce(phase_no, 0), NULL]) AS phase_no
    FROM copies
    UNION ALL
    SELECT k.queue, unnest([k.start_ns, k.end_ns]), 0, unnest([1, -1]), NULL
    FROM (FROM run_device WHERE kind <> 'memcpy' AND dur_ns > 0) k
    ASOF JOIN copies c ON k.queue = c.queue AND k.end_ns > c.start_ns
    WHERE c.reach_ns > k.start_ns
),
engines AS (
    SELECT
        queue, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(copying) OVER ordered AS copying,
        sum(other) OVER ordered AS other,
        last_value(phase_no IGNORE NULLS) OVER ordered AS phase_no
    FROM engine_edges
    WINDOW ordered AS (PARTITION BY queue ORDER BY t_ns, copying ROWS UNBOUNDED PRECEDING)
),
found AS (
    SELECT queue, phase_no, start_ns, end_ns - start_ns AS dur_ns, cause
    FROM met
    WHERE NOT waited
    UNION ALL
    SELECT queue, phase_no, t_ns, dur_ns, CASE WHEN wait > 0 THEN 'synchronisation' ELSE 'host' END
    FROM swept
    WHERE gap > 0 AND dur_ns > 0
    UNION ALL
    SELECT queue, phase_no, t_ns, dur_ns, 'copy'
    FROM engines
    WHERE copying > 0 AND other = 0 AND dur_ns > 0
)
SELECT $run_id, r.pass, r.rank, q.device, p.phase, p.step, f.start_ns, f.dur_ns, f.cause
FROM found f
JOIN queues q USING (queue)
JOIN run_ranks r USING (rank_no)
LEFT JOIN run_phases p USING (phase_no)
