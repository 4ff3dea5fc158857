-- Tables that answer what most questions about a run ask, made from its rows when it is loaded (analyze/sql/derived).
-- Rows of a run never change, so that these never do; asking them costs no pass over its operators.

CREATE TABLE phase_breakdown (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER, phase VARCHAR, step INTEGER,
    wall_ns BIGINT, operator_ns BIGINT, between_operators_ns BIGINT, sync_ns BIGINT, device_busy_ns BIGINT,
    device_idle_ns BIGINT, operators BIGINT, launches BIGINT, kernels BIGINT, cpu_percent DOUBLE, tokens BIGINT,
    cached_tokens BIGINT
);
COMMENT ON TABLE phase_breakdown IS 'Where the time of each phase went. Only pass clean holds latencies to quote; the others explain.';
COMMENT ON COLUMN phase_breakdown.run_id IS 'Run.';
COMMENT ON COLUMN phase_breakdown.pass IS 'Pass.';
COMMENT ON COLUMN phase_breakdown.rank IS 'Rank.';
COMMENT ON COLUMN phase_breakdown.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN phase_breakdown.phase IS 'Phase.';
COMMENT ON COLUMN phase_breakdown.step IS 'Step.';
COMMENT ON COLUMN phase_breakdown.wall_ns IS 'Wall time of the phase; for servers the time of its range on the host, which may end before its device work.';
COMMENT ON COLUMN phase_breakdown.operator_ns IS 'Time in operators and runtime calls on the phase''s thread: union, cut at the phase''s end. NULL where the pass has none.';
COMMENT ON COLUMN phase_breakdown.between_operators_ns IS 'Wall time less operator_ns: Python and framework code.';
COMMENT ON COLUMN phase_breakdown.sync_ns IS 'The part of operator_ns in calls that wait for the device (role synchronisation).';
COMMENT ON COLUMN phase_breakdown.device_busy_ns IS 'Time in which device work of this phase ran on any device of the rank: union. NULL where the pass has no device rows.';
COMMENT ON COLUMN phase_breakdown.device_idle_ns IS 'Time inside the phase''s device_extent in which no device of the rank worked. NULL where that is not established: under 99 % of device time attributed, or over 1 % of the phase''s launches without device row.';
COMMENT ON COLUMN phase_breakdown.operators IS 'Operators, nested ones included, runtime calls not.';
COMMENT ON COLUMN phase_breakdown.launches IS 'Calls that launch a kernel or a graph.';
COMMENT ON COLUMN phase_breakdown.kernels IS 'Kernels that the phase launched, copies and sets not counted.';
COMMENT ON COLUMN phase_breakdown.cpu_percent IS 'CPU time of the process as per cent of one core over the wall time; above 100 with several threads. NULL where not measured.';
COMMENT ON COLUMN phase_breakdown.tokens IS 'Tokens processed.';
COMMENT ON COLUMN phase_breakdown.cached_tokens IS 'Tokens in the KV cache after it.';

CREATE TABLE time_budget (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER, phase VARCHAR, step INTEGER,
    thread_id INTEGER, wall_ns BIGINT, part VARCHAR, ns BIGINT, share DOUBLE, device_idle_ns BIGINT
);
COMMENT ON TABLE time_budget IS 'Wall time of each phase, split by what its own thread was in: the parts of a phase sum to wall_ns exactly. One row a part with time in it.';
COMMENT ON COLUMN time_budget.run_id IS 'Run.';
COMMENT ON COLUMN time_budget.pass IS 'Pass; only passes with operators or device rows. Times of pass profiled explain, they are no latencies.';
COMMENT ON COLUMN time_budget.rank IS 'Rank.';
COMMENT ON COLUMN time_budget.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN time_budget.phase IS 'Phase; one that overlaps an earlier one of its thread has no rows.';
COMMENT ON COLUMN time_budget.step IS 'Step.';
COMMENT ON COLUMN time_budget.thread_id IS 'Thread whose time is split: that of the phase''s range, else the one with most operator time; NULL for ranges of a device''s stream and passes without operators.';
COMMENT ON COLUMN time_budget.wall_ns IS 'Wall time of the phase.';
COMMENT ON COLUMN time_budget.part IS 'attention, linear, norm, embedding, sampling, cache update, elementwise, layout (views, joins and selections), copy, other (operators, by operator_kinds), launch, synchronisation (waiting for the device, in a copy too), runtime (calls of the runtime inside them), between operators (Python and framework); without a thread device work, device idle or not established.';
COMMENT ON COLUMN time_budget.ns IS 'Time of the part. On MPS this is the time to encode work, never GPU time.';
COMMENT ON COLUMN time_budget.share IS 'ns as part of wall_ns, 0 to 1.';
COMMENT ON COLUMN time_budget.device_idle_ns IS 'The part of ns in which no device of the rank worked: host time that the device waits for. Kernels of one graph launch are one stretch of work. NULL where idle is not established or the loop runs ahead of the device.';

