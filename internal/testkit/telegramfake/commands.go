package telegramfake

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// BotCommand is a line of the command menu.
type BotCommand struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// setMyCommands replaces the menu; at most 100 commands, #setmycommands.
func (s *Server) setMyCommands(c *request) (any, error) {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(c.values["commands"]), &raw) != nil {
		return nil, badRequest("can't parse commands: Expected an Array of BotCommand")
	}
	if len(raw) > 100 {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	var all []BotCommand
	for _, one := range raw {
		s.checkFields("BotCommand", one)
		var command BotCommand
		switch {
		case json.Unmarshal(one, &command) != nil:
			return nil, badRequest("can't parse BotCommand: BotCommand must be an Object")
		case !commandForm.MatchString(command.Command):
			return nil, badRequest("BOT_COMMAND_INVALID")
		case command.Description == "" || utf8.RuneCountInString(command.Description) > 256:
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
		all = append(all, command)
	}
	scope, err := s.scope(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands[scope] = all
	s.touchLocked()
	return true, nil
}

func (s *Server) getMyCommands(c *request) (any, error) {
	scope, err := s.scope(c)
	if err != nil {
		return nil, err
	}
	return s.Commands(scope), nil
}

// scope reads the kind of a BotCommandScope; scopes of single chats are not played.
func (s *Server) scope(c *request) (string, error) {
	raw := c.values["scope"]
	if raw == "" {
		return "default", nil
	}
	s.checkFields("BotCommandScope", json.RawMessage(raw))
	var scope struct{ Type string }
	if json.Unmarshal([]byte(raw), &scope) != nil || scope.Type == "" {
		return "", badRequest("can't parse BotCommandScope: BotCommandScope must be an Object")
	}
	if !isOneOf(scope.Type, "default all_private_chats all_group_chats all_chat_administrators") {
		s.t.Errorf("telegramfake: the scope %s is not played by this fake", raw)
	}
	return scope.Type, nil
}

// Commands is the menu that the bot has set for a kind of scope, e.g. "default".
func (s *Server) Commands(scope string) []BotCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]BotCommand{}, s.commands[scope]...)
}
