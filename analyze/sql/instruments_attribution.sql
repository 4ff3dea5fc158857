-- Give the GPU rows of the captured process their phase, where the marks of the same run allow it: the pass
-- synchronises at both ends of every phase, so a row belongs to the phase it lies in. Only with clocks joined
-- to 0.1 ms; a start date to the millisecond is too coarse. Run once a run, after its rows and phases are in.
UPDATE kernels SET repeat = p.repeat, phase = p.phase, step = p.step, attributed_by = 'containment'
FROM phases p, metal_gpu_intervals m, instruments_recordings r
WHERE kernels.run_id = $run_id AND kernels.kind = 'metal' AND kernels.attributed_by = 'unattributed'
  AND m.run_id = $run_id AND m.pass = kernels.pass AND m.rank = kernels.rank AND m.kernel_id = kernels.kernel_id
  AND r.run_id = $run_id AND r.pass = kernels.pass AND r.rank = kernels.rank AND m.pid = r.target_pid
  AND r.pass_start_ns IS NOT NULL AND r.clock_uncertainty_ns <= 100000
  AND p.run_id = $run_id AND p.pass = kernels.pass AND p.rank = kernels.rank
  AND kernels.start_ns >= p.start_ns - r.clock_uncertainty_ns
  AND kernels.start_ns + kernels.dur_ns <= p.start_ns + p.dur_ns + r.clock_uncertainty_ns;