CREATE TABLE device_idle (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, device VARCHAR, phase VARCHAR, step INTEGER,
    start_ns BIGINT, dur_ns BIGINT, cause VARCHAR
);
COMMENT ON TABLE device_idle IS 'Stretches inside a phase in which a device runs no kernel, with the cause where the trace shows it. Rows with cause copy are not idle: the copy engine works. Sums of the others are phase_breakdown.device_idle_ns (one device a rank, extents that do not overlap).';
COMMENT ON COLUMN device_idle.run_id IS 'Run.';
COMMENT ON COLUMN device_idle.pass IS 'Pass.';
COMMENT ON COLUMN device_idle.rank IS 'Rank.';
COMMENT ON COLUMN device_idle.device IS 'Device within the rank.';
COMMENT ON COLUMN device_idle.phase IS 'Phase in whose extent the gap lies (of several the one whose row ends it), or of the copy; NULL outside every phase.';
COMMENT ON COLUMN device_idle.step IS 'Step of that phase.';
COMMENT ON COLUMN device_idle.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN device_idle.dur_ns IS 'Duration.';
COMMENT ON COLUMN device_idle.cause IS 'host (the launch of the next row has not begun, or nothing follows in the phase), synchronisation (the same, while the host waits in a synchronisation call), launch (its launch began, the row did not: launch overhead or queueing), copy (a copy runs alone), or not established: under 99 % of device time attributed, or over 1 % of the phase''s launches without device row, or the next row has no launch.';

CREATE TABLE kernel_summary (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, device VARCHAR, phase VARCHAR, name VARCHAR,
    kind VARCHAR, calls BIGINT, sum_ns BIGINT, busy_ns BIGINT, share DOUBLE
);
COMMENT ON TABLE kernel_summary IS 'Device work by name, per device and phase.';
COMMENT ON COLUMN kernel_summary.run_id IS 'Run.';
COMMENT ON COLUMN kernel_summary.pass IS 'Pass.';
COMMENT ON COLUMN kernel_summary.rank IS 'Rank.';
COMMENT ON COLUMN kernel_summary.device IS 'Device within the rank.';
COMMENT ON COLUMN kernel_summary.phase IS 'Phase that launched it; NULL where that is not known or outside every phase.';
COMMENT ON COLUMN kernel_summary.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN kernel_summary.kind IS 'kernel, memcpy, memset, metal or other.';
COMMENT ON COLUMN kernel_summary.calls IS 'Rows.';
COMMENT ON COLUMN kernel_summary.sum_ns IS 'Sum of durations; rows that overlap count each.';
COMMENT ON COLUMN kernel_summary.busy_ns IS 'Time in which at least one of them ran (union).';
COMMENT ON COLUMN kernel_summary.share IS 'sum_ns as part of all sum_ns of the device and phase, 0 to 1.';

