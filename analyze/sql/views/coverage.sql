-- How device rows came to their phase. Device time here is a sum: rows of several streams count each.
CREATE VIEW coverage AS
SELECT
    run_id, pass, rank, attributed_by,
    count(*) AS kernels,
    sum(dur_ns)::BIGINT AS device_ns,
    sum(dur_ns) / nullif(sum(sum(dur_ns)) OVER (PARTITION BY run_id, pass, rank), 0) AS share
FROM kernels
GROUP BY run_id, pass, rank, attributed_by;
COMMENT ON VIEW coverage IS 'Share of device time by the means that tell what launched it. Rows launched outside every phase (kernels.phase is NULL) are attributed too. No row where the pass has no device rows.';
COMMENT ON COLUMN coverage.run_id IS 'Run.';
COMMENT ON COLUMN coverage.pass IS 'Pass.';
COMMENT ON COLUMN coverage.rank IS 'Rank.';
COMMENT ON COLUMN coverage.attributed_by IS 'correlation, flow, external_id, containment, or unattributed: nothing in the trace tells which launch it came from.';
COMMENT ON COLUMN coverage.kernels IS 'Device rows of every kind.';
COMMENT ON COLUMN coverage.device_ns IS 'Sum of their durations; rows that overlap count each.';
COMMENT ON COLUMN coverage.share IS 'Part of the rank''s summed device time, 0 to 1; NULL when all durations are 0.';
