"""An integration, by the Python client that openapi-generator generates."""

import os
import uuid
from datetime import datetime, timezone

import openapi_client as sdk
from openapi_client.exceptions import UnauthorizedException

VENDOR_ID = os.environ["VENDOR_ID"]
# Too large for 32 bits.
AMOUNT_MINOR = 3_000_000_000

anonymous = sdk.ApiClient(sdk.Configuration())
session = sdk.SessionApi(anonymous).sign_in(
    sdk.SignIn(email=os.environ["EMAIL"], password=os.environ["PASSWORD"])
)
workspace = sdk.ClientsApi(sdk.ApiClient(sdk.Configuration(access_token=session.session_token)))

page = workspace.list_clients(VENDOR_ID, limit=200)
assert any(client.name == "Demo client of the local stack" for client in page.clients), page

new_client = sdk.OAuthClientInput(
    name="openapi-generator", scopes=[sdk.Scope("analytics:read"), sdk.Scope("analytics:write")]
)
key = str(uuid.uuid4())
created = workspace.create_client(VENDOR_ID, new_client, idempotency_key=key)
assert created.client_secret.endswith(created.secret_hint), created
repeated = workspace.create_client(VENDOR_ID, new_client, idempotency_key=key)
assert repeated.client_id == created.client_id and repeated.client_secret is None, repeated

token = sdk.OAuthApi(anonymous).issue_token(
    grant_type="client_credentials",
    scope="analytics:read analytics:write",
    client_id=created.client_id,
    client_secret=created.client_secret,
)
integration = sdk.AnalyticsApi(sdk.ApiClient(sdk.Configuration(access_token=token.access_token)))

before = integration.read_daily(VENDOR_ID)
order = sdk.OrderEvent(
    event_id=str(uuid.uuid4()),
    type="order",
    occurred_at=datetime.now(timezone.utc),
    amount_minor=AMOUNT_MINOR,
    currency=before.currency,
)
answer = integration.report_events(
    VENDOR_ID, sdk.AnalyticsEvents(events=[sdk.AnalyticsEventsEventsInner(order)])
)
assert answer.accepted == 1, answer

after = integration.read_daily(VENDOR_ID)
assert after.totals.revenue_minor - before.totals.revenue_minor == AMOUNT_MINOR, after.totals
assert sum(day.revenue_minor or 0 for day in after.days) == after.totals.revenue_minor, after

revoked = workspace.revoke_client(VENDOR_ID, created.client_id)
assert revoked.status == "Revoked" and revoked.revoked_by.name, revoked
try:
    integration.read_daily(VENDOR_ID)
    raise AssertionError("a token of the revoked client was accepted")
except UnauthorizedException as refused:
    assert isinstance(refused.data, sdk.Problem) and refused.data.code == "invalid_token", refused
