"""The paper's tables and figures: what each needs to have been run, what was published, what came out here."""
