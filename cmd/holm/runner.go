package main

import (
	"context"

	"holm/bot"
	"holm/gateway"
)

// runner lets the bot call tools through the gateway, in the bot's own words.
type runner struct{ *app }

var _ bot.Runner = runner{}

// Tools implements bot.Runner.
func (r runner) Tools(ctx context.Context, agentID, userID string) ([]bot.Tool, error) {
	tools, err := r.gateway.PersonTools(ctx, agentID, userID)
	all := make([]bot.Tool, len(tools))
	for i, t := range tools {
		all[i] = bot.Tool(t)
	}
	return all, err
}

// Call implements bot.Runner.
func (r runner) Call(ctx context.Context, c bot.ToolCall) (bot.ToolAnswer, error) {
	answer, err := r.gateway.CallAsPerson(ctx, gateway.PersonCall(c))
	return bot.ToolAnswer(answer), err
}
