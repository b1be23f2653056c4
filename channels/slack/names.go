package slack

import (
	"cmp"
	"context"

	"holm/bot"
)

// NameOf asks Slack what a person calls themselves, once for each process.
// Without the scope users:read nobody has a name, which costs nothing else.
func (c *Channel) NameOf(ctx context.Context, identity string) string {
	if name, ok := c.names.get(identity); ok {
		return name
	}
	user, err := c.user(ctx, identity)
	if err != nil {
		return ""
	}
	who, err := c.api.GetUserInfoContext(ctx, user)
	switch {
	case code(err) != "":
		return c.names.put(identity, "") // asking again would not help
	case err != nil || who == nil:
		return ""
	}
	return c.names.put(identity, bot.VisibleLine(cmp.Or(who.Profile.DisplayName, who.RealName, who.Name)))
}
