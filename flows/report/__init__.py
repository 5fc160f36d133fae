"""Pages that show a home to people: each one a file that needs nothing else, no network and no script."""
