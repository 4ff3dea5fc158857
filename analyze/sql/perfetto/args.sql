-- Arguments of slices, one row an argument (run inside trace processor).
SELECT a.arg_set_id AS arg_set_id, a.key AS key, a.display_value AS value
FROM args a
WHERE a.arg_set_id IN (SELECT arg_set_id FROM slice WHERE arg_set_id IS NOT NULL)
ORDER BY a.arg_set_id, a.id
