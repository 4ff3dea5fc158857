-- The rows of one run with small numbers for their keys, for the queries of this folder: a comparison of integers costs a
-- fraction of one of texts. Dropped when the run is done.
CREATE OR REPLACE TEMP TABLE run_ranks AS
SELECT pass, rank, row_number() OVER (ORDER BY pass, rank)::INTEGER AS rank_no
FROM (
    SELECT pass, rank FROM phases WHERE run_id = $run_id
    UNION
    SELECT pass, rank FROM ops WHERE run_id = $run_id
    UNION
    SELECT pass, rank FROM kernels WHERE run_id = $run_id
)
