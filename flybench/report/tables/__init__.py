"""The report's tables: HTML, markdown, LaTeX and CSV from one definition each."""
