-- How much of each stretch of the timeline is covered: by operators on the busiest host thread, by work on devices.
-- Top-level slices of one thread do not overlap, so their sum is their union; device rows may, so theirs is capped.
WITH top AS (
    SELECT 'host' AS side, thread_id AS place_id, start_ns, start_ns + dur_ns AS end_ns
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND layer = 'operator' AND depth = 0
    UNION ALL
    SELECT 'device', 0, start_ns, start_ns + dur_ns
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank
), clipped AS (
    SELECT side, place_id, greatest(start_ns, $start_ns) - $start_ns AS start_ns, least(end_ns, $end_ns) - $start_ns AS end_ns
    FROM top WHERE start_ns < $end_ns AND end_ns > $start_ns
), busiest AS (
    SELECT side, place_id FROM clipped GROUP BY side, place_id
    QUALIFY row_number() OVER (PARTITION BY side ORDER BY sum(end_ns - start_ns) DESC, place_id) = 1
), pieces AS (
    SELECT side, start_ns, end_ns, unnest(range(start_ns // $bucket_ns, (end_ns - 1) // $bucket_ns + 1)) AS bucket
    FROM clipped JOIN busiest USING (side, place_id)
    WHERE end_ns > start_ns
)
SELECT side, bucket * $bucket_ns AS start_ns,
    least(sum(least(end_ns, (bucket + 1) * $bucket_ns) - greatest(start_ns, bucket * $bucket_ns)) / $bucket_ns, 1.0) AS covered
FROM pieces
GROUP BY side, bucket
ORDER BY side, bucket
