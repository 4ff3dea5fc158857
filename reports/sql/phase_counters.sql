-- Hardware counters of memory and arithmetic in each phase, in per cent of the peak.
SELECT pass, phase, resource, track, samples, mean_percent, p95_percent
FROM phase_counters
WHERE run_id = $run_id
ORDER BY array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase, resource DESC, mean_percent DESC
