-- Busy time is a union of intervals: a row adds only what lies behind everything that began before it.
INSERT INTO kernel_summary
WITH kinds AS (
    SELECT queue, phase, name, kind, row_number() OVER ()::INTEGER AS kind_no
    FROM (SELECT DISTINCT queue, phase, name, kind FROM run_device)
),
numbered AS (
    SELECT n.kind_no, k.start_ns, k.end_ns, k.dur_ns
    FROM run_device k
    JOIN kinds n ON n.queue = k.queue AND n.name = k.name AND n.kind = k.kind AND n.phase IS NOT DISTINCT FROM k.phase
),
advanced AS (
    SELECT
        kind_no, dur_ns,
        greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY kind_no ORDER BY start_ns, dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns))) AS added_ns
    FROM numbered
),
summed AS (
    SELECT kind_no, count(*) AS calls, sum(dur_ns)::BIGINT AS sum_ns, sum(added_ns)::BIGINT AS busy_ns
    FROM advanced
    GROUP BY kind_no
),
queues AS (SELECT DISTINCT queue, rank_no, device FROM run_device)
SELECT
    $run_id, r.pass, r.rank, q.device, n.phase, n.name, n.kind, s.calls, s.sum_ns, s.busy_ns,
    s.sum_ns / nullif(sum(s.sum_ns) OVER (PARTITION BY n.queue, n.phase), 0) AS share
FROM summed s
JOIN kinds n USING (kind_no)
JOIN queues q USING (queue)
JOIN run_ranks r USING (rank_no)
