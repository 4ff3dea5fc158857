-- What passes opstats and energy tell of a Mac.

CREATE TABLE mps_operators (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, place INTEGER NOT NULL, name VARCHAR NOT NULL, kind VARCHAR NOT NULL,
    operator_id VARCHAR NOT NULL, runs BIGINT NOT NULL, mean_gpu_ns BIGINT, total_gpu_ns BIGINT, mean_schedule_ns BIGINT
);
COMMENT ON TABLE mps_operators IS 'PyTorch''s own ranking of MPS operators by GPU time (pass opstats). A ranking, never a total: an operator is given the time of the whole command buffer that holds it, and the statistics change how buffers are committed.';
COMMENT ON COLUMN mps_operators.run_id IS 'Run.';
COMMENT ON COLUMN mps_operators.pass IS 'Pass.';
COMMENT ON COLUMN mps_operators.place IS 'Place by total_gpu_ns, from 1; this is what the table is for.';
COMMENT ON COLUMN mps_operators.name IS 'Operator with its input types and shapes, as PyTorch prints it.';
COMMENT ON COLUMN mps_operators.kind IS 'graph (MPSGraph) or kernel (a Metal kernel of PyTorch).';
COMMENT ON COLUMN mps_operators.operator_id IS 'PyTorch''s number: G12 is a graph, K12 a kernel.';
COMMENT ON COLUMN mps_operators.runs IS 'Times it ran, over warm-up and measured generation.';
COMMENT ON COLUMN mps_operators.mean_gpu_ns IS 'Mean GPU time of a run by this way of counting; printed to the microsecond. Do not quote.';
COMMENT ON COLUMN mps_operators.total_gpu_ns IS 'Sum of its runs by this way of counting. Rows do not add up to anything.';
COMMENT ON COLUMN mps_operators.mean_schedule_ns IS 'Mean time from begin to end of scheduling of a run.';

CREATE TABLE mps_fallbacks (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, name VARCHAR NOT NULL, operator_id VARCHAR NOT NULL, runs BIGINT NOT NULL,
    mean_cpu_ns BIGINT, total_cpu_ns BIGINT, copied_bytes_approximate BIGINT
);
COMMENT ON TABLE mps_fallbacks IS 'Operators that MPS lacks and that ran on the CPU (pass opstats), by PyTorch''s own count.';
COMMENT ON COLUMN mps_fallbacks.run_id IS 'Run.';
COMMENT ON COLUMN mps_fallbacks.pass IS 'Pass.';
COMMENT ON COLUMN mps_fallbacks.name IS 'Operator, as PyTorch prints it.';
COMMENT ON COLUMN mps_fallbacks.operator_id IS 'PyTorch''s number of it.';
COMMENT ON COLUMN mps_fallbacks.runs IS 'Times it ran, over warm-up and measured generation.';
COMMENT ON COLUMN mps_fallbacks.mean_cpu_ns IS 'Mean CPU time of a run; printed to the microsecond.';
COMMENT ON COLUMN mps_fallbacks.total_cpu_ns IS 'Sum of its runs.';
COMMENT ON COLUMN mps_fallbacks.copied_bytes_approximate IS 'Bytes copied between GPU and CPU for it, from a text of two decimals.';

CREATE TABLE mps_copies (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, kind VARCHAR NOT NULL, copies BIGINT NOT NULL,
    bytes_approximate BIGINT, total_gpu_ns BIGINT, total_schedule_ns BIGINT, scalars BIGINT, blocking BIGINT, memcpy BIGINT
);
COMMENT ON TABLE mps_copies IS 'Copies between GPU and CPU by PyTorch''s own count (pass opstats).';
COMMENT ON COLUMN mps_copies.run_id IS 'Run.';
COMMENT ON COLUMN mps_copies.pass IS 'Pass.';
COMMENT ON COLUMN mps_copies.kind IS 'From where to where, as PyTorch prints it.';
COMMENT ON COLUMN mps_copies.copies IS 'Copies, over warm-up and measured generation.';
COMMENT ON COLUMN mps_copies.bytes_approximate IS 'Bytes, from a text of two decimals.';
COMMENT ON COLUMN mps_copies.total_gpu_ns IS 'Sum of their GPU times by this way of counting; printed to the microsecond.';
COMMENT ON COLUMN mps_copies.total_schedule_ns IS 'Sum of their times from begin to end of scheduling.';
COMMENT ON COLUMN mps_copies.scalars IS 'Copies of a single number among them, as reading a token is.';
COMMENT ON COLUMN mps_copies.blocking IS 'Copies that the host waited for.';
COMMENT ON COLUMN mps_copies.memcpy IS 'Copies that were a memcpy of the CPU (unified memory).';

CREATE TABLE energy (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, work VARCHAR NOT NULL, counter VARCHAR NOT NULL, runs INTEGER NOT NULL,
    dur_ns BIGINT, energy_mj DOUBLE, derived BOOLEAN NOT NULL
);
COMMENT ON TABLE energy IS 'Energy of the whole chip while something ran again and again for 5 s and more (pass energy). Estimates of the chip, to compare within one machine only.';
COMMENT ON COLUMN energy.run_id IS 'Run.';
COMMENT ON COLUMN energy.pass IS 'Pass.';
COMMENT ON COLUMN energy.work IS 'idle, prefill, generation (prefill and all decode steps), or decode (derived: a generation less a prefill).';
COMMENT ON COLUMN energy.counter IS 'cpu_total, efficiency_cores, performance_cores, dram, gpu, gpu_sram or ane (the Neural Engine).';
COMMENT ON COLUMN energy.runs IS 'Times that it ran in the window; energy_mj / runs is the energy of one.';
COMMENT ON COLUMN energy.dur_ns IS 'Length of the window; NULL for decode. energy_mj * 1e9 / dur_ns is mW.';
COMMENT ON COLUMN energy.energy_mj IS 'Energy in the window; NULL where the chip lacks the counter, or where noise is larger than the difference.';
COMMENT ON COLUMN energy.derived IS 'Whether it is a difference of two windows rather than a window of its own.';
