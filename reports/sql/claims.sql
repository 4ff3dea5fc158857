-- Statements about the run, with the evidence for each.
SELECT claim_id, claim, verdict, evidence, numbers, provenance, sql, settled_by
FROM claims
WHERE run_id = $run_id
ORDER BY array_position(['holds', 'does not hold'], verdict) NULLS LAST, claim
