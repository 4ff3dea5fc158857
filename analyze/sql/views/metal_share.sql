CREATE VIEW metal_share AS
WITH gpu AS (
    SELECT k.run_id, k.pass, k.rank, k.start_ns, k.start_ns + k.dur_ns AS end_ns, r.target_pid,
           CASE WHEN m.pid IS NULL THEN 'unattributed' WHEN m.pid = r.target_pid THEN 'own'
                WHEN r.target_pid IS NULL THEN 'unknown' ELSE 'other' END AS owner
    FROM kernels k
    JOIN metal_gpu_intervals m USING (run_id, pass, rank, kernel_id)
    LEFT JOIN instruments_recordings r USING (run_id, pass, rank)
    WHERE k.kind = 'metal'
), grouped AS (
    SELECT * FROM gpu
    UNION ALL
    SELECT run_id, pass, rank, start_ns, end_ns, target_pid, 'all' FROM gpu
), seen AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, pass, rank, owner ORDER BY start_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM grouped
), busy AS (
    SELECT run_id, pass, rank, owner, count(*) AS rows,
           sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0))::BIGINT AS busy_ns
    FROM seen GROUP BY ALL
), totals AS (
    SELECT run_id, pass, rank,
           coalesce(sum(rows) FILTER (owner = 'own'), 0)::BIGINT AS own_rows,
           coalesce(sum(rows) FILTER (owner IN ('other', 'unknown')), 0)::BIGINT AS other_rows,
           coalesce(sum(rows) FILTER (owner = 'unattributed'), 0)::BIGINT AS unattributed_rows,
           coalesce(sum(busy_ns) FILTER (owner = 'own'), 0)::BIGINT AS own_busy_ns,
           coalesce(sum(busy_ns) FILTER (owner IN ('other', 'unknown')), 0)::BIGINT AS other_busy_ns,
           coalesce(sum(busy_ns) FILTER (owner = 'all'), 0)::BIGINT AS all_busy_ns
    FROM busy GROUP BY ALL
)
SELECT r.run_id, r.pass, r.rank, r.target_pid, r.target_process,
       CASE WHEN r.target_pid IS NULL THEN 'not established' WHEN coalesce(t.own_rows, 0) > 0 THEN 'captured'
            ELSE 'not captured' END AS verdict,
       t.own_rows, t.other_rows, t.unattributed_rows, t.own_busy_ns, t.other_busy_ns, t.all_busy_ns,
       CASE WHEN r.target_pid IS NOT NULL THEN t.own_rows / nullif(t.own_rows + t.other_rows + t.unattributed_rows, 0) END AS own_row_share,
       CASE WHEN r.target_pid IS NOT NULL THEN t.own_busy_ns / nullif(t.all_busy_ns, 0) END AS own_busy_share
FROM instruments_recordings r LEFT JOIN totals t USING (run_id, pass, rank);
COMMENT ON VIEW metal_share IS 'How much of the recorded GPU work is of the captured process. No row of it means not captured, never idle.';
COMMENT ON COLUMN metal_share.run_id IS 'Run.';
COMMENT ON COLUMN metal_share.pass IS 'Pass.';
COMMENT ON COLUMN metal_share.rank IS 'Rank.';
COMMENT ON COLUMN metal_share.target_pid IS 'Captured process; NULL where nothing names it.';
COMMENT ON COLUMN metal_share.target_process IS 'Its name.';
COMMENT ON COLUMN metal_share.verdict IS 'captured, not captured (no row of the process), or not established (the process is not known).';
COMMENT ON COLUMN metal_share.own_rows IS 'GPU rows of the captured process; NULL where no GPU row was loaded.';
COMMENT ON COLUMN metal_share.other_rows IS 'GPU rows of other processes; all of them where the captured process is not known.';
COMMENT ON COLUMN metal_share.unattributed_rows IS 'GPU rows that Metal attributes to no process.';
COMMENT ON COLUMN metal_share.own_busy_ns IS 'Union of the captured process''s rows.';
COMMENT ON COLUMN metal_share.other_busy_ns IS 'Union of the other processes'' rows.';
COMMENT ON COLUMN metal_share.all_busy_ns IS 'Union of all rows.';
COMMENT ON COLUMN metal_share.own_row_share IS 'own_rows of all rows, 0 to 1.';
COMMENT ON COLUMN metal_share.own_busy_share IS 'own_busy_ns of all_busy_ns, 0 to 1. Shares of processes may add up to more than 1, since their work may overlap.';
