"""The edge: everything that knows HTTP. It decodes, authenticates, routes and encodes; `diffmem.api` does the work."""
