-- An arrow from a call on the host to the begin of a device row joins them where no correlation id does. Its ends are
-- matched by time and track to the nanosecond; fwdbwd arrows join host work.
UPDATE kernels
SET launch_op_id = found.c.op_id, launch_delay_ns = kernels.start_ns - found.c.start_ns,
    repeat = found.c.repeat, phase = found.c.phase, step = found.c.step, attributed_by = 'flow'
FROM (
    WITH ends AS (
        SELECT rank, flow_id, ph, track, t_ns
        FROM flows
        WHERE run_id = $run_id AND pass = $pass AND flow_id IS NOT NULL AND coalesce(category, '') <> 'fwdbwd'
    ),
    calls AS (
        SELECT DISTINCT ON (s.rank, s.flow_id) s.rank, s.flow_id, o.op_id, o.start_ns, o.repeat, o.phase, o.step
        FROM ends s
        JOIN threads t ON t.run_id = $run_id AND t.pass = $pass AND t.rank = s.rank AND t.pid || '/' || t.tid = s.track
        JOIN ops o ON o.run_id = $run_id AND o.pass = $pass AND o.thread_id = t.thread_id AND o.start_ns = s.t_ns
        WHERE s.ph = 's' AND o.layer = 'operator'
        ORDER BY s.rank, s.flow_id, o.role = 'operator', o.depth DESC
    )
    SELECT k.rowid AS row, any_value(c) AS c, count(DISTINCT c.op_id) AS candidates
    FROM kernels k
    JOIN ends f ON f.rank = k.rank AND f.t_ns = k.start_ns AND f.ph IN ('f', 't')
    JOIN calls c ON c.rank = f.rank AND c.flow_id = f.flow_id
    WHERE k.run_id = $run_id AND k.pass = $pass AND k.attributed_by = 'unattributed'
        AND string_split(f.track, '/')[-1] IN (k.stream, 'stream ' || k.stream)
    GROUP BY k.rowid
    HAVING candidates = 1
) found
WHERE kernels.rowid = found.row
