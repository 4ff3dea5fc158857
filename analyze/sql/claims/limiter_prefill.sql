-- What the shape of prefill says beside what hardware counters say, in per cent of the peaks.
SELECT * EXCLUDE (run_id, phase) FROM phase_limiters WHERE run_id = $run_id AND phase = 'prefill'
