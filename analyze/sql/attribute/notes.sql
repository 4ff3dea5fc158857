-- What must be known of the device rows.
INSERT INTO quality
WITH placed AS (
    SELECT
        rank, launch_op_id, launch_delay_ns, attributed_by, phase,
        start_ns < max(start_ns + dur_ns) OVER (
            PARTITION BY rank, device, stream ORDER BY start_ns, dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS overlapping
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass
),
silent AS (
    SELECT rank, count(*) AS launches
    FROM ops o
    WHERE run_id = $run_id AND pass = $pass AND role = 'launch'
        AND NOT EXISTS (FROM placed r WHERE r.launch_op_id = o.op_id)
    GROUP BY rank
),
counted AS (
    SELECT rank, 'launches_without_kernel' AS reason, launches AS events,
        launches || ' launches without kernel: their device rows are not in the file, so that the device is not known to '
            || 'be idle' AS detail
    FROM silent
    UNION ALL
    SELECT rank, 'kernels_without_launch', count(*),
        count(*) || ' device rows have no launch in the file; they are unattributed, neither dropped nor guessed'
    FROM placed WHERE attributed_by = 'unattributed' GROUP BY rank
    UNION ALL
    SELECT rank, 'launched_outside_phases', count(*),
        count(*) || ' device rows were launched outside every phase (between the marks, or on a thread that has none); they '
            || 'belong to no phase'
    FROM placed WHERE attributed_by <> 'unattributed' AND phase IS NULL GROUP BY rank
    UNION ALL
    SELECT rank, 'negative_launch_delay', count(*),
        count(*) || ' device rows begin before their launch: the clocks of host and device differ; kept out of averages'
    FROM placed WHERE launch_delay_ns < 0 GROUP BY rank
    UNION ALL
    SELECT rank, 'overlap_on_stream', count(*),
        count(*) || ' device rows begin before an earlier one of their stream ends; busy time is the union'
    FROM placed WHERE overlapping GROUP BY rank
    UNION ALL
    -- PyTorch's profiler has no activity for MPS (pytorch/pytorch#99037): only the names of operators tell.
    SELECT rank, 'mps_dispatch_time', count(*),
        'the operators ran on MPS, of whose GPU work PyTorch''s profiler records nothing: durations are CPU dispatch time '
            || '(and time blocked in synchronisation); for GPU time record a Metal System Trace with Instruments, export its '
            || 'tables with `xctrace export` and load them'
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND layer = 'operator' AND contains(lower(name), 'mps')
        AND regexp_matches(lower(name), '(^|[^a-z])mps([^a-z]|$)') AND rank NOT IN (SELECT rank FROM placed)
    GROUP BY rank
)
SELECT $run_id, rank, reason, 'note', events, 'Pass ' || $pass || ': ' || detail || '.'
FROM counted
WHERE events > 0
