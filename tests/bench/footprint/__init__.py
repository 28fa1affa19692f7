"""What an installation takes on disk, and an instance in memory."""
