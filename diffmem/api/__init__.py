"""One function a request, read top to bottom; nothing here knows HTTP or Flask."""
