-- Counter samples (run inside trace processor). A GPU counter's value covers the time since the sample before, and trace
-- processor has moved it to that one's timestamp, with a 0 at the last: here it is moved back. The first sample's value
-- is not kept by trace processor.
SELECT c.ts AS ts, coalesce(t.name, '') AS name, t.unit AS unit,
    extract_arg(t.dimension_arg_set_id, 'gpu') AS gpu, t.type = 'gpu_counter' AS shifted,
    CASE WHEN t.type = 'gpu_counter' THEN lag(c.value) OVER (PARTITION BY c.track_id ORDER BY c.ts, c.id) ELSE c.value END
        AS value
FROM counter c JOIN counter_track t ON t.id = c.track_id
ORDER BY c.id
