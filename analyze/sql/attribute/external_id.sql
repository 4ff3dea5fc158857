-- PyTorch writes the number of the operator that launched a device row beside it ("External id"): where the launch
-- itself is not in the file, the row belongs to that operator's phase. Such a row has no launch and no delay.
UPDATE kernels
SET repeat = called.repeat, phase = called.phase, step = called.step, attributed_by = 'external_id'
FROM (
    WITH numbered AS (
        -- The schema of 2021 wrote it small on the device.
        SELECT rowid AS row, rank, TRY_CAST(coalesce(ids[1], ids[2]) AS BIGINT) AS external_id
        FROM (
            SELECT rowid, rank, TRY(json_extract_string(args, ['$."External id"', '$."external id"'])) AS ids
            FROM kernels
            WHERE run_id = $run_id AND pass = $pass AND attributed_by = 'unattributed' AND contains(args, 'xternal id"')
        )
    ),
    operators AS (
        SELECT rank, external_id, any_value(repeat) AS repeat, any_value(phase) AS phase, any_value(step) AS step
        FROM ops
        WHERE run_id = $run_id AND pass = $pass AND role = 'operator' AND external_id <> 0
            AND external_id IN (SELECT external_id FROM numbered)
        GROUP BY ALL
        HAVING count(*) = 1
    )
    SELECT n.row, o.repeat, o.phase, o.step
    FROM numbered n
    JOIN operators o USING (rank, external_id)
) called
WHERE kernels.rowid = called.row
