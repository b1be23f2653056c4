package telegram

import (
	"context"
	"regexp"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"holm/bot"
)

const (
	maxMenu        = 100 // commands
	maxDescription = 256 // characters
)

// menuName is what Telegram takes as a command.
var menuName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// setMenu puts the commands into the menu of direct chats, once in a process.
// Everything works without the menu, so a failure is no more than told.
func (c *Channel) setMenu(ctx context.Context) {
	var commands []models.BotCommand
	for _, entry := range c.menu {
		if menuName.MatchString(entry.Name) && entry.Help != "" && len(commands) < maxMenu {
			commands = append(commands, models.BotCommand{Command: entry.Name, Description: cutTo(bot.VisibleLine(entry.Help), maxDescription)})
		}
	}
	if len(commands) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := c.client.SetMyCommands(ctx, &tg.SetMyCommandsParams{Commands: commands, Scope: &models.BotCommandScopeAllPrivateChats{}})
	if err != nil {
		c.log.Warn("telegram's menu of commands could not be set", "error", c.redact(err))
	}
}
