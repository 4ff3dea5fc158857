CREATE VIEW op_summary AS
SELECT
    run_id, pass, rank, phase, name, category, layer,
    count(*) AS calls,
    sum(dur_ns)::BIGINT AS total_ns,
    sum(self_ns)::BIGINT AS self_ns,
    sum(self_ns) / nullif(sum(sum(self_ns)) OVER (PARTITION BY run_id, pass, rank, phase, layer), 0) AS self_share
FROM ops
GROUP BY run_id, pass, rank, phase, name, category, layer;
COMMENT ON VIEW op_summary IS 'Host-side slices by name, per phase and layer. Layers lie over each other: compare self times inside one layer only.';
COMMENT ON COLUMN op_summary.run_id IS 'Run.';
COMMENT ON COLUMN op_summary.pass IS 'Pass.';
COMMENT ON COLUMN op_summary.rank IS 'Rank.';
COMMENT ON COLUMN op_summary.phase IS 'Phase in which it starts; NULL outside every phase.';
COMMENT ON COLUMN op_summary.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN op_summary.category IS 'Category as the trace wrote it.';
COMMENT ON COLUMN op_summary.layer IS 'operator, python or annotation.';
COMMENT ON COLUMN op_summary.calls IS 'Slices.';
COMMENT ON COLUMN op_summary.total_ns IS 'Sum of durations; a slice inside one of the same name counts twice.';
COMMENT ON COLUMN op_summary.self_ns IS 'Sum of durations less their children''s; nothing counts twice inside a thread and layer.';
COMMENT ON COLUMN op_summary.self_share IS 'self_ns as part of the phase''s and layer''s self time, 0 to 1.';
