"""The command line: on the configured store directly, or on a server by its URL.

It stands above everything else: it calls the contract's routes as the edge does, without HTTP, and starts the server.
A command's own module, and what it needs of DiffMem, is imported when the command is run.
"""
