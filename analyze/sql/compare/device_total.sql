-- All device work of one traced pass: union of the rows on each device, with and without a phase.
WITH advanced AS (
    SELECT
        attributed_by, start_ns, start_ns + dur_ns AS end_ns,
        max(start_ns + dur_ns) OVER (
            PARTITION BY rank, device ORDER BY start_ns, dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns,
        dur_ns
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass
)
SELECT
    count(*) AS rows,
    sum(greatest(0, end_ns - greatest(start_ns, coalesce(busy_until_ns, start_ns))))::BIGINT AS busy_ns,
    sum(dur_ns) FILTER (attributed_by <> 'unattributed') / nullif(sum(dur_ns), 0) AS attributed_share
FROM advanced
