CREATE OR REPLACE TEMP TABLE run_kinds AS
SELECT kind, (row_number() OVER (ORDER BY kind))::SMALLINT AS kind_no FROM (SELECT DISTINCT kind FROM operator_kinds)
