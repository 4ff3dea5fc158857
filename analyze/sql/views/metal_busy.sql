CREATE VIEW metal_busy AS
WITH gpu AS (
    SELECT run_id, pass, rank, 'process' AS scope, process, start_ns, start_ns + dur_ns AS end_ns, dur_ns
    FROM kernels WHERE kind = 'metal'
    UNION ALL
    SELECT run_id, pass, rank, 'all', NULL, start_ns, start_ns + dur_ns, dur_ns
    FROM kernels WHERE kind = 'metal'
), seen AS (
    -- What earlier rows of the same group have covered; a row adds only what lies behind that.
    SELECT *, max(end_ns) OVER (
        PARTITION BY run_id, pass, rank, scope, process ORDER BY start_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM gpu
), busy AS (
    SELECT run_id, pass, rank, scope, process, count(*) AS rows, sum(dur_ns)::BIGINT AS sum_ns,
           sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0))::BIGINT AS busy_ns,
           max(end_ns) - min(start_ns) AS span_ns
    FROM seen GROUP BY ALL
), active AS (
    SELECT run_id, pass, rank, sum(dur_ns)::BIGINT AS state_active_ns
    FROM metal_gpu_states WHERE state = 'Active' GROUP BY ALL
)
SELECT b.run_id, b.pass, b.rank, b.scope, b.process, b.rows, b.sum_ns, b.busy_ns, b.span_ns,
       b.span_ns - b.busy_ns AS idle_ns, a.state_active_ns
FROM busy b LEFT JOIN active a ON b.scope = 'all' AND a.run_id = b.run_id AND a.pass = b.pass AND a.rank = b.rank;
COMMENT ON VIEW metal_busy IS 'GPU time of Metal by process and over all: the union of its rows beside their plain sum, which counts overlapping channels twice.';
COMMENT ON COLUMN metal_busy.run_id IS 'Run.';
COMMENT ON COLUMN metal_busy.pass IS 'Pass.';
COMMENT ON COLUMN metal_busy.rank IS 'Rank.';
COMMENT ON COLUMN metal_busy.scope IS 'process, or all for every process together.';
COMMENT ON COLUMN metal_busy.process IS 'Process with its pid; NULL in scope process for work that Metal attributes to none.';
COMMENT ON COLUMN metal_busy.rows IS 'Rows.';
COMMENT ON COLUMN metal_busy.sum_ns IS 'Sum of the durations; never GPU time.';
COMMENT ON COLUMN metal_busy.busy_ns IS 'Union of the rows.';
COMMENT ON COLUMN metal_busy.span_ns IS 'From the first begin to the last end.';
COMMENT ON COLUMN metal_busy.idle_ns IS 'span_ns less busy_ns; for a process, time in which nothing of that process ran.';
COMMENT ON COLUMN metal_busy.state_active_ns IS 'Active time by Metal''s own state table, which busy_ns of scope all must equal; NULL where it was not exported.';
