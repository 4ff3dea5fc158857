-- What operators are for, by name: of the rules that match (run_matches) the first decides, one with arguments before those without.
CREATE OR REPLACE TEMP TABLE run_rules AS
SELECT
    m.name_no,
    arg_min(c.kind_no, k.priority) FILTER (k.args_pattern IS NULL) AS kind_no,
    arg_min(c.kind_no, k.priority) FILTER (k.args_pattern IS NOT NULL) AS special_kind_no,
    arg_min(k.args_pattern, k.priority) FILTER (k.args_pattern IS NOT NULL) AS args_pattern
FROM run_matches m
JOIN operator_kinds k USING (priority)
JOIN run_kinds c USING (kind)
GROUP BY m.name_no
