// An integration, by the client that oapi-codegen generates.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"integration.example/client"
)

// Too large for 32 bits.
const amountMinor = 3_000_000_000

var (
	ctx      = context.Background()
	vendorID = os.Getenv("VENDOR_ID")
)

func main() {
	anonymous := connect("")
	session, err := anonymous.SignInWithResponse(ctx, client.SignIn{
		Email:    os.Getenv("EMAIL"),
		Password: os.Getenv("PASSWORD"),
	})
	check(err == nil && session.JSON201 != nil, err, session)
	workspace := connect(*session.JSON201.SessionToken)
	fmt.Println("sign in")

	list(workspace)
	fmt.Println("list")

	created := create(workspace)
	fmt.Println("create")

	token, err := anonymous.IssueTokenWithFormdataBodyWithResponse(ctx, client.TokenRequest{
		GrantType:    client.TokenRequestGrantType("client_credentials"),
		ClientId:     &created.ClientId,
		ClientSecret: created.ClientSecret,
		Scope:        "analytics:read analytics:write",
	})
	check(err == nil && token.JSON200 != nil, err, token)
	integration := connect(token.JSON200.AccessToken)
	fmt.Println("token")

	before := read(integration)
	report(integration, before.Currency)
	fmt.Println("report")

	after := read(integration)
	check(after.Totals.RevenueMinor-before.Totals.RevenueMinor == amountMinor, nil, after.Totals)
	ofDays := int64(0)
	for _, day := range after.Days {
		if day.RevenueMinor != nil {
			ofDays += int64(*day.RevenueMinor)
		}
	}
	check(ofDays == int64(after.Totals.RevenueMinor), nil, after)
	fmt.Println("read")

	revoke(workspace, created.ClientId, integration)
	fmt.Println("revoke")
}

func list(workspace *client.ClientWithResponses) {
	limit := 200
	page, err := workspace.ListClientsWithResponse(ctx, vendorID, &client.ListClientsParams{Limit: &limit})
	check(err == nil && page.JSON200 != nil, err, page)
	found := false
	for _, each := range page.JSON200.Clients {
		found = found || each.Name == "Demo client of the local stack"
	}
	check(found, nil, page.JSON200)
}

func create(workspace *client.ClientWithResponses) *client.CreatedOAuthClient {
	key := rand.Text()
	params := &client.CreateClientParams{IdempotencyKey: &key}
	wanted := client.OAuthClientInput{
		Name:   "oapi-codegen",
		Scopes: []client.Scope{client.AnalyticsRead, client.AnalyticsWrite},
	}
	answer, err := workspace.CreateClientWithResponse(ctx, vendorID, params, wanted)
	check(err == nil && answer.JSON201 != nil, err, answer)
	created := answer.JSON201
	check(strings.HasSuffix(*created.ClientSecret, *created.SecretHint), nil, created.ClientId)
	again, err := workspace.CreateClientWithResponse(ctx, vendorID, params, wanted)
	check(err == nil && again.JSON200 != nil, err, again)
	check(again.JSON200.ClientId == created.ClientId && again.JSON200.ClientSecret == nil, nil, again.JSON200)
	return created
}

func report(integration *client.ClientWithResponses, currency string) {
	var item client.AnalyticsEvents_Events_Item
	err := item.FromOrderEvent(client.OrderEvent{
		EventId:     rand.Text(),
		Type:        client.Order,
		OccurredAt:  time.Now(),
		AmountMinor: amountMinor,
		Currency:    currency,
	})
	check(err == nil, err, item)
	events := client.AnalyticsEvents{Events: []client.AnalyticsEvents_Events_Item{item}}
	answer, err := integration.ReportEventsWithResponse(ctx, vendorID, events)
	check(err == nil && answer.JSON200 != nil && answer.JSON200.Accepted == 1, err, answer)
}

func read(integration *client.ClientWithResponses) *client.DailyAnalytics {
	answer, err := integration.ReadDailyWithResponse(ctx, vendorID, &client.ReadDailyParams{})
	check(err == nil && answer.JSON200 != nil, err, answer)
	return answer.JSON200
}

func revoke(workspace *client.ClientWithResponses, clientID string, integration *client.ClientWithResponses) {
	answer, err := workspace.RevokeClientWithResponse(ctx, vendorID, clientID)
	check(err == nil && answer.JSON200 != nil, err, answer)
	check(answer.JSON200.Status == "Revoked" && answer.JSON200.RevokedBy.Name != "", nil, answer.JSON200)
	refused, err := integration.ReadDailyWithResponse(ctx, vendorID, &client.ReadDailyParams{})
	check(err == nil && refused.ApplicationproblemJSON401 != nil, err, refused)
	check(refused.ApplicationproblemJSON401.Code == "invalid_token", nil, refused.ApplicationproblemJSON401)
}

func connect(token string) *client.ClientWithResponses {
	authorize := func(_ context.Context, request *http.Request) error {
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
	connected, err := client.NewClientWithResponses(os.Getenv("BASE_URL"), client.WithRequestEditorFn(authorize))
	check(err == nil, err, nil)
	return connected
}

func check(holds bool, err error, seen any) {
	if !holds {
		panic(fmt.Sprintf("%v: %+v", err, seen))
	}
}
