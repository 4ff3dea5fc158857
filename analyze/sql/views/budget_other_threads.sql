-- What the threads beside the budget's own did in each phase. It runs at the same time and adds to no wall time.
CREATE VIEW budget_other_threads AS
WITH others AS (
    SELECT o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, o.thread_id, o.start_ns, o.start_ns + o.dur_ns AS end_ns
    FROM ops o
    JOIN phase_threads own USING (run_id, pass, rank, repeat, phase, step)
    WHERE o.layer = 'operator' AND o.role IS NOT NULL AND o.thread_id <> own.thread_id
),
added AS (
    SELECT
        run_id, pass, rank, repeat, phase, step, thread_id,
        greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns))) AS added_ns
    FROM others
    WINDOW earlier AS (
        PARTITION BY run_id, pass, rank, repeat, phase, step, thread_id ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT run_id, pass, rank, repeat, phase, step, thread_id, count(*) AS operators, sum(added_ns)::BIGINT AS operator_ns
FROM added
GROUP BY ALL;
COMMENT ON VIEW budget_other_threads IS 'Operator time of the other threads during each phase, beside its budget: it runs at the same time and adds to no wall time.';
COMMENT ON COLUMN budget_other_threads.run_id IS 'Run.';
COMMENT ON COLUMN budget_other_threads.pass IS 'Pass.';
COMMENT ON COLUMN budget_other_threads.rank IS 'Rank.';
COMMENT ON COLUMN budget_other_threads.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN budget_other_threads.phase IS 'Phase in which the operators start.';
COMMENT ON COLUMN budget_other_threads.step IS 'Step.';
COMMENT ON COLUMN budget_other_threads.thread_id IS 'The other thread.';
COMMENT ON COLUMN budget_other_threads.operators IS 'Operators and runtime calls, nested ones included.';
COMMENT ON COLUMN budget_other_threads.operator_ns IS 'Time in them: union.';
