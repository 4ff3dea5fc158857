-- Statements about the run.
SELECT claim, verdict, numbers FROM claims WHERE run_id = $run_id ORDER BY claim
