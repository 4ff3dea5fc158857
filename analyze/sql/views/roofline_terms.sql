-- The terms of the roofline with the model's numbers in them, one row a term.
CREATE VIEW roofline_terms AS
WITH w AS (SELECT * FROM roofline_work WHERE reason IS NULL)
SELECT w.run_id, w.phase, w.step, t.place, t.term, t.formula, t.value, t.unit, t.provenance
FROM w
JOIN roofline r USING (run_id, phase, step),
LATERAL (
    VALUES
        (1, 'linear', format('2 × {:,} parameters in matrices ({:d} layers × ({:d} × {:d} × (2 × {:d} + 2 × {:d}) + {:d} × {:d} × {:d})) × {:d} tokens',
            w.linear_parameters, w.layers, w.hidden_size, w.head_dim, w.heads, w.kv_heads, w.mlp_matrices, w.hidden_size, w.intermediate_size, w.tokens),
            w.linear_flops, 'FLOP', 'derived'),
        (2, 'attention', format('{:d} layers × 2 × {:d} heads × (K + V) {:d} × pairs of tokens that see each other, {:d} new of {:d} cached × batch {:d}',
            w.layers, w.heads, 2 * w.head_dim, w.tokens // w.batch_size, w.cached_tokens, w.batch_size),
            w.attention_flops, 'FLOP', 'derived'),
        (3, 'logits', format('2 × {:d} vocabulary × {:d} hidden × {:d} positions', w.vocab_size, w.hidden_size, w.logit_positions),
            w.logits_flops, 'FLOP', 'derived'),
        (4, 'weights read', if(w.tied_embeddings, 'all weights once; the embedding table is the matrix of the logits',
            format('all weights once but the embedding table ({:d} × {:d}), which is only looked up', w.vocab_size, w.hidden_size)),
            w.weights_bytes::DOUBLE, 'bytes', 'derived'),
        (5, 'KV read', format('keys and values of {:d} tokens × {:d} layers × {:d} heads, batch {:d}, once', w.cached_tokens, w.layers, w.kv_heads, w.batch_size),
            w.kv_read_bytes::DOUBLE, 'bytes', 'derived'),
        (6, 'KV written', format('keys and values of {:d} new tokens', w.tokens), w.kv_written_bytes::DOUBLE, 'bytes', 'derived'),
        (7, 'logits written', format('{:d} positions × {:d} × {:d} bytes', w.logit_positions, w.vocab_size, w.activation_bytes),
            w.logits_bytes::DOUBLE, 'bytes', 'derived'),
        (8, 'peak bandwidth', r.peak_bytes_source, r.peak_bytes_per_s, 'bytes/s', r.peak_bytes_provenance),
        (9, 'peak matrix rate', r.peak_flops_source, r.peak_flops_per_s, 'FLOP/s', r.peak_flops_provenance),
        (10, 'least time by bandwidth', format('{:.4g} bytes ÷ {:.4g} bytes/s', r.bytes::DOUBLE, r.peak_bytes_per_s), r.memory_ns, 'ns', 'derived'),
        (11, 'least time by matrix rate', format('{:.4g} FLOP ÷ {:.4g} FLOP/s', r.flops, r.peak_flops_per_s), r.compute_ns, 'ns', 'derived')
) t (place, term, formula, value, unit, provenance);
COMMENT ON VIEW roofline_terms IS 'The terms of the roofline with the model''s numbers in them.';
COMMENT ON COLUMN roofline_terms.run_id IS 'Run.';
COMMENT ON COLUMN roofline_terms.phase IS 'prefill or decode.';
COMMENT ON COLUMN roofline_terms.step IS 'Step.';
COMMENT ON COLUMN roofline_terms.place IS 'Order of the terms.';
COMMENT ON COLUMN roofline_terms.term IS 'What is counted.';
COMMENT ON COLUMN roofline_terms.formula IS 'How, with the numbers; for peaks their source.';
COMMENT ON COLUMN roofline_terms.value IS 'The result, in unit; NULL where not known.';
COMMENT ON COLUMN roofline_terms.unit IS 'FLOP, bytes, bytes/s, FLOP/s or ns.';
COMMENT ON COLUMN roofline_terms.provenance IS 'How the number came to be: measured, derived, published or estimated.';
