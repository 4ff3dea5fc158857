-- The passes of the run and what became of each.
SELECT pass, status, reason
FROM passes
WHERE run_id = $run_id
ORDER BY array_position(['clean', 'profiled', 'trace'], pass) NULLS LAST, pass
