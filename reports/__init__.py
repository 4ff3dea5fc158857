"""Reports: charts, templates and HTML over the store's views."""
