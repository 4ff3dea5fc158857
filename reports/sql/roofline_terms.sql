-- The terms with the model's numbers in them, for prefill and for the last decode step.
SELECT phase, step, term, formula, value, unit, provenance
FROM roofline_terms
WHERE run_id = $run_id
QUALIFY step = max(step) OVER (PARTITION BY phase)
ORDER BY phase = 'prefill' DESC, phase, place
