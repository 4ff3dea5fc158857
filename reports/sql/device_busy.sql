-- How long the devices of each traced pass are busy, whatever launched the work: the union of the run's own rows on a device,
-- the mean over the devices. That needs no attribution. all_busy_ns is with the work of other processes, which Metal records;
-- whole_ns runs from the first to the last row of device or host; call_* are of the calls whose phase nobody told.
WITH rows AS (
    SELECT pass, rank, 'all' AS scope, device, start_ns, start_ns + dur_ns AS end_ns FROM kernels WHERE run_id = $run_id
    UNION ALL
    SELECT pass, rank, 'own', device, start_ns, start_ns + dur_ns FROM own_device_rows WHERE run_id = $run_id
    UNION ALL
    SELECT k.pass, k.rank, 'call', device, greatest(k.start_ns, p.start_ns), least(k.start_ns + k.dur_ns, p.start_ns + p.dur_ns)
    FROM own_device_rows k
    JOIN phases p ON p.run_id = k.run_id AND p.pass = k.pass AND p.rank = k.rank AND p.phase = 'unknown'
        AND k.start_ns < p.start_ns + p.dur_ns AND k.start_ns + k.dur_ns > p.start_ns
    WHERE k.run_id = $run_id
), seen AS (
    SELECT *, max(end_ns) OVER (
        PARTITION BY pass, rank, scope, device ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS covered_ns
    FROM rows
), busy AS (
    SELECT pass, rank, scope, device, sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0)) AS ns
    FROM seen
    GROUP BY ALL
), calls AS (
    SELECT pass, count(*) AS calls, count(DISTINCT rank) AS ranks
    FROM phases
    WHERE run_id = $run_id AND phase = 'unknown'
    GROUP BY pass
), reach AS (
    SELECT pass, max(end_ns) - min(start_ns) AS whole_ns
    FROM (
        SELECT pass, start_ns, end_ns FROM rows WHERE scope = 'all'
        UNION ALL
        SELECT pass, start_ns, start_ns + dur_ns FROM ops WHERE run_id = $run_id AND layer = 'operator'
    )
    GROUP BY pass
)
SELECT
    pass,
    count(*) FILTER (scope = 'all') AS devices,
    round(avg(ns) FILTER (scope = 'own'))::BIGINT AS busy_ns,
    round(avg(ns) FILTER (scope = 'all'))::BIGINT AS all_busy_ns,
    any_value(whole_ns) AS whole_ns,
    (avg(ns) FILTER (scope = 'call')) * any_value(calls.ranks) / any_value(calls.calls) AS call_busy_ns
FROM busy
JOIN reach USING (pass)
LEFT JOIN calls USING (pass)
GROUP BY pass
ORDER BY pass = 'profiled' DESC, pass
