"""Models over HTTP: scores, explanations and text for programs, and a page for people. Needs the extra `serve`."""
