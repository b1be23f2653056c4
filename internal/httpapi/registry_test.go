package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holm/internal/fault"
	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/policy"
)

func TestAgents(t *testing.T) {
	w := start(t)
	var made httpapi.AgentWithKey
	w.admin("POST", "/api/agents", `{"name":"main"}`).is(201).into(&made)
	if made.Agent.ID != "main" || !strings.HasPrefix(made.Key, "holm_sk_") {
		t.Errorf("got %+v", made)
	}
	w.as(made.Key, "GET", "/api/agents/main/approvals", "").is(200)
	w.admin("POST", "/api/agents", `{"name":"main"}`).is(409, "exists")
	w.admin("POST", "/api/agents", `{"name":"two words"}`).is(422, "invalid")
	w.admin("POST", "/api/agents", `{"name":""}`).is(422, "invalid")
	w.admin("POST", "/api/agents", `{}`).is(422, "invalid")
	w.agent("alpha")
	var agents []identity.Agent
	w.admin("GET", "/api/agents", "").is(200).into(&agents)
	if len(agents) != 2 || agents[0].ID != "alpha" {
		t.Errorf("got %+v, want them by name", agents)
	}
	w.admin("GET", "/api/agents/main", "").is(200)
	w.admin("DELETE", "/api/agents/main", "").is(204)
	w.admin("GET", "/api/agents/main", "").is(404, "not_found")
	w.admin("DELETE", "/api/agents/main", "").is(404, "not_found")
	w.ends(made.Key)
}

func TestKeys(t *testing.T) {
	w := start(t)
	w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.User)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	w.admin("POST", "/api/agents/main/keys", `{"userId":"`+user.ID+`","expires":"`+expires.Format(time.RFC3339)+`"}`).is(201)
	w.admin("POST", "/api/agents/main/keys", `{"userId":"nobody"}`).is(404, "not_found")
	w.admin("POST", "/api/agents/main/keys", `{"expires":"2020-01-01T00:00:00Z"}`).is(422, "invalid")
	w.admin("POST", "/api/agents/main/keys", `{"expires":"soon"}`).is(422, "invalid")
	w.admin("POST", "/api/agents/nobody/keys", `{}`).is(404, "not_found")
	w.admin("POST", "/api/agents/nobody/rotate", "").is(404, "not_found")
	var keys []identity.Key
	list := w.admin("GET", "/api/agents/main/keys", "").is(200)
	list.into(&keys)
	if len(keys) != 2 || keys[0].UserID == nil || *keys[0].UserID != user.ID || !keys[0].ExpiresAt.Equal(expires) {
		t.Errorf("got %+v", keys)
	}
	if strings.Contains(list.body, "hash") || strings.Contains(list.body, "holm_sk_") {
		t.Errorf("the list shows secrets: %s", list.body)
	}
}

func TestServers(t *testing.T) {
	w := start(t, func(c *httpapi.Config) {
		c.ServerStatus = func(_ context.Context, name string) (httpapi.ServerStatus, bool) {
			return httpapi.ServerStatus{State: "up", Tools: []string{"log"}, Stderr: []string{"hello"}}, name == "git"
		}
	})
	added := w.admin("POST", "/api/servers", `{"name":"git","command":["mcp-git","--repo","/srv"],"env":{"TOKEN":"s3cret"}}`).is(201)
	w.admin("POST", "/api/servers", `{"name":"web","url":"https://t.example/mcp","headers":{"Authorization":"s3cret"}}`).is(201)
	w.admin("POST", "/api/servers", `{"name":"git","command":["x"]}`).is(409, "exists")
	w.admin("POST", "/api/servers", `{"name":"a__b","command":["x"]}`).is(422, "invalid")
	w.admin("POST", "/api/servers", `{"name":"none"}`).is(422, "invalid")
	w.admin("POST", "/api/servers", `{"name":"nul","command":["a\u0000b"]}`).is(422, "invalid")
	list := w.admin("GET", "/api/servers", "").is(200)
	if strings.Contains(added.body+list.body, "s3cret") {
		t.Errorf("a secret is shown: %s %s", added.body, list.body)
	}
	var servers []httpapi.Server
	list.into(&servers)
	if len(servers) != 2 || servers[0].Name != "git" || servers[0].Env[0] != "TOKEN" || servers[0].Status == nil ||
		servers[0].Status.Tools[0] != "log" || servers[1].Status != nil {
		t.Errorf("got %+v", servers)
	}
	var one httpapi.Server
	w.admin("GET", "/api/servers/git", "").is(200).into(&one)
	if one.Status.Stderr[0] != "hello" || one.Command[2] != "/srv" {
		t.Errorf("got %+v", one)
	}
	w.admin("DELETE", "/api/servers/git", "").is(200)
	w.admin("GET", "/api/servers/git", "").is(404, "not_found")
	w.admin("DELETE", "/api/servers/git", "").is(404, "not_found")
}

