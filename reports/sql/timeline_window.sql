-- What the timeline shows: the lowest rank's first repeat of one traced pass (the profiled one if it has slices), with
-- the device work of its phases. Where no phase of generation was recognised, all of the trace.
WITH slices AS (
    SELECT pass, rank, start_ns, start_ns + dur_ns AS end_ns FROM ops WHERE run_id = $run_id AND layer = 'operator'
    UNION ALL
    SELECT pass, rank, start_ns, start_ns + dur_ns FROM kernels WHERE run_id = $run_id
), traced AS (
    SELECT pass, rank, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM slices
    GROUP BY pass, rank
    ORDER BY pass = 'profiled' DESC, pass, rank
    LIMIT 1
), known AS (
    SELECT phases.* FROM phases JOIN traced USING (pass, rank)
    WHERE run_id = $run_id AND phases.start_ns IS NOT NULL AND phases.phase <> 'unknown'
), first AS (
    SELECT min(repeat) AS repeat, count(DISTINCT repeat) AS repeats FROM known
), reach AS (
    SELECT start_ns, start_ns + dur_ns AS end_ns FROM known JOIN first USING (repeat)
    UNION ALL
    SELECT kernels.start_ns, kernels.start_ns + kernels.dur_ns
    FROM kernels JOIN traced USING (pass, rank) JOIN first USING (repeat)
    WHERE run_id = $run_id AND kernels.phase IS NOT NULL
    UNION ALL
    SELECT start_ns, end_ns FROM traced WHERE NOT EXISTS (FROM known)
)
SELECT
    traced.pass, traced.rank, first.repeat, first.repeats,
    (SELECT min(start_ns) FROM reach) AS start_ns,
    (SELECT max(end_ns) FROM reach) AS end_ns,
    (SELECT ranks FROM runs WHERE run_id = $run_id) AS ranks
FROM traced, first
