-- Counter samples (run inside trace processor).
SELECT c.ts AS ts, c.value AS value, coalesce(t.name, '') AS name, t.unit AS unit, t.type AS type,
    extract_arg(t.dimension_arg_set_id, 'gpu') AS gpu
FROM counter c JOIN counter_track t ON t.id = c.track_id
ORDER BY c.id