CREATE TABLE device_extent (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER, phase VARCHAR, step INTEGER,
    start_ns BIGINT, end_ns BIGINT, synchronised BOOLEAN, established BOOLEAN
);
COMMENT ON TABLE device_extent IS 'Where the device work of a phase is looked for, and whether its gaps may be called idle. One row a phase in passes with device rows.';
COMMENT ON COLUMN device_extent.run_id IS 'Run.';
COMMENT ON COLUMN device_extent.pass IS 'Pass.';
COMMENT ON COLUMN device_extent.rank IS 'Rank.';
COMMENT ON COLUMN device_extent.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN device_extent.phase IS 'Phase.';
COMMENT ON COLUMN device_extent.step IS 'Step.';
COMMENT ON COLUMN device_extent.start_ns IS 'Begin: of the phase in a synchronised loop, else of the first device row that it launched; NULL when it launched none.';
COMMENT ON COLUMN device_extent.end_ns IS 'End: of the phase in a synchronised loop, else of the last device row that it launched.';
COMMENT ON COLUMN device_extent.synchronised IS 'At least 99 % of the rank''s attributed device rows lie inside the wall time of their phase.';
COMMENT ON COLUMN device_extent.established IS 'Gaps may be called idle: at least 99 % of the rank''s device time is attributed, and at least 99 % of the phase''s launches have a device row.';

CREATE TABLE phase_threads (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER, phase VARCHAR, step INTEGER,
    start_ns BIGINT, dur_ns BIGINT, thread_id INTEGER, idle_known BOOLEAN
);
COMMENT ON TABLE phase_threads IS 'The thread whose time each phase is split into by time_budget; passes without operators and device rows have no row.';
COMMENT ON COLUMN phase_threads.run_id IS 'Run.';
COMMENT ON COLUMN phase_threads.pass IS 'Pass.';
COMMENT ON COLUMN phase_threads.rank IS 'Rank.';
COMMENT ON COLUMN phase_threads.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN phase_threads.phase IS 'Phase; one that begins inside an earlier one of its thread is left out.';
COMMENT ON COLUMN phase_threads.step IS 'Step.';
COMMENT ON COLUMN phase_threads.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN phase_threads.dur_ns IS 'Wall time.';
COMMENT ON COLUMN phase_threads.thread_id IS 'That of the phase''s range, else the one with most operator time; NULL for ranges of a device''s stream and passes without operators.';
COMMENT ON COLUMN phase_threads.idle_known IS 'Whether the loop is synchronised and its device rows are attributed, so that device idle may be said.';

CREATE TABLE step_audit (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER, phase VARCHAR, step INTEGER,
    verdict VARCHAR, operators BIGINT, device_rows BIGINT, typical_steps BIGINT, steps BIGINT, extra_rows BIGINT,
    missing_rows BIGINT, extra VARCHAR, missing VARCHAR, graph_launches BIGINT, graph_kernels BIGINT
);
COMMENT ON TABLE step_audit IS 'Whether each step ran the same operators and kernels as most steps of its phase: multisets of names. Phases that occur once have no row.';
COMMENT ON COLUMN step_audit.run_id IS 'Run.';
COMMENT ON COLUMN step_audit.pass IS 'Pass.';
COMMENT ON COLUMN step_audit.rank IS 'Rank.';
COMMENT ON COLUMN step_audit.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN step_audit.phase IS 'Phase.';
COMMENT ON COLUMN step_audit.step IS 'Step.';
COMMENT ON COLUMN step_audit.verdict IS 'as most (the multiset that more steps have than any other), differs (from a multiset that over half of the steps have), or no majority (compared with the commonest, which half of the steps or fewer have).';
COMMENT ON COLUMN step_audit.operators IS 'Operators, launches, copies and synchronisations, nested ones included; other runtime calls (some poll) are left out.';
COMMENT ON COLUMN step_audit.device_rows IS 'Rows of device work that it launched.';
COMMENT ON COLUMN step_audit.typical_steps IS 'Steps of the phase with the commonest multiset.';
COMMENT ON COLUMN step_audit.steps IS 'Steps of the phase, over all repeats of the pass.';
COMMENT ON COLUMN step_audit.extra_rows IS 'Operators and device rows beyond the commonest multiset.';
COMMENT ON COLUMN step_audit.missing_rows IS 'Operators and device rows that the commonest multiset has and this step has not.';
COMMENT ON COLUMN step_audit.extra IS 'Names of those beyond it, with their number; NULL where there are none.';
COMMENT ON COLUMN step_audit.missing IS 'Names of those missing, with their number; NULL where there are none.';
COMMENT ON COLUMN step_audit.graph_launches IS 'Launches that stand for several kernels or whose name says graph: their kernels replay, no host works between them.';
COMMENT ON COLUMN step_audit.graph_kernels IS 'Device rows that these launches stand for; 0 where the profiler records none of them.';
