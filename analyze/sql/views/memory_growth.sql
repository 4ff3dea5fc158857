-- What grew, by how much, and where the peak was: samples at phase edges and the trace's allocations, one row a counter.
CREATE VIEW memory_growth AS
WITH edges AS (
    SELECT run_id, pass, 0 AS rank, repeat, counter, t_ns, step, bytes,
        CASE phase WHEN 'before_prefill' THEN 0 WHEN 'after_prefill' THEN 1 ELSE 2 END AS place,
        CASE phase WHEN 'after_prefill' THEN 'prefill' WHEN 'after_decode' THEN 'decode' END AS phase
    FROM memory_timeline
    WHERE available AND counter <> 'recommended_max'
),
sampled AS (
    SELECT
        run_id, pass, rank, repeat, 'samples' AS source, counter,
        arg_min(bytes, (place, step)) FILTER (place = 0) AS before_bytes,
        arg_min(bytes, (place, step)) FILTER (place = 1) AS after_prefill_bytes,
        arg_max(bytes, (place, step)) AS last_bytes,
        max(bytes) AS peak_bytes,
        arg_max(t_ns, (bytes, -place, -step)) AS peak_t_ns,
        arg_max(phase, (bytes, -place, -step)) AS peak_phase,
        arg_max(step, (bytes, -place, -step)) FILTER (place > 0) AS peak_step
    FROM edges
    GROUP BY ALL
),
repeats AS (
    SELECT run_id, pass, rank, repeat, min(start_ns) FILTER (phase = 'prefill') AS first_ns,
        max(start_ns + dur_ns) FILTER (phase = 'prefill') AS prefill_end_ns, max(start_ns + dur_ns) AS last_ns
    FROM phases
    WHERE start_ns IS NOT NULL
    GROUP BY ALL
),
traced AS (
    SELECT
        a.run_id, a.pass, a.rank, r.repeat, 'allocations' AS source, a.device AS counter,
        arg_max(a.since_start_bytes, (a.t_ns, a.event_number)) FILTER (a.t_ns < r.first_ns) AS before_bytes,
        arg_max(a.since_start_bytes, (a.t_ns, a.event_number)) FILTER (a.t_ns < r.prefill_end_ns) AS after_prefill_bytes,
        arg_max(a.since_start_bytes, (a.t_ns, a.event_number)) AS last_bytes,
        max(a.since_start_bytes) AS peak_bytes,
        arg_max(a.t_ns, (a.since_start_bytes, -a.t_ns)) AS peak_t_ns,
        arg_max(a.phase, (a.since_start_bytes, -a.t_ns)) AS peak_phase,
        arg_max(a.step, (a.since_start_bytes, -a.t_ns)) AS peak_step
    FROM allocation_timeline a
    JOIN repeats r USING (run_id, pass, rank)
    WHERE a.t_ns < r.last_ns AND (a.repeat = r.repeat OR a.repeat IS NULL)
    GROUP BY ALL
)
SELECT
    run_id, pass, rank, repeat, source, counter, before_bytes, after_prefill_bytes, last_bytes,
    after_prefill_bytes - before_bytes AS prefill_growth_bytes,
    last_bytes - after_prefill_bytes AS decode_growth_bytes,
    peak_bytes, peak_t_ns, peak_phase, peak_step
FROM (FROM sampled UNION ALL BY NAME FROM traced);
COMMENT ON VIEW memory_growth IS 'How much each memory counter grew in prefill and in decode, and its peak. Counters that do not exist have no row.';
COMMENT ON COLUMN memory_growth.run_id IS 'Run.';
COMMENT ON COLUMN memory_growth.pass IS 'Pass.';
COMMENT ON COLUMN memory_growth.rank IS 'Rank.';
COMMENT ON COLUMN memory_growth.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN memory_growth.source IS 'samples (counters read at phase edges) or allocations (events of the trace, counted from its beginning).';
COMMENT ON COLUMN memory_growth.counter IS 'Counter of memory_timeline, or for allocations the device.';
COMMENT ON COLUMN memory_growth.before_bytes IS 'Bytes before prefill; NULL where not recorded.';
COMMENT ON COLUMN memory_growth.after_prefill_bytes IS 'Bytes after prefill.';
COMMENT ON COLUMN memory_growth.last_bytes IS 'Bytes after the last step.';
COMMENT ON COLUMN memory_growth.prefill_growth_bytes IS 'Change over prefill.';
COMMENT ON COLUMN memory_growth.decode_growth_bytes IS 'Change over all decode steps.';
COMMENT ON COLUMN memory_growth.peak_bytes IS 'Largest value: at a phase edge for samples, at any allocation for the trace.';
COMMENT ON COLUMN memory_growth.peak_t_ns IS 'When, from the beginning of the pass.';
COMMENT ON COLUMN memory_growth.peak_phase IS 'Phase in which (allocations) or after which (samples) it was; NULL before every phase.';
COMMENT ON COLUMN memory_growth.peak_step IS 'Step of that phase.';
