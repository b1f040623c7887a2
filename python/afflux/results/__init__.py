"""Results of runs, the split of completion times, designs with several seeds, and statistics."""
