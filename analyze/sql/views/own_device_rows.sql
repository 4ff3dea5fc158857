-- Metal records the GPU for every process of the machine; what others did there is none of the run's work.
CREATE VIEW own_device_rows AS
SELECT * FROM kernels WHERE kind <> 'metal'
UNION ALL
SELECT k.* FROM kernels k
LEFT JOIN metal_gpu_intervals m USING (run_id, pass, rank, kernel_id)
LEFT JOIN instruments_recordings r USING (run_id, pass, rank)
WHERE k.kind = 'metal' AND (m.kernel_id IS NULL OR m.pid = r.target_pid);
COMMENT ON VIEW own_device_rows IS 'Device rows of the run itself: all of table kernels but those that Metal recorded for other processes or for none.';
COMMENT ON COLUMN own_device_rows.run_id IS 'Run.';
COMMENT ON COLUMN own_device_rows.pass IS 'Pass.';
COMMENT ON COLUMN own_device_rows.rank IS 'Rank.';
COMMENT ON COLUMN own_device_rows.kernel_id IS 'Number of the row, unique in a run.';
COMMENT ON COLUMN own_device_rows.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN own_device_rows.kind IS 'kernel, memcpy, memset, metal or other.';
COMMENT ON COLUMN own_device_rows.device IS 'Device within the rank, as the trace wrote it.';
COMMENT ON COLUMN own_device_rows.stream IS 'Stream, hardware queue or Metal channel.';
COMMENT ON COLUMN own_device_rows.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN own_device_rows.dur_ns IS 'Duration. Sums count overlapping work twice: busy time is the union.';
COMMENT ON COLUMN own_device_rows.correlation_id IS 'Correlation id of its launch.';
COMMENT ON COLUMN own_device_rows.launch_op_id IS 'op_id of the runtime call that launched it; many kernels share one under graphs.';
COMMENT ON COLUMN own_device_rows.launch_delay_ns IS 'Begin less the begin of its launch; negative is clock skew and stays out of averages.';
COMMENT ON COLUMN own_device_rows.repeat IS 'Repeat of that phase (phases.repeat).';
COMMENT ON COLUMN own_device_rows.phase IS 'Phase that launched it.';
COMMENT ON COLUMN own_device_rows.step IS 'Step of that phase.';
COMMENT ON COLUMN own_device_rows.attributed_by IS 'correlation (launch and row share a correlation id), flow (an arrow joins them), external_id (row and operator share PyTorch''s External id), containment (by time, where the loop is synchronised), or unattributed.';
COMMENT ON COLUMN own_device_rows.bytes IS 'Bytes moved, for copies and sets.';
COMMENT ON COLUMN own_device_rows.process IS 'Process it ran for, where several share the device.';
COMMENT ON COLUMN own_device_rows.args IS 'All arguments of the event as JSON text.';
