-- First begin and last end of each rank's work, and how many annotations it has.
SELECT rank, min(start_ns) AS start_ns, max(end_ns) AS end_ns, sum(annotations)::BIGINT AS annotations
FROM (
    SELECT rank, min(start_ns) AS start_ns, max(start_ns + dur_ns) AS end_ns, count(*) FILTER (layer = 'annotation') AS annotations
    FROM ops
    WHERE run_id = $run_id AND pass = $pass
    GROUP BY rank
    UNION ALL
    SELECT rank, min(start_ns), max(start_ns + dur_ns), 0
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass
    GROUP BY rank
)
GROUP BY rank
ORDER BY rank
