-- One real clean generation: the repeat whose total is the median (the lower of the middle two), so that its total is
-- its prefill and its decode steps times their mean.
WITH totals AS (
    SELECT
        repeat,
        sum(dur_ns)::BIGINT AS total_ns,
        (sum(dur_ns) FILTER (phase = 'prefill'))::BIGINT AS prefill_ns,
        (sum(dur_ns) FILTER (phase = 'decode'))::BIGINT AS decode_ns,
        sum(tokens) FILTER (phase = 'decode') AS decode_tokens,
        count(*) FILTER (phase = 'decode') AS decode_steps
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean' AND phase IN ('prefill', 'decode')
    GROUP BY repeat
    HAVING count(*) FILTER (phase = 'prefill') = 1
), placed AS (
    SELECT *, row_number() OVER (ORDER BY total_ns, repeat) AS place, count(*) OVER () AS generations FROM totals
)
SELECT
    generations, repeat, total_ns, prefill_ns, decode_ns, decode_steps,
    decode_ns / nullif(decode_steps, 0) AS decode_step_ns,
    1e9 * decode_tokens / nullif(decode_ns, 0) AS tokens_per_second,
    prefill_ns / nullif(total_ns, 0) AS prefill_share
FROM placed
WHERE place = (generations + 1) // 2
