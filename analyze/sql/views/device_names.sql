-- A bundle tells its device in the manifest, a Kineto trace in its metadata.
CREATE VIEW device_names AS
WITH told AS (
    SELECT t.run_id, unnest(from_json(t.value, '[{"name": "VARCHAR"}]')).name AS name
    FROM trace_metadata t
    WHERE t.key = 'deviceProperties' AND json_valid(t.value) AND json_type(t.value) = 'ARRAY'
),
listed AS (
    SELECT run_id, string_agg(DISTINCT name, ', ' ORDER BY name) AS names FROM told WHERE name <> '' GROUP BY run_id
)
SELECT r.run_id, coalesce(r.device_name, l.names) AS device_name
FROM runs r
LEFT JOIN listed l USING (run_id);
COMMENT ON VIEW device_names IS 'What the device of each run is called, by its bundle or by the metadata of its trace.';
COMMENT ON COLUMN device_names.run_id IS 'Run.';
COMMENT ON COLUMN device_names.device_name IS 'Name of the chip or GPU, each kind once; NULL where nothing tells.';
