-- Where one phase covers the whole trace all rows are in it, though nothing tells what launched them.
UPDATE kernels
SET repeat = w.repeat, phase = w.phase, step = w.step
FROM phase_windows w
WHERE kernels.run_id = $run_id AND kernels.pass = $pass AND kernels.rank = w.rank AND w.source = 'whole_trace'
    AND kernels.phase IS NULL
