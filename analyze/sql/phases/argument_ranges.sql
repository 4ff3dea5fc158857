-- Stretches of one thread or stream over which an argument keeps its value: each is one range.
WITH valued AS (
    SELECT rank, thread_id, NULL AS stream, start_ns, start_ns + dur_ns AS end_ns, TRY(json_extract_string(args, $path)) AS value
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND contains(args, $argument)
    UNION ALL
    SELECT rank, NULL, device || '/' || stream, start_ns, start_ns + dur_ns, TRY(json_extract_string(args, $path))
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass AND contains(args, $argument)
),
changes AS (
    SELECT
        *,
        value IS DISTINCT FROM lag(value) OVER (PARTITION BY rank, thread_id, stream ORDER BY start_ns, end_ns DESC) AS changed
    FROM valued
    WHERE value IS NOT NULL
),
islands AS (
    SELECT
        *,
        sum(changed::INTEGER) OVER (
            PARTITION BY rank, thread_id, stream ORDER BY start_ns, end_ns DESC ROWS UNBOUNDED PRECEDING
        ) AS island
    FROM changes
)
SELECT rank, thread_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns, any_value(value) AS name
FROM islands
GROUP BY rank, thread_id, stream, island
ORDER BY rank, thread_id, start_ns, end_ns DESC
