-- Rows of a run that a timeline has no place for, by why.
SELECT 'phases without begin or end' AS what, count(*) AS rows FROM phases
WHERE run_id = $run_id AND (start_ns IS NULL OR dur_ns IS NULL)
UNION ALL
SELECT 'counter samples without a value (gaps)', count(*) FROM counters WHERE run_id = $run_id AND value IS NULL
UNION ALL
SELECT 'spans (asynchronous ranges, bookkeeping, other tables of Instruments)', count(*) FROM spans WHERE run_id = $run_id
UNION ALL
SELECT 'instants', count(*) FROM instants WHERE run_id = $run_id
UNION ALL
SELECT 'signposts', count(*) FROM signposts WHERE run_id = $run_id
