package slackfake

import (
	"fmt"
	"strings"
	"time"
)

// method is one method of the Web API.
type method struct {
	// scope is what the token needs; appToken asks for an app-level token.
	scope    string
	appToken bool
	// read methods may also be called by GET.
	read   bool
	params []string
	run    func(*Server, *app, map[string]string) (answer, error)
}

// methods are what this Slack can do (docs.slack.dev/reference/methods).
var methods = map[string]method{
	"auth.test":             {run: (*Server).authTest},
	"apps.connections.open": {scope: "connections:write", appToken: true, run: (*Server).connectionsOpen},
	"conversations.open": {
		scope: "im:write", run: (*Server).conversationsOpen,
		params: []string{"channel", "prevent_creation", "return_im", "users"},
	},
	"chat.postMessage": {
		scope: "chat:write", run: (*Server).postMessage,
		params: []string{
			"as_user", "attachments", "blocks", "channel", "icon_emoji", "icon_url", "link_names", "markdown_text",
			"metadata", "mrkdwn", "parse", "reply_broadcast", "text", "thread_ts", "unfurl_links", "unfurl_media", "username",
		},
	},
	"chat.update": {
		scope: "chat:write", run: (*Server).update,
		params: []string{
			"as_user", "attachments", "blocks", "channel", "file_ids", "link_names", "markdown_text", "metadata",
			"parse", "reply_broadcast", "text", "ts",
		},
	},
	"chat.delete": {
		scope: "chat:write", run: (*Server).deleteMessage,
		params: []string{"as_user", "channel", "ts"},
	},
	"chat.postEphemeral": {
		scope: "chat:write", run: (*Server).postEphemeral,
		params: []string{
			"as_user", "attachments", "blocks", "channel", "icon_emoji", "icon_url", "link_names", "markdown_text",
			"parse", "text", "thread_ts", "user", "username",
		},
	},
	"views.open":    {run: (*Server).viewsOpen, params: []string{"interactivity_pointer", "trigger_id", "view"}},
	"views.push":    {run: (*Server).viewsPush, params: []string{"interactivity_pointer", "trigger_id", "view"}},
	"views.update":  {run: (*Server).viewsUpdate, params: []string{"external_id", "hash", "view", "view_id"}},
	"views.publish": {run: (*Server).viewsPublish, params: []string{"hash", "user_id", "view"}},
	"files.getUploadURLExternal": {
		scope: "files:write", run: (*Server).filesURL, params: []string{"alt_txt", "filename", "length", "snippet_type"},
	},
	"files.completeUploadExternal": {
		scope: "files:write", run: (*Server).filesComplete,
		params: []string{"blocks", "channel_id", "channels", "files", "initial_comment", "thread_ts"},
	},
	"users.info": {
		scope: "users:read", read: true, run: (*Server).usersInfo,
		params: []string{"include_locale", "user"},
	},
}

func (s *Server) authTest(a *app, _ map[string]string) (answer, error) {
	return answer{
		"url": "https://" + strings.ToLower(a.Team) + ".slack.com/", "team": a.TeamName, "user": s.users[a.BotUser].name,
		"team_id": a.Team, "user_id": a.BotUser, "bot_id": a.BotID, "is_enterprise_install": false,
	}, nil
}

// ticket lets its holder open one socket.
type ticket struct {
	app  *app
	made time.Time
}

// ticketLife is how long an address from apps.connections.open works.
const ticketLife = 30 * time.Second

func (s *Server) connectionsOpen(a *app, _ map[string]string) (answer, error) {
	id := hexID(32)
	s.tickets[id] = ticket{app: a, made: s.now()}
	return answer{"url": fmt.Sprintf("ws://%s/link/?ticket=%s&app_id=%s", s.addr, id, a.ID)}, nil
}

func (s *Server) conversationsOpen(a *app, p map[string]string) (answer, error) {
	if id := p["channel"]; id != "" {
		c, err := s.visible(a, id)
		if err != nil {
			return nil, err
		}
		return answer{"no_op": true, "already_open": true, "channel": s.describe(c, p["return_im"] == "true")}, nil
	}
	users := strings.Split(p["users"], ",")
	if p["users"] == "" {
		return nil, refuse("users_list_not_supplied")
	}
	if len(users) > 1 {
		s.t.Errorf("slackfake: conversations.open with several users is not known here")
		return nil, refuse("method_not_supported_for_channel_type")
	}
	u := s.users[users[0]]
	switch {
	case u == nil || u.team != a.Team:
		return nil, refuse("user_not_found")
	case u.bot:
		return nil, refuse("cannot_dm_bot")
	case u.deactivated:
		return nil, refuse("user_disabled")
	}
	_, existed := s.findDirect(a, u)
	c := s.direct(a, u)
	return answer{"no_op": existed, "already_open": existed, "channel": s.describe(c, p["return_im"] == "true")}, nil
}

func (s *Server) describe(c *conversation, whole bool) answer {
	if !whole {
		return answer{"id": c.id}
	}
	return answer{"id": c.id, "created": 1700000000, "is_im": c.im, "is_org_shared": false, "user": c.owner, "is_open": true}
}

func (s *Server) usersInfo(a *app, p map[string]string) (answer, error) {
	u := s.users[p["user"]]
	if u == nil || u.team != a.Team {
		return nil, refuse("user_not_found")
	}
	return answer{"user": answer{
		"id": u.id, "team_id": u.team, "name": u.name, "deleted": u.deactivated, "is_bot": u.bot,
		"real_name": u.name, "profile": answer{"real_name": u.name, "display_name": u.name},
	}}, nil
}
