// An integration, by the Go client that openapi-generator generates.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"integration.example/client"
)

// Too large for 32 bits.
const amountMinor = 3_000_000_000

var (
	vendorID = os.Getenv("VENDOR_ID")
	api      = connect()
)

func main() {
	anonymous := context.Background()
	session, _, err := api.SessionAPI.SignIn(anonymous).
		SignIn(*client.NewSignIn(os.Getenv("EMAIL"), os.Getenv("PASSWORD"))).Execute()
	check(err == nil, err, session)
	workspace := as(*session.SessionToken)
	fmt.Println("sign in")

	list(workspace)
	fmt.Println("list")

	created := create(workspace)
	fmt.Println("create")

	token, _, err := api.OAuthAPI.IssueToken(anonymous).GrantType("client_credentials").
		ClientId(created.ClientId).ClientSecret(*created.ClientSecret.Get()).
		Scope("analytics:read analytics:write").Execute()
	check(err == nil, err, token)
	integration := as(token.AccessToken)
	fmt.Println("token")

	before := read(integration)
	report(integration, before.Currency)
	fmt.Println("report")

	after := read(integration)
	check(after.Totals.RevenueMinor-before.Totals.RevenueMinor == amountMinor, nil, after.Totals)
	ofDays := int64(0)
	for _, day := range after.Days {
		if revenue := day.RevenueMinor.Get(); revenue != nil {
			ofDays += *revenue
		}
	}
	check(ofDays == after.Totals.RevenueMinor, nil, after)
	fmt.Println("read")

	revoke(workspace, created.ClientId, integration)
	fmt.Println("revoke")
}

func list(workspace context.Context) {
	page, _, err := api.ClientsAPI.ListClients(workspace, vendorID).Limit(200).Execute()
	check(err == nil, err, page)
	found := false
	for _, each := range page.Clients {
		found = found || each.Name == "Demo client of the local stack"
	}
	check(found, nil, page)
}

func create(workspace context.Context) *client.CreatedOAuthClient {
	wanted := client.NewOAuthClientInput(
		"openapi-generator", []client.Scope{client.ANALYTICS_READ, client.ANALYTICS_WRITE})
	request := api.ClientsAPI.CreateClient(workspace, vendorID).
		OAuthClientInput(*wanted).IdempotencyKey(rand.Text())
	created, _, err := request.Execute()
	check(err == nil, err, created)
	check(strings.HasSuffix(*created.ClientSecret.Get(), *created.SecretHint.Get()), nil, created.ClientId)
	again, _, err := request.Execute()
	check(err == nil && again.ClientId == created.ClientId && again.ClientSecret.Get() == nil, err, again)
	return created
}

func report(integration context.Context, currency string) {
	order := client.NewOrderEvent(rand.Text(), "order", time.Now(), amountMinor, currency)
	events := client.NewAnalyticsEvents(
		[]client.AnalyticsEventsEventsInner{client.OrderEventAsAnalyticsEventsEventsInner(order)})
	answer, _, err := api.AnalyticsAPI.ReportEvents(integration, vendorID).AnalyticsEvents(*events).Execute()
	check(err == nil && answer.Accepted == 1, err, answer)
}

func read(integration context.Context) *client.DailyAnalytics {
	answer, _, err := api.AnalyticsAPI.ReadDaily(integration, vendorID).Execute()
	check(err == nil, err, answer)
	return answer
}

func revoke(workspace context.Context, clientID string, integration context.Context) {
	revoked, _, err := api.ClientsAPI.RevokeClient(workspace, vendorID, clientID).Execute()
	check(err == nil && revoked.Status == "Revoked" && revoked.RevokedBy.Get().Name != "", err, revoked)
	_, response, err := api.AnalyticsAPI.ReadDaily(integration, vendorID).Execute()
	check(err != nil && response.StatusCode == 401, err, response)
	var refused *client.GenericOpenAPIError
	check(errors.As(err, &refused), err, nil)
	problem, ok := refused.Model().(client.Problem)
	check(ok && problem.Code == "invalid_token", err, refused)
}

func as(token string) context.Context {
	return context.WithValue(context.Background(), client.ContextAccessToken, token)
}

func connect() *client.APIClient {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	return client.NewAPIClient(configuration)
}

func check(holds bool, err error, seen any) {
	if !holds {
		panic(fmt.Sprintf("%v: %+v", err, seen))
	}
}
