"""The one HTTP function. `functions-framework --target diffmem --port 8080` serves it.

functions-framework imports this file in gunicorn's master process and forks: nothing is opened, no thread starts here.
It reads variables of its own: `PORT`; `THREADS`, how many requests are answered at once, four for each processor where
it is unset; `CLOUD_RUN_TIMEOUT_SECONDS`, which DiffMem's deadlines stay below, and no time-out where it is unset.
"""

import gc
import os

import flask
import functions_framework

from diffmem.config import Config
from diffmem.http.service import Service

service = Service(Config.from_environment(os.environ))
gc.freeze()  # what is imported stays: no collection looks at it again, nor copies its pages after the fork


@functions_framework.http
def diffmem(request: flask.Request) -> flask.Response:
    """Every method and path; `diffmem.http.routes` is the table."""
    return service.handle(request)


if flask.has_app_context():
    # The framework's router does not hand on a path with a line break in it, nor /robots.txt: it answers 404 in HTML.
    flask.current_app.register_error_handler(404, lambda error: service.handle(flask.request))
