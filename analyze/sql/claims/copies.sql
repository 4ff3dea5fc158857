-- Copies between host and device, by the call that began them: rows of the device's copy engines, or PyTorch's copy signposts (mps).
WITH rows AS (
    SELECT
        pass, repeat, phase, step, kind, bytes,
        kind = 'memcpy' AND regexp_matches(name, '(?i)htod|host ?to ?device|host *-> *device') AS to_device,
        kind = 'memcpy' AND regexp_matches(name, '(?i)dtoh|device ?to ?host|device *-> *host') AS to_host
    FROM kernels
    WHERE run_id = $run_id AND kind IN ('kernel', 'memcpy', 'memset')
),
copied AS (
    SELECT
        count(*) AS device_rows,
        count(DISTINCT (pass, repeat, phase, step)) FILTER (phase IN ('prefill', 'decode')) AS calls,
        count(DISTINCT (pass, repeat, phase, step)) FILTER (phase IN ('prefill', 'decode') AND (to_device OR to_host)) AS calls_with_copy,
        count(*) FILTER (to_device OR to_host) AS copies,
        count(*) FILTER (kind = 'memcpy' AND NOT (to_device OR to_host)) AS other_copies,
        count(*) FILTER ((to_device OR to_host) AND phase = 'prefill') AS prefill_copies,
        count(*) FILTER ((to_device OR to_host) AND phase = 'decode') AS decode_copies,
        sum(bytes) FILTER ((to_device OR to_host) AND phase = 'prefill')::BIGINT AS prefill_copied_bytes,
        sum(bytes) FILTER ((to_device OR to_host) AND phase = 'decode')::BIGINT AS decode_copied_bytes,
        sum(bytes) FILTER (to_device)::BIGINT AS to_device_bytes,
        sum(bytes) FILTER (to_host)::BIGINT AS to_host_bytes
    FROM rows
),
-- the tables of signposts show the same ones, so they are not added up
posts AS (
    SELECT
        s.source_table,
        count(*) FILTER (s.name LIKE 'PyTorchOperation%') AS operations,
        count(*) FILTER (s.name LIKE 'PyTorchCopy%') AS copies,
        count(*) FILTER (s.name LIKE 'PyTorchCopy%' AND p.run_id IS NOT NULL) AS in_calls
    FROM signposts s
    LEFT JOIN instruments_recordings i ON i.run_id = s.run_id AND i.pass = s.pass AND i.rank = s.rank
    LEFT JOIN phases p
        ON p.run_id = s.run_id AND p.pass = s.pass AND p.rank = s.rank AND p.phase IN ('prefill', 'decode')
        AND s.start_ns >= p.start_ns AND s.start_ns < p.start_ns + p.dur_ns
    WHERE s.run_id = $run_id AND (s.pid = i.target_pid OR i.target_pid IS NULL)
    GROUP BY s.source_table
),
clock AS (
    SELECT coalesce(bool_and(i.pass_start_ns IS NOT NULL), false) AND count(p.start_ns) > 0 AS joined
    FROM instruments_recordings i
    LEFT JOIN phases p ON p.run_id = i.run_id AND p.pass = i.pass
    WHERE i.run_id = $run_id
)
SELECT
    r.device, c.*,
    (SELECT max(operations) FROM posts) AS operation_signposts,
    (SELECT max(copies) FROM posts) AS all_copy_signposts,
    CASE WHEN clock.joined THEN (SELECT max(in_calls) FROM posts) END AS copy_signposts
FROM copied c, clock
JOIN runs r ON r.run_id = $run_id
