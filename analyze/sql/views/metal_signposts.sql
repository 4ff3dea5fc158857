CREATE VIEW metal_signposts AS
SELECT run_id, pass, rank, source_table, subsystem, category, name, status, count(*) AS signposts,
       count(*) FILTER (redacted) AS redacted, sum(dur_ns)::BIGINT AS sum_ns, median(dur_ns) AS median_ns
FROM signposts GROUP BY ALL;
COMMENT ON VIEW metal_signposts IS 'Signposts by name. Those of PyTorch time the host''s side of an operator; messages are mostly withheld by the system.';
COMMENT ON COLUMN metal_signposts.run_id IS 'Run.';
COMMENT ON COLUMN metal_signposts.pass IS 'Pass.';
COMMENT ON COLUMN metal_signposts.rank IS 'Rank.';
COMMENT ON COLUMN metal_signposts.source_table IS 'Instruments table; the tables show the same signposts, so do not add them up.';
COMMENT ON COLUMN metal_signposts.subsystem IS 'Subsystem.';
COMMENT ON COLUMN metal_signposts.category IS 'Category.';
COMMENT ON COLUMN metal_signposts.name IS 'Name.';
COMMENT ON COLUMN metal_signposts.status IS 'interval, event, begin_only or end_only.';
COMMENT ON COLUMN metal_signposts.signposts IS 'How many.';
COMMENT ON COLUMN metal_signposts.redacted IS 'How many of them with a withheld message.';
COMMENT ON COLUMN metal_signposts.sum_ns IS 'Sum of the durations; NULL where none has one.';
COMMENT ON COLUMN metal_signposts.median_ns IS 'Median duration.';
