-- Bytes of the cache after each phase against the bytes that the configuration asks for.
SELECT
    count(*) AS points,
    count(*) FILTER (verdict = 'equal') AS equal_points,
    count(*) FILTER (verdict = 'differs') AS differing_points,
    max(abs(measured_bytes - computed_bytes)) AS largest_difference_bytes,
    arg_max(measured_bytes, step) AS last_measured_bytes,
    arg_max(computed_bytes, step) AS last_computed_bytes,
    count(*) FILTER (verdict = 'not established') AS open_points
FROM kv_check
WHERE run_id = $run_id
