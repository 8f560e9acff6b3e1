"""What the site makes by itself: the reference of the commands, docstrings as written, and pages of reports."""
