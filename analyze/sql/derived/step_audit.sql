-- What each step ran, as a multiset of names, against the multiset that most steps of its phase ran.
INSERT INTO step_audit
WITH device_names AS (
    SELECT name, row_number() OVER (ORDER BY name) AS name_no FROM (SELECT DISTINCT name FROM run_device)
),
items AS (
    SELECT phase_no, 'host' AS side, name_no, count(*) AS times
    FROM run_host
    WHERE role <> 'runtime' AND phase_no IS NOT NULL
    GROUP BY ALL
    UNION ALL
    SELECT k.phase_no, 'device', n.name_no, count(*)
    FROM run_device k JOIN device_names n USING (name)
    WHERE k.phase_no IS NOT NULL AND k.kind <> 'metal'  -- Metal's labels count encoders and name no kernel
    GROUP BY ALL
),
steps AS (
    SELECT
        i.phase_no, p.rank_no, p.phase, p.repeat, p.step,
        sum(times) FILTER (side = 'host') AS operators,
        sum(times) FILTER (side = 'device') AS device_rows,
        bit_xor(hash(side, name_no, times)) AS signature
    FROM items i
    JOIN run_phases p USING (phase_no)
    GROUP BY i.phase_no, p.rank_no, p.phase, p.repeat, p.step
    QUALIFY count(*) OVER (PARTITION BY p.rank_no, p.phase) > 1
),
frequent AS (
    SELECT rank_no, phase, signature, count(*) AS steps, arg_min(phase_no, (repeat, step)) AS first_phase_no,
        min((repeat, step)) AS first_seen
    FROM steps
    GROUP BY ALL
),
typical AS (
    SELECT *, sum(steps) OVER same AS all_steps
    FROM frequent
    WINDOW same AS (PARTITION BY rank_no, phase)
    QUALIFY row_number() OVER (same ORDER BY steps DESC, first_seen) = 1
),
odd AS (
    SELECT s.phase_no, t.first_phase_no
    FROM steps s
    JOIN typical t USING (rank_no, phase)
    WHERE s.signature <> t.signature
),
compared AS (
    SELECT phase_no, side, name_no, sum(actual) - sum(expected) AS more
    FROM (
        SELECT o.phase_no, t.side, t.name_no, 0 AS actual, t.times AS expected
        FROM odd o JOIN items t ON t.phase_no = o.first_phase_no
        UNION ALL
        SELECT phase_no, i.side, i.name_no, i.times, 0
        FROM odd JOIN items i USING (phase_no)
    )
    GROUP BY ALL
    HAVING sum(actual) <> sum(expected)
),
shown AS (
    SELECT c.phase_no, c.more, if(side = 'host', h.name, d.name) AS name, if(side = 'host', '', ' (device)') AS where_
    FROM compared c
    LEFT JOIN run_names h USING (name_no)
    LEFT JOIN device_names d USING (name_no)
),
differences AS (
    SELECT
        phase_no,
        sum(more) FILTER (more > 0) AS extra_rows,
        -sum(more) FILTER (more < 0) AS missing_rows,
        string_agg(more || ' × ' || name || where_, ', ' ORDER BY more DESC, name) FILTER (more > 0) AS extra,
        string_agg(-more || ' × ' || name || where_, ', ' ORDER BY more, name) FILTER (more < 0) AS missing
    FROM shown
    GROUP BY ALL
),
-- a launch that stands for many kernels, or calls itself a graph
graphs AS (
    SELECT o.phase_no, count(*) AS graph_launches, sum(coalesce(k.rows, 0)) AS graph_kernels
    FROM run_host o
    JOIN run_names n USING (name_no)
    LEFT JOIN (
        SELECT launch_op_id, count(*) AS rows FROM run_device WHERE launch_op_id IS NOT NULL GROUP BY ALL
    ) k ON k.launch_op_id = o.op_id
    WHERE o.role = 'launch' AND (k.rows > 1 OR regexp_matches(n.name, '(?i)graph'))
    GROUP BY ALL
)
SELECT
    $run_id, p.pass, p.rank, s.repeat, s.phase, s.step,
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
JOIN run_phases p USING (phase_no)
JOIN typical t ON t.rank_no = s.rank_no AND t.phase = s.phase
LEFT JOIN differences d USING (phase_no)
LEFT JOIN graphs g USING (phase_no)
