-- The matrix products with weights, by shape: two traces with the same ones ran the same layers on the same number of
-- tokens. Attention is left out, since its implementations differ in products that are not asked for by the model.
SELECT name, shapes, count(*) AS calls
FROM ops
WHERE run_id = $run_id AND pass = $pass AND name IN ('aten::mm', 'aten::addmm') AND shapes IS NOT NULL
GROUP BY ALL
ORDER BY name, shapes
