-- Busy time is a union of intervals: a row adds only what lies behind everything that began before it.
CREATE VIEW kernel_summary AS
WITH advanced AS (
    SELECT
        run_id, pass, rank, device, phase, name, kind, dur_ns,
        greatest(
            0,
            start_ns + dur_ns - greatest(
                start_ns,
                coalesce(
                    max(start_ns + dur_ns) OVER (
                        PARTITION BY run_id, pass, rank, device, phase, kind, name ORDER BY start_ns, dur_ns
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    start_ns
                )
            )
        ) AS added_ns
    FROM kernels
)
SELECT
    run_id, pass, rank, device, phase, name, kind,
    count(*) AS calls,
    sum(dur_ns)::BIGINT AS sum_ns,
    sum(added_ns)::BIGINT AS busy_ns,
    sum(dur_ns) / nullif(sum(sum(dur_ns)) OVER (PARTITION BY run_id, pass, rank, device, phase), 0) AS share
FROM advanced
GROUP BY run_id, pass, rank, device, phase, name, kind;
COMMENT ON VIEW kernel_summary IS 'Device work by name, per device and phase.';
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
