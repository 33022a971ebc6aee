import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.OffsetDateTime;
import java.util.Set;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AnalyticsApi;
import org.openapitools.client.api.ClientsApi;
import org.openapitools.client.api.OAuthApi;
import org.openapitools.client.api.SessionApi;
import org.openapitools.client.model.*;

/** An integration, by the Java client that openapi-generator generates. */
class OpenapiGenerator {
  static final String VENDOR_ID = System.getenv("VENDOR_ID");
  /** Too large for 32 bits. */
  static final long AMOUNT_MINOR = 3_000_000_000L;

  public static void main(String[] arguments) throws Exception {
    SignIn owner = new SignIn().email(System.getenv("EMAIL")).password(System.getenv("PASSWORD"));
    ClientsApi workspace = new ClientsApi(with(new SessionApi().signIn(owner).getSessionToken()));
    System.out.println("sign in");

    OAuthClientPage page = workspace.listClients(VENDOR_ID, 200, null, null, null);
    check(
        page.getClients().stream().anyMatch(each -> each.getName().equals("Demo client of the local stack")),
        page);
    System.out.println("list");

    CreatedOAuthClient created = create(workspace);
    System.out.println("create");

    TokenAnswer token =
        new OAuthApi()
            .issueToken(
                "client_credentials",
                "analytics:read analytics:write",
                created.getClientId(),
                created.getClientSecret(),
                // No assertion, and no resource.
                null,
                null,
                null);
    AnalyticsApi integration = new AnalyticsApi(with(token.getAccessToken()));
    System.out.println("token");

    DailyAnalytics before = read(integration);
    report(integration, before.getCurrency());
    System.out.println("report");

    DailyAnalytics after = read(integration);
    long revenueMinor = after.getTotals().getRevenueMinor();
    check(revenueMinor - before.getTotals().getRevenueMinor() == AMOUNT_MINOR, after.getTotals());
    long ofDays = 0;
    for (DailyAnalyticsDaysInner day : after.getDays())
      if (day.getRevenueMinor() != null) ofDays += day.getRevenueMinor();
    check(ofDays == revenueMinor, after);
    System.out.println("read");

    revoke(workspace, created, integration);
    System.out.println("revoke");
  }

  static CreatedOAuthClient create(ClientsApi workspace) throws ApiException {
    OAuthClientInput wanted =
        new OAuthClientInput()
            .name("openapi-generator")
            .scopes(Set.of(Scope.ANALYTICS_READ, Scope.ANALYTICS_WRITE));
    String key = UUID.randomUUID().toString();
    CreatedOAuthClient created = workspace.createClient(VENDOR_ID, wanted, key);
    check(created.getClientSecret().endsWith(created.getSecretHint()), created.getClientId());
    CreatedOAuthClient repeated = workspace.createClient(VENDOR_ID, wanted, key);
    check(repeated.getClientId().equals(created.getClientId()), repeated);
    check(repeated.getClientSecret() == null, repeated.getClientId());
    return created;
  }

  static void report(AnalyticsApi integration, String currency) throws ApiException {
    OrderEvent order =
        new OrderEvent()
            .eventId(UUID.randomUUID().toString())
            .type(OrderEvent.TypeEnum.ORDER)
            .occurredAt(OffsetDateTime.now())
            .amountMinor(AMOUNT_MINOR)
            .currency(currency);
    AnalyticsEvents events = new AnalyticsEvents().addEventsItem(new AnalyticsEventsEventsInner(order));
    AnalyticsEventsAnswer answer = integration.reportEvents(VENDOR_ID, events);
    check(answer.getAccepted() == 1, answer);
  }

  static DailyAnalytics read(AnalyticsApi integration) throws ApiException {
    return integration.readDaily(VENDOR_ID, null, null, null, null);
  }

  static void revoke(ClientsApi workspace, CreatedOAuthClient created, AnalyticsApi integration)
      throws Exception {
    OAuthClient revoked = workspace.revokeClient(VENDOR_ID, created.getClientId());
    check(revoked.getStatus() == OAuthClient.StatusEnum.REVOKED, revoked);
    check(revoked.getRevokedBy().getName() != null, revoked);
    try {
      read(integration);
      check(false, "a token of the revoked client was accepted");
    } catch (ApiException refused) {
      ObjectMapper mapper = ApiClient.createDefaultObjectMapper();
      Problem problem = mapper.readValue(refused.getResponseBody(), Problem.class);
      check(refused.getCode() == 401 && problem.getCode() == Problem.CodeEnum.INVALID_TOKEN, problem);
    }
  }

  static ApiClient with(String token) {
    return new ApiClient()
        .setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
  }

  static void check(boolean holds, Object seen) {
    if (!holds) throw new AssertionError(seen);
  }
}
