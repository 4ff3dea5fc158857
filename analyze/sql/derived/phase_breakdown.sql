-- Times are unions of intervals: a row adds only what lies behind everything that began before it.
INSERT INTO phase_breakdown
WITH host AS (
    SELECT
        o.phase_no, o.role, o.start_ns, o.thread_id = p.thread_id OR p.thread_id IS NULL AS on_thread,
        least(o.end_ns, p.end_ns) AS end_ns
    FROM run_host o
    JOIN run_phases p USING (phase_no)
),
traced AS (SELECT DISTINCT rank_no FROM run_host),
counted AS (
    SELECT
        phase_no,
        count(*) FILTER (role = 'operator') AS operators,
        count(*) FILTER (role = 'launch') AS launches
    FROM host
    GROUP BY phase_no
),
host_added AS (
    SELECT phase_no, false AS sync, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns)) AS added_ns
    FROM host
    WHERE on_thread
    WINDOW earlier AS (PARTITION BY phase_no ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    UNION ALL
    SELECT phase_no, true, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns))
    FROM host
    WHERE on_thread AND role = 'synchronisation'
    WINDOW earlier AS (PARTITION BY phase_no ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
host_time AS (
    SELECT
        phase_no,
        sum(added_ns) FILTER (added_ns > 0 AND NOT sync)::BIGINT AS operator_ns,
        sum(added_ns) FILTER (added_ns > 0 AND sync)::BIGINT AS sync_ns
    FROM host_added
    GROUP BY phase_no
),
with_device AS (SELECT DISTINCT rank_no FROM run_device WHERE own),
device_added AS (
    SELECT phase_no, kind, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns)) AS added_ns
    FROM run_device
    WHERE own AND phase_no IS NOT NULL
    WINDOW earlier AS (PARTITION BY phase_no ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
device_time AS (
    SELECT
        phase_no,
        sum(added_ns) FILTER (added_ns > 0)::BIGINT AS device_busy_ns,
        count(*) FILTER (kind IN ('kernel', 'metal', 'other')) AS kernels
    FROM device_added
    GROUP BY phase_no
),
extent AS (
    SELECT p.phase_no, p.rank_no, e.start_ns, e.end_ns, e.synchronised, e.established
    FROM device_extent e
    JOIN run_phases p USING (pass, rank, repeat, phase, step)
    WHERE e.run_id = $run_id
),
-- Stretches in which any device of the rank works: what each row adds to those before it; and how much came before.
busy AS (
    SELECT rank_no, start_ns, end_ns, sum(end_ns - start_ns) OVER (PARTITION BY rank_no ORDER BY start_ns) - (end_ns - start_ns) AS before_ns
    FROM (
        SELECT rank_no, greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns)) AS start_ns, end_ns
        FROM run_device
        WHERE own
        WINDOW earlier AS (PARTITION BY rank_no ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
    WHERE end_ns > start_ns
),
idle AS (
    SELECT
        e.phase_no,
        (e.end_ns - e.start_ns - coalesce(l.before_ns + least(l.end_ns, e.end_ns) - l.start_ns, 0)
            + coalesce(f.before_ns + least(f.end_ns, e.start_ns) - f.start_ns, 0))::BIGINT AS device_idle_ns
    FROM extent e
    ASOF LEFT JOIN busy f ON f.rank_no = e.rank_no AND f.start_ns <= e.start_ns
    ASOF LEFT JOIN busy l ON l.rank_no = e.rank_no AND l.start_ns <= e.end_ns
    WHERE e.established
)
SELECT
    $run_id, p.pass, p.rank, p.repeat, p.phase, p.step,
    p.dur_ns AS wall_ns,
    CASE WHEN t.rank_no IS NOT NULL THEN coalesce(h.operator_ns, 0) END AS operator_ns,
    CASE WHEN t.rank_no IS NOT NULL THEN p.dur_ns - coalesce(h.operator_ns, 0) END AS between_operators_ns,
    CASE WHEN t.rank_no IS NOT NULL THEN coalesce(h.sync_ns, 0) END AS sync_ns,
    CASE WHEN w.rank_no IS NOT NULL THEN coalesce(d.device_busy_ns, 0) END AS device_busy_ns,
    i.device_idle_ns,
    CASE WHEN t.rank_no IS NOT NULL THEN coalesce(c.operators, 0) END AS operators,
    CASE WHEN t.rank_no IS NOT NULL THEN coalesce(c.launches, 0) END AS launches,
    CASE WHEN w.rank_no IS NOT NULL THEN coalesce(d.kernels, 0) END AS kernels,
    100.0 * p.cpu_ns / nullif(p.dur_ns, 0) AS cpu_percent,
    p.tokens,
    p.cached_tokens
FROM run_phases p
LEFT JOIN traced t USING (rank_no)
LEFT JOIN with_device w USING (rank_no)
LEFT JOIN counted c USING (phase_no)
LEFT JOIN host_time h USING (phase_no)
LEFT JOIN device_time d USING (phase_no)
LEFT JOIN idle i USING (phase_no)
