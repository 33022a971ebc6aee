"""An integration, by the client that openapi-python-client generates."""

import os
import uuid
from datetime import datetime, timezone

from integration_access_service_client import AuthenticatedClient, Client
from integration_access_service_client.api.analytics import read_daily, report_events
from integration_access_service_client.api.clients import create_client, list_clients, revoke_client
from integration_access_service_client.api.o_auth import issue_token
from integration_access_service_client.api.session import sign_in
from integration_access_service_client.models import (
    AnalyticsEvents,
    CreatedOAuthClient,
    DailyAnalytics,
    OAuthClientInput,
    OrderEvent,
    OrderEventType,
    Scope,
    SignIn,
    TokenAnswer,
    TokenRequest,
    TokenRequestGrantType,
)

BASE_URL, VENDOR_ID = os.environ["BASE_URL"], os.environ["VENDOR_ID"]
# Too large for 32 bits.
AMOUNT_MINOR = 3_000_000_000

anonymous = Client(base_url=BASE_URL)
session = sign_in.sync(client=anonymous, body=SignIn(email=os.environ["EMAIL"], password=os.environ["PASSWORD"]))
workspace = AuthenticatedClient(base_url=BASE_URL, token=session.session_token)
print("sign in", flush=True)

page = list_clients.sync(VENDOR_ID, client=workspace, limit=200)
assert any(client.name == "Demo client of the local stack" for client in page.clients), page
print("list", flush=True)

new_client = OAuthClientInput(
    name="openapi-python-client", scopes=[Scope("analytics:read"), Scope("analytics:write")]
)
key = str(uuid.uuid4())
created = create_client.sync(VENDOR_ID, client=workspace, body=new_client, idempotency_key=key)
assert isinstance(created, CreatedOAuthClient), created
assert created.client_secret.endswith(created.secret_hint), created
repeated = create_client.sync(VENDOR_ID, client=workspace, body=new_client, idempotency_key=key)
assert repeated.client_id == created.client_id and repeated.client_secret is None, repeated
print("create", flush=True)

token = issue_token.sync(
    client=anonymous,
    body=TokenRequest(
        grant_type=TokenRequestGrantType.CLIENT_CREDENTIALS,
        client_id=created.client_id,
        client_secret=created.client_secret,
        scope="analytics:read analytics:write",
    ),
)
assert isinstance(token, TokenAnswer), token
integration = AuthenticatedClient(base_url=BASE_URL, token=token.access_token)
print("token", flush=True)


def read() -> DailyAnalytics:
    daily = read_daily.sync(VENDOR_ID, client=integration)
    assert isinstance(daily, DailyAnalytics), daily
    return daily


before = read()
order = OrderEvent(
    event_id=str(uuid.uuid4()),
    type_=OrderEventType.ORDER,
    occurred_at=datetime.now(timezone.utc),
    amount_minor=AMOUNT_MINOR,
    currency=before.currency,
)
answer = report_events.sync(VENDOR_ID, client=integration, body=AnalyticsEvents(events=[order]))
assert answer.accepted == 1, answer
print("report", flush=True)

after = read()
assert after.totals.revenue_minor - before.totals.revenue_minor == AMOUNT_MINOR, after.totals
assert sum(day.revenue_minor or 0 for day in after.days) == after.totals.revenue_minor, after
print("read", flush=True)

revoked = revoke_client.sync(VENDOR_ID, created.client_id, client=workspace)
assert revoked.status == "Revoked" and revoked.revoked_by.name, revoked
refused = read_daily.sync(VENDOR_ID, client=integration)
assert refused.code == "invalid_token", refused
print("revoke", flush=True)