func TestChannels(t *testing.T) {
	w := start(t, func(c *httpapi.Config) {
		c.Channels = func(context.Context) ([]httpapi.ChannelHealth, error) {
			return []httpapi.ChannelHealth{{Namespace: "telegram", AgentID: "main", Connected: true, Account: "@holm_bot"}}, nil
		}
		c.CheckChannel = func(own identity.OwnChannel) error {
			if own.Secrets["bot_token"] == "" {
				return fault.Invalidf("the bot token is missing")
			}
			return nil
		}
		c.ClosedRoutes = func(context.Context) (map[string][]httpapi.ClosedRoute, error) {
			return map[string][]httpapi.ClosedRoute{"telegram": {{Identity: "7", Reason: "blocked"}}}, nil
		}
		c.TestChannels = func(_ context.Context, want httpapi.ChannelTest) ([]httpapi.ChannelReached, error) {
			return []httpapi.ChannelReached{{Channel: want.Namespace, AgentID: want.AgentID, Identity: "7", Why: "blocked"}}, nil
		}
	})
	w.agent("main")
	var made httpapi.ChannelAdded
	w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`).is(201).into(&made)
	if !strings.HasPrefix(made.Token, "holm_ch_") {
		t.Errorf("got %+v", made)
	}
	for _, name := range []string{"telegram", "slack", "discord", "console", "Matrix", ""} {
		w.admin("POST", "/api/channels", `{"namespace":"`+name+`","agentId":"main","url":"https://adapter.example.com"}`).is(422, "invalid")
	}
	w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`).is(409, "exists")
	w.admin("POST", "/api/channels", `{"namespace":"other","agentId":"nobody","url":"https://adapter.example.com"}`).is(404, "not_found")
	var channels []httpapi.Channel
	list := w.admin("GET", "/api/channels", "").is(200)
	list.into(&channels)
	if len(channels) != 2 || channels[0].Kind != "builtin" || !*channels[0].Connected || channels[1].Kind != "external" || channels[1].Connected != nil {
		t.Errorf("got %s", list.body)
	}
	if strings.Contains(list.body, made.Token) {
		t.Error("the list shows the token")
	}

	slack := `{"namespace":"slack","agentId":"main","secrets":{"bot_token":"xoxb-s3cret"}}`
	added := w.admin("POST", "/api/channels", slack).is(201)
	w.admin("POST", "/api/channels", slack).is(409, "exists")
	w.admin("POST", "/api/channels", `{"namespace":"slack","agentId":"main","secrets":{}}`).is(422, "invalid")
	w.admin("POST", "/api/channels", `{"namespace":"slack","agentId":"main","url":"https://x","secrets":{"bot_token":"x"}}`).is(422, "invalid")
	shown := w.admin("GET", "/api/channels/telegram", "").is(200)
	var details httpapi.ChannelDetails
	shown.into(&details)
	if details.SetBy != "settings" || len(details.Closed) != 1 || details.Failures == nil {
		t.Errorf("got %s", shown.body)
	}
	w.admin("GET", "/api/channels/nothing", "").is(404, "not_found")
	if strings.Contains(added.body+w.admin("GET", "/api/channels", "").body+w.admin("GET", "/api/audit", "").body, "s3cret") {
		t.Error("a secret is shown")
	}
	var reached []httpapi.ChannelReached
	w.admin("POST", "/api/channels/test", `{"namespace":"telegram","agentId":"main"}`).is(200).into(&reached)
	if len(reached) != 1 || reached[0].Reached || reached[0].Channel != "telegram" || reached[0].AgentID != "main" {
		t.Errorf("got %+v", reached)
	}
	w.admin("POST", "/api/channels/test", `{"namespace":"nothing"}`).is(404, "not_found")
	w.admin("POST", "/api/channels/test", `{"agentId":"nobody"}`).is(404, "not_found")
	w.admin("POST", "/api/channels/slack/rotate", `{"secrets":{"bot_token":"xoxb-n3w"},"mode":"events"}`).is(200)
	w.admin("POST", "/api/channels/slack/rotate", `{"secrets":{"bot_token":""}}`).is(422, "invalid")
	w.admin("POST", "/api/channels/slack/rotate", `{}`).is(422, "invalid")
	w.admin("POST", "/api/channels/matrix/rotate", `{"secrets":{"token":"x"}}`).is(422, "invalid")
	w.admin("POST", "/api/channels/telegram/rotate", `{"secrets":{"token":"x"}}`).is(409, "set_by_settings")
	w.admin("POST", "/api/channels/telegram/rotate", `{}`).is(409, "set_by_settings")
	w.admin("POST", "/api/channels/nothing/rotate", `{}`).is(404, "not_found")
	var rotated httpapi.ChannelAdded
	w.admin("POST", "/api/channels/matrix/rotate", `{}`).is(200).into(&rotated)
	if !strings.HasPrefix(rotated.Token, "holm_ch_") || rotated.Token == made.Token || rotated.SigningSecret == made.SigningSecret || rotated.AgentID != "main" {
		t.Errorf("got %+v after %+v", rotated, made)
	}
	w.as(made.Token, "GET", "/api/agents/main/approvals/by-short/1", "").is(401)
	w.as(rotated.Token, "GET", "/api/agents/main/approvals/by-short/1", "").is(403, "no_person")
	if audit := w.admin("GET", "/api/audit", "").body; strings.Contains(audit, "n3w") || strings.Contains(audit, rotated.Token) {
		t.Error("a secret is shown")
	}
	w.admin("DELETE", "/api/channels/telegram", "").is(409, "set_by_settings")
	w.admin("DELETE", "/api/channels/slack", "").is(204)
	w.admin("DELETE", "/api/channels/slack", "").is(404, "not_found")
}

func TestInvites(t *testing.T) {
	w := start(t, func(c *httpapi.Config) {
		c.Links = func(_ context.Context, token string) map[string]httpapi.Link {
			return map[string]httpapi.Link{"telegram": {URL: "https://t.me/holm_bot?start=" + token}}
		}
	})
	w.agent("main")
	var invite httpapi.Invite
	w.admin("POST", "/api/agents/main/invites", `{"role":"owner"}`).is(201).into(&invite)
	if invite.Token == "" || !strings.HasSuffix(invite.Links["telegram"].URL, invite.Token) || time.Until(invite.ExpiresAt) < 23*time.Hour {
		t.Errorf("got %+v", invite)
	}
	w.admin("POST", "/api/agents/main/invites", `{"role":"boss"}`).is(422, "invalid")
	w.admin("POST", "/api/agents/nobody/invites", `{"role":"owner"}`).is(404, "not_found")
	w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.Guest)
	var members []identity.Member
	w.admin("GET", "/api/agents/main/members", "").is(200).into(&members)
	if len(members) != 1 || members[0].Role != policy.Guest || members[0].Identities[0] != "matrix:@u" {
		t.Errorf("got %+v", members)
	}
}
