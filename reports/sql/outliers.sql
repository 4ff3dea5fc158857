-- Decode steps whose median stands more than 3.5 scaled median deviations off the median of all decode steps
-- (the modified z-score of Iglewicz and Hoaglin, 1993: 0.6745 makes the deviation comparable to a standard one).
WITH decode AS (
    SELECT step, cached_tokens, median_ns, median(median_ns) OVER () AS middle_ns
    FROM step_latency
    WHERE run_id = $run_id AND phase = 'decode'
), spread AS (
    SELECT *, median(abs(median_ns - middle_ns)) OVER () AS deviation_ns FROM decode
)
SELECT step, cached_tokens, median_ns, median_ns / middle_ns AS times_the_median
FROM spread
WHERE deviation_ns > 0 AND 0.6745 * abs(median_ns - middle_ns) / deviation_ns > 3.5
ORDER BY abs(median_ns - middle_ns) DESC
