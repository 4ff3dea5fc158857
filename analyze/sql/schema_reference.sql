-- Facts that no run brings with it: peaks of machines, kinds of operators, meanings of counters.
-- They come from the .toml files beside the code and are brought up to date whenever a store is opened for loading.

CREATE TABLE machine_peaks (
    machine VARCHAR NOT NULL, device_pattern VARCHAR NOT NULL, gpu_cores INTEGER, quantity VARCHAR NOT NULL, dtype VARCHAR,
    value DOUBLE NOT NULL, unit VARCHAR NOT NULL, provenance VARCHAR NOT NULL, source VARCHAR NOT NULL
);
COMMENT ON TABLE machine_peaks IS 'Peak memory bandwidth and matrix rate of chips and GPUs, each number with its source.';
COMMENT ON COLUMN machine_peaks.machine IS 'Chip or GPU.';
COMMENT ON COLUMN machine_peaks.device_pattern IS 'Regular expression that the whole of runs.device_name must match.';
COMMENT ON COLUMN machine_peaks.gpu_cores IS 'Number of GPU cores of this variant; NULL where all variants share the number.';
COMMENT ON COLUMN machine_peaks.quantity IS 'memory_bandwidth or matmul_rate (dense multiply-adds, each counted as two operations).';
COMMENT ON COLUMN machine_peaks.dtype IS 'Element type that the matmul_rate is for; NULL for memory_bandwidth.';
COMMENT ON COLUMN machine_peaks.value IS 'The number, in unit.';
COMMENT ON COLUMN machine_peaks.unit IS 'bytes/s or FLOP/s.';
COMMENT ON COLUMN machine_peaks.provenance IS 'published (by the maker), derived (from such a number), measured (by somebody, source says who) or estimated.';
COMMENT ON COLUMN machine_peaks.source IS 'Where the number is from.';

CREATE TABLE operator_kinds (
    priority INTEGER NOT NULL, kind VARCHAR NOT NULL, name_pattern VARCHAR NOT NULL, args_pattern VARCHAR
);
COMMENT ON TABLE operator_kinds IS 'What an operator is for, by its name; the first rule that matches decides.';
COMMENT ON COLUMN operator_kinds.priority IS 'Order of the rules, from 0.';
COMMENT ON COLUMN operator_kinds.kind IS 'attention, linear, norm, embedding, sampling, cache update, copy, elementwise, layout (views, joins and selections) or synchronisation.';
COMMENT ON COLUMN operator_kinds.name_pattern IS 'Regular expression that the whole of ops.name must match.';
COMMENT ON COLUMN operator_kinds.args_pattern IS 'Regular expression that must be found in ops.args too; such rules go before those without.';

CREATE TABLE limiter_counters (resource VARCHAR NOT NULL, track_pattern VARCHAR NOT NULL, source VARCHAR NOT NULL);
COMMENT ON TABLE limiter_counters IS 'Which hardware counters tell that a resource is the limit. Their values are per cent of the peak.';
COMMENT ON COLUMN limiter_counters.resource IS 'memory or compute.';
COMMENT ON COLUMN limiter_counters.track_pattern IS 'Regular expression that must be found in counters.track.';
COMMENT ON COLUMN limiter_counters.source IS 'Who defines the counter.';
