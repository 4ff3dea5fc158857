-- Slices of the timeline's window. Those shorter than a resolution (a finer one in the first two decode calls, which
-- people zoom into) are merged with their neighbours of the same lane, phase and stretch of that length: `merged`
-- counts them, `covered` is the share of the block that they fill.
WITH near AS (
    SELECT phase, step FROM phases
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND phase = 'decode' AND start_ns >= $start_ns AND start_ns < $end_ns
    ORDER BY start_ns LIMIT 2
), host AS (
    SELECT
        'host' AS side,
        -- PyTorch names a thread "thread 4711 (python)"
        coalesce(nullif(regexp_replace(threads.thread_name, '^(thread \d+) \(.*\)$', '\1'), ''), 'thread ' || threads.tid, 'thread') AS place,
        ops.depth AS level, ops.thread_id AS place_id,
        ops.name, ops.phase, ops.step, ops.start_ns, ops.dur_ns
    FROM ops LEFT JOIN threads USING (run_id, pass, rank, thread_id)
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND layer = 'operator' AND ops.depth < 3
        AND ops.start_ns < $end_ns AND ops.start_ns + ops.dur_ns > $start_ns
), device AS (
    SELECT
        'device' AS side,
        concat_ws(' ', CASE WHEN count(DISTINCT device) OVER () > 1 THEN 'device ' || device END,
            CASE WHEN regexp_full_match(stream, '\d+') THEN 'stream ' || stream ELSE coalesce(stream, 'device') END) AS place,
        0 AS level, hash(device, stream) AS place_id,
        name, phase, step, start_ns, dur_ns
    FROM kernels
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank
        AND start_ns < $end_ns AND start_ns + dur_ns > $start_ns
), places AS (
    SELECT side, place_id, row_number() OVER (PARTITION BY side ORDER BY sum(dur_ns) DESC, place_id) AS place_order
    FROM (SELECT side, place_id, dur_ns FROM host WHERE level = 0
          UNION ALL SELECT side, place_id, dur_ns FROM device)
    GROUP BY side, place_id
), slices AS (
    SELECT *, CASE WHEN (phase, step) IN (SELECT (phase, step) FROM near) THEN $fine_ns ELSE $resolution_ns END AS resolution_ns
    FROM (FROM host UNION ALL FROM device) JOIN places USING (side, place_id)
    WHERE place_order <= 4
), drawn AS (
    SELECT side, place_order, place, level, phase, name, start_ns, start_ns + dur_ns AS end_ns, 1 AS merged, 1.0 AS covered
    FROM slices
    WHERE dur_ns >= resolution_ns
    UNION ALL
    SELECT side, place_order, any_value(place), level, phase, arg_max(name, {'length': dur_ns, 'name': name}), min(start_ns), max(start_ns + dur_ns),
        count(*), sum(dur_ns) / greatest(max(start_ns + dur_ns) - min(start_ns), 1)
    FROM slices
    WHERE dur_ns < resolution_ns
    GROUP BY side, place_order, level, phase, resolution_ns, start_ns // resolution_ns
)
SELECT side, place_order, place, level, coalesce(phase, 'outside') AS phase, name,
    greatest(start_ns, $start_ns) - $start_ns AS start_ns,
    least(end_ns, $end_ns) - greatest(start_ns, $start_ns) AS dur_ns,
    merged, least(covered, 1.0) AS covered
FROM drawn
ORDER BY side DESC, place_order, level, start_ns
