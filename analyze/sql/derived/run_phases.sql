CREATE OR REPLACE TEMP TABLE run_phases AS
SELECT
    row_number() OVER (ORDER BY pass, rank, repeat, phase, step)::INTEGER AS phase_no, r.rank_no,
    p.* EXCLUDE (run_id), p.start_ns + p.dur_ns AS end_ns
FROM phases p
JOIN run_ranks r USING (pass, rank)
WHERE p.run_id = $run_id
