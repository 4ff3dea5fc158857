-- Device-side slices. Under CUDA graphs the stream that ran is the original one.
INSERT INTO kernels
WITH read AS (
    SELECT s.*, t.pid, t.tid,
        TRY(json_extract_string(s.args, ['$.correlation', '$.device', '$.original_stream', '$.stream', '$.bytes'])) AS a
    FROM slices s JOIN trace_threads t ON t.thread_id = s.thread
    WHERE s.kind NOT IN ('operator', 'python', 'annotation')
)
SELECT
    $run_id, $pass, $rank, number + $first_id, name, kind, coalesce(a[2], pid),
    coalesce(a[3], a[4], regexp_replace(tid, '^stream ', '')), start_ns, dur_ns, TRY_CAST(a[1] AS BIGINT),
    NULL, NULL, NULL, NULL, NULL, 'unattributed', TRY_CAST(a[5] AS BIGINT), NULL, args
FROM read;
