-- How much of one core the process had in the clean pass, and whether other work had the machine.
SELECT phase, cpu_percent, busy_elsewhere
FROM clean_cpu
WHERE run_id = $run_id
ORDER BY phase = 'prefill' DESC
