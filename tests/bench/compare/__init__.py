"""DiffMem beside the pipeline that it replaced."""
