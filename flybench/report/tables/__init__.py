"""Tables of the report, each rendered to HTML, markdown, LaTeX and CSV from one definition."""
