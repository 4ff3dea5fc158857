-- Peaks that a run can be compared with: those measured on its own machine first, then the data file's.
CREATE VIEW run_peaks AS
WITH machines AS (
    SELECT
        run_id, device, device_name, dtype,
        TRY_CAST(json_extract_string(manifest, '$.machine.gpu_cores') AS INTEGER) AS gpu_cores,
        TRY_CAST(json_extract_string(manifest, '$.machine.calibration.copy_bytes_per_s') AS DOUBLE) AS copy_bytes_per_s,
        TRY_CAST(json_extract_string(manifest, '$.machine.calibration.matmul_flops_per_s') AS DOUBLE) AS matmul_flops_per_s,
        json_extract_string(manifest, '$.machine.calibration.dtype') AS calibration_dtype
    FROM runs
),
found AS (
    SELECT run_id, 'memory_bandwidth' AS quantity, NULL AS dtype, copy_bytes_per_s AS value, 'bytes/s' AS unit, 'measured' AS provenance,
        'a copy on this machine, before the run (capture --calibrate)' AS source
    FROM machines WHERE copy_bytes_per_s > 0
    UNION ALL
    SELECT run_id, 'matmul_rate', calibration_dtype, matmul_flops_per_s, 'FLOP/s', 'measured',
        'a matrix product on this machine, before the run (capture --calibrate)'
    FROM machines WHERE matmul_flops_per_s > 0 AND calibration_dtype = dtype
    UNION ALL
    -- a processor's name is that of the whole chip, but the peaks are the GPU's
    SELECT m.run_id, p.quantity, p.dtype, p.value, p.unit, p.provenance, p.machine || ': ' || p.source
    FROM machines m
    JOIN machine_peaks p
        ON m.device IN ('mps', 'cuda') AND regexp_full_match(m.device_name, p.device_pattern)
        AND (p.gpu_cores IS NULL OR p.gpu_cores = m.gpu_cores) AND (p.dtype IS NULL OR p.dtype = m.dtype)
)
SELECT
    run_id, quantity, dtype, value, unit, provenance, source,
    row_number() OVER (
        PARTITION BY run_id, quantity
        ORDER BY array_position(['measured', 'published', 'derived', 'estimated'], if(source LIKE '%this machine%' OR provenance <> 'measured', provenance, 'estimated')), value DESC
    ) = 1 AS used
FROM found;
COMMENT ON VIEW run_peaks IS 'Peaks of each run''s machine. No row where the machine is not known and was not measured (capture --calibrate).';
COMMENT ON COLUMN run_peaks.run_id IS 'Run.';
COMMENT ON COLUMN run_peaks.quantity IS 'memory_bandwidth or matmul_rate.';
COMMENT ON COLUMN run_peaks.dtype IS 'Element type of the matmul_rate, that of the run; NULL for memory_bandwidth.';
COMMENT ON COLUMN run_peaks.value IS 'The peak, in unit.';
COMMENT ON COLUMN run_peaks.unit IS 'bytes/s or FLOP/s.';
COMMENT ON COLUMN run_peaks.provenance IS 'measured, published, derived or estimated.';
COMMENT ON COLUMN run_peaks.source IS 'Where the number is from.';
COMMENT ON COLUMN run_peaks.used IS 'Whether the roofline uses it: measured on this machine before published before derived before estimated or measured elsewhere.';
