"""POST consolidate: memory put in better order, and nothing lost."""

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.requests import ConsolidateBody
from diffmem.curation.consolidate import ALL_TOOLS, consolidate


def post_consolidate(app: Application, call: Call, user: str, body: ConsolidateBody) -> Answer:
    """Merge duplicates, move sections, split what is overgrown and weave links; with `dry_run` only show the diff."""
    done = consolidate(
        app.repositories,
        app.tool,
        app.writer,
        user,
        call.deadline.within(body.time_budget_s),
        now=call.now,
        tools=body.tools or ALL_TOOLS,
        dry_run=body.dry_run,
    )
    log = {"steps": len(done.steps), "files": len(done.files), "dry_run": body.dry_run}
    return Answer(200, done, timings_ms=done.timings_ms, log=log)
