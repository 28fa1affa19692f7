"""Webhooks: who sent one, and which messages it brings. Pure functions of the request and the configuration; no Flask.

configuration   DIFFMEM_HOOKS, validated at start
signatures      shared secrets: Standard Webhooks, Meta and GitHub, Slack, Telegram, Twilio, bearer
oidc            Pub/Sub's tokens, with the one thing that is kept between requests: certificates
payloads        JSON, forms, Pub/Sub's envelope
places          dotted paths
templates       what texts are made of
mapping         rules: from a payload to messages
ready           ready-made rules
users, times    safe user ids; points in time
receiving       all of it in order
"""

from diffmem.hooks.configuration import Hook, parse_hooks
from diffmem.hooks.mapping import Delivery, Incoming
from diffmem.hooks.receiving import Challenge, receive, verify_address
from diffmem.hooks.signatures import Received

__all__ = ["Challenge", "Delivery", "Hook", "Incoming", "Received", "parse_hooks", "receive", "verify_address"]
