-- What each call does, and the phase in whose window it starts: one of its own thread, else one that reaches everywhere.
UPDATE ops
SET role = placed.role, repeat = placed.repeat, phase = placed.phase, step = placed.step
FROM (
    WITH slices AS (
        SELECT
            rowid AS row, rank, thread_id, start_ns,
            CASE
                WHEN layer <> 'operator' THEN NULL
                WHEN lower(category) NOT IN (
                    'cuda_runtime', 'cuda_driver', 'runtime', 'privateuse1_runtime', 'privateuse1_driver', 'xpu_runtime',
                    'xpu_driver', 'mtia_runtime', 'glow_runtime', 'cuda_sync'
                ) OR category IS NULL THEN 'operator'
                WHEN contains(lower(name), 'launch') AND NOT contains(lower(name), 'hostfunc') THEN 'launch'
                WHEN contains(lower(name), 'memcpy') OR contains(lower(name), 'memset') THEN 'copy'
                WHEN contains(lower(name), 'synchronize') OR lower(category) = 'cuda_sync' THEN 'synchronisation'
                ELSE 'runtime'
            END AS role
        FROM ops
        WHERE run_id = $run_id AND pass = $pass
    ),
    on_thread AS (
        SELECT s.row, s.rank, s.start_ns, s.role, w.end_ns > s.start_ns AS inside, w.repeat, w.phase, w.step
        FROM slices s
        ASOF LEFT JOIN phase_windows w ON s.rank = w.rank AND s.thread_id = w.thread_id AND s.start_ns >= w.start_ns
    )
    SELECT
        o.row, o.role,
        CASE WHEN o.inside THEN o.repeat WHEN e.end_ns > o.start_ns THEN e.repeat END AS repeat,
        CASE WHEN o.inside THEN o.phase WHEN e.end_ns > o.start_ns THEN e.phase END AS phase,
        CASE WHEN o.inside THEN o.step WHEN e.end_ns > o.start_ns THEN e.step END AS step
    FROM on_thread o
    ASOF LEFT JOIN (FROM phase_windows WHERE everywhere) e ON o.rank = e.rank AND o.start_ns >= e.start_ns
) placed
WHERE ops.rowid = placed.row
