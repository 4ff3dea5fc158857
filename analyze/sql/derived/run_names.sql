CREATE OR REPLACE TEMP TABLE run_names AS
SELECT name, (row_number() OVER (ORDER BY name))::INTEGER AS name_no
FROM (SELECT DISTINCT name FROM ops WHERE run_id = $run_id AND role IS NOT NULL)
