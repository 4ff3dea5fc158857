-- What each step ran, as a multiset of names, against the multiset that most steps of its phase ran.
CREATE VIEW step_audit AS
WITH items AS (
    SELECT run_id, pass, rank, repeat, phase, step, 'host' AS side, name, count(*) AS times
    FROM ops WHERE layer = 'operator' AND role <> 'runtime' AND phase IS NOT NULL
    GROUP BY ALL
    UNION ALL
    SELECT run_id, pass, rank, repeat, phase, step, 'device', name, count(*)
    FROM kernels WHERE phase IS NOT NULL AND kind <> 'metal'  -- Metal's labels count encoders and name no kernel
    GROUP BY ALL
),
steps AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        sum(times) FILTER (side = 'host') AS operators,
        sum(times) FILTER (side = 'device') AS device_rows,
        bit_xor(hash(side, name, times)) AS signature
    FROM items
    GROUP BY run_id, pass, rank, repeat, phase, step
    QUALIFY count(*) OVER (PARTITION BY run_id, pass, rank, phase) > 1
),
frequent AS (
    SELECT run_id, pass, rank, phase, signature, count(*) AS steps, min((repeat, step)) AS first_seen
    FROM steps
    GROUP BY ALL
),
typical AS (
    SELECT *, sum(steps) OVER same AS all_steps
    FROM frequent
    WINDOW same AS (PARTITION BY run_id, pass, rank, phase)
    QUALIFY row_number() OVER (same ORDER BY steps DESC, first_seen) = 1
),
typical_items AS (
    SELECT t.run_id, t.pass, t.rank, t.phase, i.side, i.name, i.times
    FROM typical t
    JOIN items i
        ON i.run_id = t.run_id AND i.pass = t.pass AND i.rank = t.rank AND i.phase = t.phase
        AND i.repeat = t.first_seen[1] AND i.step = t.first_seen[2]
),
odd AS (
    SELECT s.*
    FROM steps s
    JOIN typical t USING (run_id, pass, rank, phase)
    WHERE s.signature <> t.signature
),
compared AS (
    SELECT run_id, pass, rank, repeat, phase, step, side, name, sum(actual) - sum(expected) AS more
    FROM (
        SELECT o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, t.side, t.name, 0 AS actual, t.times AS expected
        FROM odd o JOIN typical_items t USING (run_id, pass, rank, phase)
        UNION ALL
        SELECT run_id, pass, rank, repeat, phase, step, i.side, i.name, i.times, 0
        FROM odd JOIN items i USING (run_id, pass, rank, repeat, phase, step)
    )
    GROUP BY ALL
    HAVING sum(actual) <> sum(expected)
),
differences AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        sum(more) FILTER (more > 0) AS extra_rows,
        -sum(more) FILTER (more < 0) AS missing_rows,
        string_agg(more || ' × ' || name || if(side = 'device', ' (device)', ''), ', ' ORDER BY more DESC, name) FILTER (more > 0) AS extra,
        string_agg(-more || ' × ' || name || if(side = 'device', ' (device)', ''), ', ' ORDER BY more, name) FILTER (more < 0) AS missing
    FROM compared
    GROUP BY ALL
),
-- a launch that stands for many kernels, or calls itself a graph
graphs AS (
    SELECT o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, count(*) AS graph_launches, sum(coalesce(k.rows, 0)) AS graph_kernels
    FROM ops o
    LEFT JOIN (
        SELECT run_id, launch_op_id, count(*) AS rows FROM kernels WHERE launch_op_id IS NOT NULL GROUP BY ALL
    ) k ON k.run_id = o.run_id AND k.launch_op_id = o.op_id
    WHERE o.role = 'launch' AND (k.rows > 1 OR regexp_matches(o.name, '(?i)graph'))
    GROUP BY ALL
)
SELECT
    s.run_id, s.pass, s.rank, s.repeat, s.phase, s.step,
    CASE
        WHEN s.signature = t.signature AND t.steps > 1 THEN 'as most'
        WHEN 2 * t.steps > t.all_steps THEN 'differs'
        ELSE 'no majority'
    END AS verdict,
    coalesce(s.operators, 0)::BIGINT AS operators,
    coalesce(s.device_rows, 0)::BIGINT AS device_rows,
    t.steps AS typical_steps,
    t.all_steps::BIGINT AS steps,
    coalesce(d.extra_rows, 0)::BIGINT AS extra_rows,
    coalesce(d.missing_rows, 0)::BIGINT AS missing_rows,
    d.extra, d.missing,
    coalesce(g.graph_launches, 0)::BIGINT AS graph_launches,
    coalesce(g.graph_kernels, 0)::BIGINT AS graph_kernels
FROM steps s
JOIN typical t USING (run_id, pass, rank, phase)
LEFT JOIN differences d USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN graphs g USING (run_id, pass, rank, repeat, phase, step);
COMMENT ON VIEW step_audit IS 'Whether each step ran the same operators and kernels as most steps of its phase: multisets of names. Phases that occur once have no row.';
COMMENT ON COLUMN step_audit.run_id IS 'Run.';
COMMENT ON COLUMN step_audit.pass IS 'Pass.';
COMMENT ON COLUMN step_audit.rank IS 'Rank.';
COMMENT ON COLUMN step_audit.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN step_audit.phase IS 'Phase.';
COMMENT ON COLUMN step_audit.step IS 'Step.';
COMMENT ON COLUMN step_audit.verdict IS 'as most (the multiset that more steps have than any other), differs (from a multiset that over half of the steps have), or no majority (compared with the commonest, which half of the steps or fewer have).';
COMMENT ON COLUMN step_audit.operators IS 'Operators, launches, copies and synchronisations, nested ones included; other runtime calls (some poll) are left out.';
COMMENT ON COLUMN step_audit.device_rows IS 'Rows of device work that it launched.';
COMMENT ON COLUMN step_audit.typical_steps IS 'Steps of the phase with the commonest multiset.';
COMMENT ON COLUMN step_audit.steps IS 'Steps of the phase, over all repeats of the pass.';
COMMENT ON COLUMN step_audit.extra_rows IS 'Operators and device rows beyond the commonest multiset.';
COMMENT ON COLUMN step_audit.missing_rows IS 'Operators and device rows that the commonest multiset has and this step has not.';
COMMENT ON COLUMN step_audit.extra IS 'Names of those beyond it, with their number; NULL where there are none.';
COMMENT ON COLUMN step_audit.missing IS 'Names of those missing, with their number; NULL where there are none.';
COMMENT ON COLUMN step_audit.graph_launches IS 'Launches that stand for several kernels or whose name says graph: their kernels replay, no host works between them.';
COMMENT ON COLUMN step_audit.graph_kernels IS 'Device rows that these launches stand for; 0 where the profiler records none of them.';
