"""What runs leave: results, their tables explained, designs of several seeds, and the statistics of both."""
