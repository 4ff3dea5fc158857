-- Whether something disturbed the clean pass: other work on the machine, or decode steps that are far from alike.
SELECT disturbed, busy_phase, busy_cpu_percent, decode_p5_ns, decode_p95_ns
FROM clean_trust
WHERE run_id = $run_id
