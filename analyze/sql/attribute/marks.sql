-- A range that marks a phase is no operator, though only its writer's category, or none, says what it is.
UPDATE ops
SET role = NULL
WHERE run_id = $run_id AND pass = $pass AND role = 'operator'
    AND lower(coalesce(category, '')) NOT IN ('cpu_op', 'operator')
    AND EXISTS (FROM phase_windows w WHERE w.name = ops.name)
