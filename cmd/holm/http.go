package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"holm/bot"
	"holm/gateway"
	"holm/internal/caught"
	"holm/internal/httpapi"
)

// handler mounts every address of the process: the MCP endpoint, the API, the
// probes and what chat platforms call.
func (a *app) handler(addr net.Addr, publicURL string) (http.Handler, error) {
	api, err := httpapi.New(httpapi.Config{
		Pool: a.pool, Hub: a.hub, Approvals: a.approvals, Rules: a.rules, Keyring: a.keyring, Servers: a.servers,
		AdminToken: a.settings.AdminToken, Log: a.log, Ending: a.ending,
		Enforce: enforceAt(a.gateway), Tools: a.gateway.Tools, Definition: a.gateway.Definition, Links: a.links, ServerStatus: a.serverStatus, Ready: a.databaseAnswers, Intake: a.intake,
		Channels: a.channelHealth, CheckChannel: a.checkOwn, OpenChannels: a.bot.Refresh, ClosedRoutes: a.closedRoutes, TestChannels: a.testChannels, Press: a.bot.Press, MayApprove: a.bot.MayApprove,
	})
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Any("/mcp", echo.WrapHandler(a.gateway))
	for _, path := range []string{"/api", "/api/*", "/healthz", "/readyz"} {
		e.Any(path, echo.WrapHandler(api))
	}
	e.POST(bot.WebhookPath(":agent", ":namespace"), func(c echo.Context) error {
		a.bot.ServeWebhook(c.Response(), c.Request(), c.Param("agent"), c.Param("namespace"))
		return nil
	})
	// The API and the MCP endpoint answer in their own form; this is for the rest.
	safe := caught.Handler(a.log, "http", e, func(w http.ResponseWriter) {
		http.Error(w, "Holm failed; its log says why", http.StatusInternalServerError)
	})
	return guardHost(addr, publicURL, a.intake.BodyDeadlines(http.NewCrossOriginProtection().Handler(safe))), nil
}

// guardHost refuses requests on a loopback address that name another host: a
// web page whose name was rebound to 127.0.0.1 must not reach the gateway. A
// proxy in front is named by HOLM_PUBLIC_URL.
func guardHost(addr net.Addr, publicURL string, next http.Handler) http.Handler {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return next
	}
	public := ""
	if u, err := url.Parse(publicURL); err == nil {
		public = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if ip := net.ParseIP(host); host != "localhost" && !strings.EqualFold(host, public) && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this host name is not served here; set HOLM_PUBLIC_URL", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// free tells whether an address can be listened on.
func free(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// databaseAnswers is what readiness asks; a database that hangs is not ready.
func (a *app) databaseAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return a.pool.Ping(ctx)
}

// enforceAt puts the API's questions to the gate.
func enforceAt(g *gateway.Gateway) func(context.Context, httpapi.Enforcement) (httpapi.Enforced, error) {
	return func(ctx context.Context, e httpapi.Enforcement) (httpapi.Enforced, error) {
		done, err := g.Enforce(ctx, gateway.Enforcement(e))
		return httpapi.Enforced(done), err
	}
}

// links, serverStatus and channelHealth give the API what other parts know, in
// the API's own words.
func (a *app) links(ctx context.Context, token string) map[string]httpapi.Link {
	links := map[string]httpapi.Link{}
	for namespace, link := range a.bot.Links(ctx, token) {
		links[namespace] = httpapi.Link(link)
	}
	return links
}

func (a *app) serverStatus(ctx context.Context, name string) (httpapi.ServerStatus, bool) {
	s, ok := a.gateway.ServerStatus(ctx, name)
	return httpapi.ServerStatus{State: string(s.State), Error: s.Error, Tools: s.Tools, Stderr: s.Stderr}, ok
}

func (a *app) channelHealth(context.Context) (all []httpapi.ChannelHealth, err error) {
	for _, c := range a.bot.States() {
		all = append(all, httpapi.ChannelHealth{
			Namespace: c.Namespace, AgentID: c.AgentID, Stored: c.Stored, Connected: c.Connected,
			Account: c.Account, LastEvent: c.LastEvent, Error: c.Error,
		})
	}
	return all, nil
}

func (a *app) closedRoutes(ctx context.Context) (map[string][]httpapi.ClosedRoute, error) {
	routes, err := a.bot.ClosedRoutes(ctx)
	closed := map[string][]httpapi.ClosedRoute{}
	for _, r := range routes {
		closed[r.Channel] = append(closed[r.Channel], httpapi.ClosedRoute{Identity: r.Identity, Name: r.Name, Reason: r.Reason, Since: r.Since})
	}
	return closed, err
}

func (a *app) testChannels(ctx context.Context, t httpapi.ChannelTest) (all []httpapi.ChannelReached, err error) {
	reached, err := a.bot.Test(ctx, bot.TestWanted(t))
	for _, r := range reached {
		all = append(all, httpapi.ChannelReached(r))
	}
	return all, err
}
