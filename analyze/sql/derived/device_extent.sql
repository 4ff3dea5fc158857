-- Where the device's work for a phase is looked for, and whether "idle" may be said of it.
-- A synchronised loop (ours) ends its device work inside the phase: there the extent is the phase itself. A server's loop
-- runs ahead of the device (in a real vLLM trace no kernel starts inside the CPU range of its step): there it is
-- the stretch from the first to the last row that the phase launched.
INSERT INTO device_extent
WITH placed AS (
    SELECT
        k.rank_no, k.phase_no,
        min(k.start_ns) AS first_ns,
        max(k.end_ns) AS last_ns,
        count(*) AS rows_all,
        count(*) FILTER (k.start_ns >= p.start_ns AND k.end_ns <= p.end_ns) AS rows_inside
    FROM run_device k
    LEFT JOIN run_phases p USING (phase_no)
    GROUP BY ALL
),
ranks AS (
    SELECT rank_no, sum(rows_inside) >= 0.99 * sum(rows_all) AS synchronised
    FROM placed
    WHERE phase_no IS NOT NULL
    GROUP BY rank_no
),
marked AS (SELECT rank_no, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM run_phases GROUP BY rank_no),
-- A recording of Metal holds warm-up and the probe, too, which are outside all marks and no gap in them.
covered AS (
    SELECT
        k.rank_no,
        coalesce(sum(k.dur_ns) FILTER (k.attributed_by <> 'unattributed') / nullif(sum(k.dur_ns), 0), 0) AS share
    FROM run_device k
    LEFT JOIN marked m USING (rank_no)
    WHERE k.own AND (k.kind <> 'metal' OR (k.start_ns < m.last_ns AND k.end_ns > m.first_ns))
    GROUP BY ALL
),
called AS (
    SELECT o.phase_no, count(*) AS launches, count(k.launch_op_id) AS with_rows
    FROM run_host o
    LEFT JOIN (SELECT DISTINCT launch_op_id FROM run_device) k ON k.launch_op_id = o.op_id
    WHERE o.role = 'launch'
    GROUP BY ALL
)
SELECT
    $run_id, p.pass, p.rank, p.repeat, p.phase, p.step,
    CASE WHEN r.synchronised THEN p.start_ns ELSE d.first_ns END AS start_ns,
    CASE WHEN r.synchronised THEN p.end_ns ELSE d.last_ns END AS end_ns,
    coalesce(r.synchronised, false) AS synchronised,
    d.rows_all IS NOT NULL AND v.share >= 0.99 AND coalesce(c.with_rows >= 0.99 * c.launches, true) AS established
FROM run_phases p
JOIN (SELECT DISTINCT rank_no FROM run_device) USING (rank_no)
JOIN covered v USING (rank_no)
LEFT JOIN ranks r USING (rank_no)
LEFT JOIN placed d USING (phase_no)
LEFT JOIN called c USING (phase_no)
