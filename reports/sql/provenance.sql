-- How the numbers of each column of the store came to be.
SELECT relation, "column", provenance
FROM provenance
WHERE provenance <> 'stated'
