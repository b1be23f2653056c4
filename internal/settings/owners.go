package settings

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"holm/internal/identity"
)

// Owners is a list of identities. Its text form is
// "telegram:123456,slack:T01/U02"; in holm.yaml it may be a list as well.
type Owners []identity.Address

// identityForm is how the ids of the platforms look that Holm speaks itself.
var identityForm = map[string]struct {
	pattern *regexp.Regexp
	example string
}{
	"telegram": {regexp.MustCompile(`^[1-9][0-9]{0,18}$`), "telegram:123456, the numeric user id"},
	"discord":  {regexp.MustCompile(`^[1-9][0-9]{0,19}$`), "discord:80351110224678912, the numeric user id"},
	"slack":    {regexp.MustCompile(`^[A-Z0-9]+/[A-Z0-9]+$`), "slack:T01/U02, team and user id"},
}

// UnmarshalText reads the text form.
func (o *Owners) UnmarshalText(text []byte) error {
	*o = nil
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		address, err := parseOwner(part)
		if err != nil {
			return err
		}
		*o = append(*o, address)
	}
	return nil
}

// UnmarshalYAML reads the text form or a list of texts.
func (o *Owners) UnmarshalYAML(node *yaml.Node) error {
	var list []string
	if node.Kind == yaml.ScalarNode {
		return o.UnmarshalText([]byte(node.Value))
	}
	if err := node.Decode(&list); err != nil {
		return unusable("owners", "want a list of identities")
	}
	return o.UnmarshalText([]byte(strings.Join(list, ",")))
}

func parseOwner(text string) (identity.Address, error) {
	channel, id, ok := strings.Cut(text, ":")
	if !ok || !identity.ValidNamespace(channel) || id == "" {
		return identity.Address{}, unusable("HOLM_OWNERS", "%q is not an identity; want e.g. telegram:123456", text)
	}
	if form, known := identityForm[channel]; known && !form.pattern.MatchString(id) {
		return identity.Address{}, unusable("HOLM_OWNERS", "%q is not an identity of %s; want e.g. %s", text, channel, form.example)
	}
	return identity.Address{Channel: channel, Identity: id}, nil
}
