-- By time, only where the loop is synchronised (our engine waits for the device at both ends of a phase), or where the
-- mark is the device rows' own.
UPDATE kernels
SET repeat = placed.repeat, phase = placed.phase, step = placed.step, attributed_by = 'containment'
FROM (
    SELECT k.row, w.repeat, w.phase, w.step
    FROM (
        SELECT rowid AS row, rank, start_ns
        FROM kernels
        WHERE run_id = $run_id AND pass = $pass AND attributed_by = 'unattributed'
    ) k
    ASOF JOIN (FROM phase_windows WHERE holds_device_work) w ON k.rank = w.rank AND k.start_ns >= w.start_ns
    WHERE k.start_ns < w.end_ns
) placed
WHERE kernels.rowid = placed.row
