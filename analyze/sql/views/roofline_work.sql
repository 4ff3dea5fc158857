-- Operations and bytes that a step must at least do, from the architecture. For B sequences, T new tokens and N cached ones of
-- each after the step, and layers of heads x head_dim queries, kv_heads keys and values:
--   linear      2 x (parameters of the layers' matrices) x B T
--   attention   2 x heads x (key_dim + value_dim) x B x pairs, pairs = sum over the new tokens of the tokens that each sees
--   logits      2 x vocabulary x hidden x (B T, or B where only the last position gets logits)
--   weights     all weight bytes once, less an embedding table that is only looked up (untied)
--   KV          read once at this depth, written once for the new tokens; logits written once
-- Activations between operators are left out: they can stay in caches. The layers' matrices are counted from the configuration (query,
-- key, value, output; a gated MLP of 3 matrices or a plain one of 2) and must come within 2 % of the parameters that the
-- model has, else (experts, latent attention) nothing is said. Kaplan et al. 2020 (arXiv:2001.08361), section 2.1, for the counting.
CREATE VIEW roofline_work AS
WITH facts AS (
    SELECT
        run_id, dtype, logits, batch_size AS b,
        TRY_CAST(architecture->>'layers' AS BIGINT) AS layers,
        TRY_CAST(architecture->>'hidden_size' AS BIGINT) AS hidden,
        TRY_CAST(architecture->>'heads' AS BIGINT) AS heads,
        TRY_CAST(architecture->>'kv_heads' AS BIGINT) AS kv_heads,
        TRY_CAST(architecture->>'head_dim' AS BIGINT) AS head_dim,
        TRY_CAST(architecture->>'intermediate_size' AS BIGINT) AS intermediate,
        TRY_CAST(architecture->>'vocab_size' AS BIGINT) AS vocabulary,
        TRY_CAST(architecture->>'parameters' AS BIGINT) AS parameters,
        TRY_CAST(architecture->>'weight_bytes' AS BIGINT) AS weight_bytes,
        TRY_CAST(architecture->>'tied_embeddings' AS BOOLEAN) AS tied,
        TRY_CAST(architecture->>'kv_element_bytes' AS BIGINT) AS kv_element_bytes,
        CASE dtype WHEN 'float32' THEN 4 WHEN 'float16' THEN 2 WHEN 'bfloat16' THEN 2 END AS activation_bytes,
        json_transform(architecture->'kv_layers',
            '[{"kind":"VARCHAR","kv_heads":"BIGINT","key_dim":"BIGINT","value_dim":"BIGINT","window":"BIGINT"}]') AS kv_layers
    FROM runs
    WHERE architecture IS NOT NULL
),
counted AS (
    SELECT
        *,
        vocabulary * hidden AS table_parameters,
        layers * (2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim) AS projection_parameters,
        parameters - vocabulary * hidden * if(tied, 1, 2) AS layer_parameters
    FROM facts
),
shaped AS (
    SELECT
        *,
        list_extract(list_filter([3, 2],
            lambda m: abs(projection_parameters + layers * m * hidden * intermediate - layer_parameters) <= 0.02 * layer_parameters), 1) AS mlp_matrices
    FROM counted
),
models AS (
    SELECT
        *,
        projection_parameters + layers * mlp_matrices * hidden * intermediate AS linear_parameters,
        weight_bytes - if(tied, 0, round(table_parameters * (weight_bytes / parameters)))::BIGINT AS weights_read_bytes,
        CASE
            WHEN layers IS NULL OR hidden IS NULL OR heads IS NULL OR kv_heads IS NULL OR head_dim IS NULL OR intermediate IS NULL
                OR vocabulary IS NULL OR parameters IS NULL OR weight_bytes IS NULL OR tied IS NULL OR kv_element_bytes IS NULL OR b IS NULL
                THEN 'the configuration does not give all sizes'
            WHEN mlp_matrices IS NULL
                THEN format('layers of this shape (query, key, value, output and an MLP of 3 or 2 matrices) do not make up the {:d} parameters that the model has in its layers', layer_parameters)
            WHEN activation_bytes IS NULL THEN 'the size of an element of ' || coalesce(dtype, 'an unknown dtype') || ' is not known here'
            WHEN len(kv_layers) <> layers OR len(list_filter(kv_layers, lambda l: l.kind NOT IN ('full', 'sliding', 'static')
                OR l.kv_heads IS NULL OR l.key_dim IS NULL OR l.value_dim IS NULL)) > 0
                THEN 'the operations of some attention layers are not known'
        END AS reason
    FROM shaped
),
kv_groups AS (
    SELECT run_id, l.kv_heads AS kv_heads, l.key_dim + l.value_dim AS dims, l."window" AS visible, count(*) AS n
    FROM (SELECT run_id, unnest(kv_layers) AS l FROM models WHERE reason IS NULL)
    GROUP BY ALL
),
steps AS (
    SELECT run_id, phase, step, max(tokens) AS tokens, max(cached_tokens) AS n
    FROM phases
    WHERE pass IN ('clean', 'profiled') AND phase IN ('prefill', 'decode') AND tokens IS NOT NULL AND cached_tokens IS NOT NULL
    GROUP BY ALL
),
sized AS (SELECT s.*, m.b, s.tokens // m.b AS t, s.n - s.tokens // m.b AS before FROM steps s JOIN models m USING (run_id) WHERE m.reason IS NULL),
-- of the new tokens, `rising` see all before them; the others see a window
attended AS (
    SELECT
        s.run_id, s.phase, s.step,
        sum(g.n * 2 * m.heads * g.dims * s.b * (r.rising * s.before + r.rising * (r.rising + 1) // 2
            + (s.t - r.rising) * coalesce(g.visible, 0)))::DOUBLE AS attention_flops,
        sum(g.n * g.kv_heads * g.dims * m.kv_element_bytes * s.b * least(s.n, coalesce(g.visible, s.n)))::BIGINT AS kv_read_bytes,
        sum(g.n * g.kv_heads * g.dims * m.kv_element_bytes * s.tokens)::BIGINT AS kv_written_bytes
    FROM sized s
    JOIN models m USING (run_id)
    JOIN kv_groups g USING (run_id),
    LATERAL (SELECT greatest(0, least(s.t, coalesce(g.visible, s.n) - s.before)) AS rising) r
    GROUP BY ALL
)
SELECT
    s.run_id, s.phase, s.step, s.tokens, s.n AS cached_tokens, m.b::BIGINT AS batch_size,
    m.reason,
    m.layers, m.hidden AS hidden_size, m.heads, m.kv_heads, m.head_dim, m.intermediate AS intermediate_size, m.mlp_matrices,
    m.vocabulary AS vocab_size, m.tied AS tied_embeddings, m.activation_bytes::BIGINT AS activation_bytes, m.linear_parameters,
    p.logit_positions,
    2::DOUBLE * m.linear_parameters * s.tokens AS linear_flops,
    a.attention_flops,
    2::DOUBLE * m.table_parameters * p.logit_positions AS logits_flops,
    if(m.reason IS NULL, m.weights_read_bytes, NULL) AS weights_bytes,
    a.kv_read_bytes, a.kv_written_bytes,
    if(m.reason IS NULL, p.logit_positions * m.vocabulary * m.activation_bytes, NULL)::BIGINT AS logits_bytes
FROM steps s
JOIN models m USING (run_id)
LEFT JOIN attended a USING (run_id, phase, step),
LATERAL (
    SELECT CASE WHEN m.reason IS NULL THEN if(m.logits = 'last' AND s.phase = 'prefill', m.b, s.tokens) END AS logit_positions
) p;
COMMENT ON VIEW roofline_work IS 'Operations and bytes of each step that the architecture asks for, as the roofline counts them.';
COMMENT ON COLUMN roofline_work.run_id IS 'Run.';
COMMENT ON COLUMN roofline_work.phase IS 'prefill or decode.';
COMMENT ON COLUMN roofline_work.step IS '0 for prefill, 1 and on for decode.';
COMMENT ON COLUMN roofline_work.tokens IS 'Tokens processed, over the batch.';
COMMENT ON COLUMN roofline_work.cached_tokens IS 'Tokens of one sequence in the cache after the step.';
COMMENT ON COLUMN roofline_work.batch_size IS 'Sequences.';
COMMENT ON COLUMN roofline_work.reason IS 'Why operations and bytes are not known; NULL where they are.';
COMMENT ON COLUMN roofline_work.layers IS 'Layers.';
COMMENT ON COLUMN roofline_work.hidden_size IS 'Width of the hidden state.';
COMMENT ON COLUMN roofline_work.heads IS 'Query heads.';
COMMENT ON COLUMN roofline_work.kv_heads IS 'Key and value heads.';
COMMENT ON COLUMN roofline_work.head_dim IS 'Size of a head.';
COMMENT ON COLUMN roofline_work.intermediate_size IS 'Width inside the MLP.';
COMMENT ON COLUMN roofline_work.mlp_matrices IS '3 for a gated MLP, 2 for a plain one: the one that fits the number of parameters.';
COMMENT ON COLUMN roofline_work.vocab_size IS 'Vocabulary.';
COMMENT ON COLUMN roofline_work.tied_embeddings IS 'Whether the embedding table is the matrix of the logits too.';
COMMENT ON COLUMN roofline_work.activation_bytes IS 'Bytes of an element of activations and logits.';
COMMENT ON COLUMN roofline_work.linear_parameters IS 'Parameters in the matrices of all layers.';
COMMENT ON COLUMN roofline_work.logit_positions IS 'Positions that get logits, over the batch.';
COMMENT ON COLUMN roofline_work.linear_flops IS 'Operations of the linear layers.';
COMMENT ON COLUMN roofline_work.attention_flops IS 'Operations of scores and weighted values, causal.';
COMMENT ON COLUMN roofline_work.logits_flops IS 'Operations of the logits.';
COMMENT ON COLUMN roofline_work.weights_bytes IS 'Weight bytes read.';
COMMENT ON COLUMN roofline_work.kv_read_bytes IS 'KV-cache bytes read, at this depth.';
COMMENT ON COLUMN roofline_work.kv_written_bytes IS 'KV-cache bytes written.';
COMMENT ON COLUMN roofline_work.logits_bytes IS 'Bytes of logits written.';
