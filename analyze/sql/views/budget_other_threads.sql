-- What the threads beside the budget's own did in each phase. It runs at the same time and adds to no wall time.
CREATE VIEW budget_other_threads AS
WITH top_added AS (
    SELECT
        o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, o.thread_id,
        greatest(0, o.start_ns + o.dur_ns - greatest(o.start_ns, coalesce(max(o.start_ns + o.dur_ns) OVER earlier, o.start_ns))) AS added_ns
    FROM ops o
    WHERE o.layer = 'operator' AND o.depth = 0 AND o.phase IS NOT NULL
    WINDOW earlier AS (
        PARTITION BY o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, o.thread_id ORDER BY o.start_ns, o.dur_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT t.run_id, t.pass, t.rank, t.repeat, t.phase, t.step, t.thread_id, count(*) AS operators, sum(t.added_ns)::BIGINT AS operator_ns
FROM top_added t
JOIN phase_threads own USING (run_id, pass, rank, repeat, phase, step)
WHERE t.thread_id <> own.thread_id
GROUP BY ALL;
COMMENT ON VIEW budget_other_threads IS 'Operator time of the other threads during each phase, beside its budget: it runs at the same time and adds to no wall time.';
COMMENT ON COLUMN budget_other_threads.run_id IS 'Run.';
COMMENT ON COLUMN budget_other_threads.pass IS 'Pass.';
COMMENT ON COLUMN budget_other_threads.rank IS 'Rank.';
COMMENT ON COLUMN budget_other_threads.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN budget_other_threads.phase IS 'Phase in which the operators start.';
COMMENT ON COLUMN budget_other_threads.step IS 'Step.';
COMMENT ON COLUMN budget_other_threads.thread_id IS 'The other thread.';
COMMENT ON COLUMN budget_other_threads.operators IS 'Operators and runtime calls at its top.';
COMMENT ON COLUMN budget_other_threads.operator_ns IS 'Time in them: union.';
