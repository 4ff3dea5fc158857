-- The host's names, and what operators of that name are for by operator_kinds. Of the rules the first that matches decides.
CREATE OR REPLACE TEMP TABLE run_names AS
WITH names AS (SELECT DISTINCT name FROM ops WHERE run_id = $run_id AND role IS NOT NULL),
ruled AS (
    SELECT
        n.name,
        arg_min(c.kind_no, k.priority) FILTER (k.args_pattern IS NULL) AS kind_no,
        arg_min(c.kind_no, k.priority) FILTER (k.args_pattern IS NOT NULL) AS special_kind_no,
        arg_min(k.args_pattern, k.priority) FILTER (k.args_pattern IS NOT NULL) AS args_pattern
    FROM names n
    JOIN operator_kinds k ON regexp_full_match(n.name, k.name_pattern)
    JOIN run_kinds c USING (kind)
    GROUP BY n.name
)
SELECT (row_number() OVER (ORDER BY n.name))::INTEGER AS name_no, n.name, r.kind_no, r.special_kind_no, r.args_pattern
FROM names n
LEFT JOIN ruled r USING (name)
