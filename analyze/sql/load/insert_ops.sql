-- Host-side slices from the columns of a normalised trace.
INSERT INTO ops
WITH read AS (
    SELECT *, TRY(json_extract_string(args, ['$.correlation', '$."External id"', '$."external id"', '$."Input Dims"'])) AS a
    FROM slices WHERE kind IN ('operator', 'python', 'annotation')
)
SELECT
    $run_id, $pass, $rank, number + $first_id, CASE WHEN parent >= 0 THEN parent + $first_id END, depth,
    thread + $first_thread, kind, name, nullif(category, ''), start_ns, dur_ns, self_ns, NULL, NULL, NULL, NULL,
    TRY_CAST(a[1] AS BIGINT), TRY_CAST(coalesce(a[2], a[3]) AS BIGINT), a[4], args
FROM read;
