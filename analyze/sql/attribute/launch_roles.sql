-- A runtime call that kernels came from is a launch, whatever its runtime calls it (MTIA's runFunction).
UPDATE ops
SET role = 'launch'
WHERE run_id = $run_id AND pass = $pass AND role = 'runtime'
    AND op_id IN (
        SELECT launch_op_id FROM kernels WHERE run_id = $run_id AND pass = $pass AND kind NOT IN ('memcpy', 'memset')
    )
