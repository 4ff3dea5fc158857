-- Prefills and decode steps of each generation against the new tokens that were asked for; passes that failed are left out.
WITH generations AS (
    SELECT p.pass, p.repeat, count(*) FILTER (p.phase = 'prefill') AS prefills, count(*) FILTER (p.phase = 'decode') AS decodes,
        count(*) FILTER (p.phase NOT IN ('prefill', 'decode')) AS others
    FROM phases p
    JOIN passes s USING (run_id, pass)
    WHERE p.run_id = $run_id AND p.pass IN ('clean', 'profiled', 'trace') AND p.rank = 0 AND s.status = 'measured'
    GROUP BY ALL
)
SELECT
    any_value(r.new_tokens) AS new_tokens,
    count(*) AS generations,
    count(*) FILTER (g.prefills = 1 AND g.decodes = r.new_tokens - 1 AND g.others = 0) AS as_expected,
    min(g.prefills) AS least_prefills,
    max(g.prefills) AS most_prefills,
    min(g.decodes) AS least_decode_steps,
    max(g.decodes) AS most_decode_steps
FROM generations g
JOIN runs r ON r.run_id = $run_id AND r.new_tokens IS NOT NULL
