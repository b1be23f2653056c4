package slack

import (
	"cmp"

	"holm/bot"
)

// interaction is what Holm reads of an interactive payload
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
type interaction struct {
	Type string `json:"type"`
	Team *struct {
		ID           string `json:"id"`
		EnterpriseID string `json:"enterprise_id"`
	} `json:"team"`
	Enterprise *struct {
		ID string `json:"id"`
	} `json:"enterprise"`
	User struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Username string `json:"username"`
		TeamID   string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		ChannelID string `json:"channel_id"`
		MessageTS string `json:"message_ts"`
		ViewID    string `json:"view_id"`
	} `json:"container"`
	TriggerID string `json:"trigger_id"`
	View      struct {
		CallbackID      string `json:"callback_id"`
		PrivateMetadata string `json:"private_metadata"`
		State           struct {
			Values map[string]map[string]field `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Actions []struct {
		Type     string `json:"type"`
		ActionID string `json:"action_id"`
		ActionTS string `json:"action_ts"`
		Value    string `json:"value"`
	} `json:"actions"`
}

// field is what a person filled in or chose.
type field struct {
	Value    string `json:"value"`
	Selected struct {
		Value string `json:"value"`
	} `json:"selected_option"`
}

// team is the workspace of the person: their own where Slack tells it, which
// differs from the payload's in shared channels. That of the payload counts only
// where nobody from elsewhere can act: for somebody of the payload's own
// organisation (E…), and in direct chats. Otherwise it is empty.
func (p interaction) team() string {
	switch {
	case isTeam(p.User.TeamID):
		return p.User.TeamID
	case p.Team == nil:
		return ""
	case p.User.TeamID == "" && direct(p.message().Chat):
		return p.Team.ID
	case p.User.TeamID != "" && p.User.TeamID == p.organisation():
		return p.Team.ID
	}
	return ""
}

// organisation is the one that the payload's workspace belongs to, if any.
func (p interaction) organisation() string {
	if p.Enterprise != nil && p.Enterprise.ID != "" {
		return p.Enterprise.ID
	}
	return p.Team.EnterpriseID
}

func (p interaction) message() bot.MessageRef {
	ref := bot.MessageRef{Chat: p.Container.ChannelID, Message: p.Container.MessageTS}
	if ref.Chat == "" {
		ref.Chat = p.Channel.ID
	}
	return ref
}

// callback is what Holm reads of an Events API payload.
type callback struct {
	TeamID         string `json:"team_id"`
	IsExtShared    bool   `json:"is_ext_shared_channel"`
	Authorizations []struct {
		UserID string `json:"user_id"`
		IsBot  bool   `json:"is_bot"`
	} `json:"authorizations"`
	Event struct {
		Type        string     `json:"type"`
		Subtype     string     `json:"subtype"`
		Channel     string     `json:"channel"`
		ChannelType string     `json:"channel_type"`
		User        string     `json:"user"`
		UserTeam    string     `json:"user_team"`
		SourceTeam  string     `json:"source_team"`
		Team        string     `json:"team"`
		BotID       string     `json:"bot_id"`
		Hidden      bool       `json:"hidden"`
		Text        string     `json:"text"`
		TS          string     `json:"ts"`
		ThreadTS    string     `json:"thread_ts"`
		Tab         string     `json:"tab"`
		Files       []struct{} `json:"files"`
	} `json:"event"`
}

// team is the workspace of the person, empty when the payload leaves it open:
// in a channel that other workspaces share, the payload's own proves nothing.
func (c callback) team() string {
	if team := cmp.Or(c.Event.UserTeam, c.Event.SourceTeam, c.Event.Team); team != "" {
		return team
	}
	if c.IsExtShared {
		return ""
	}
	return c.TeamID
}

// command is what Holm reads of a slash command.
type command struct {
	TeamID    string `json:"team_id"`
	UserID    string `json:"user_id"`
	UserName  string `json:"user_name"`
	ChannelID string `json:"channel_id"`
	Text      string `json:"text"`
	TriggerID string `json:"trigger_id"`
}
