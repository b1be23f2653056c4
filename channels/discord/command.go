package discord

import (
	"context"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

// The command /holm and its one option, all that is said.
const (
	commandName = "holm"
	optionName  = "say"
)

// register makes /holm known to Discord, once a process; posting a command that
// exists replaces it. Without it everything works in the direct chat.
func (c *Channel) register(ctx context.Context, app string) {
	if !snowflake.MatchString(app) {
		return
	}
	c.commanded.Do(func() {
		err := c.do(ctx, call{
			doing: "register /" + commandName, method: http.MethodPost, path: "/applications/" + app + "/commands", route: "commands", urgent: true,
			body: discordgo.ApplicationCommand{
				Name: commandName, Type: discordgo.ChatApplicationCommand, Description: "Say something to Holm, e.g. help; the answer is a direct message",
				Options: []*discordgo.ApplicationCommandOption{{
					Type: discordgo.ApplicationCommandOptionString, Name: optionName, Description: "help, pending, approve N, reject N reason …", Required: true,
				}},
			},
		}, nil)
		if err != nil && ctx.Err() == nil {
			c.log.Warn("the command /"+commandName+" could not be registered; direct messages work without", "error", err)
		}
	})
}
