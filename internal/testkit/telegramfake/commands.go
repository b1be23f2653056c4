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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = all
	s.touchLocked()
	return true, nil
}

func (s *Server) getMyCommands(*request) (any, error) { return s.Commands(), nil }

// Commands is the menu that the bot has set.
func (s *Server) Commands() []BotCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]BotCommand{}, s.commands...)
}
