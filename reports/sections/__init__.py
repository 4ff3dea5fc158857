"""The parts of a report, in reading order; each module turns query results into what its template shows."""
