package steerholm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// keyringService is the service under which Steerholm stores hashes in a keyring,
// with the agent's name as the user.
const keyringService = "steerholm"

// PlainKeyring reads the file in which Python's keyring keeps secrets on machines
// that have no keyring of their own, usually
// ~/.local/share/python_keyring/keyring_pass.cfg (the PlaintextKeyring of
// github.com/jaraco/keyrings.alt: file_base.py, escape.py). It keeps names in lower
// case.
func PlainKeyring(text string) Keyring {
	entries := plainEntries(text)
	return func(agent string) (string, error) {
		encoded, ok := entries[strings.ToLower(escapePlain(agent))]
		if !ok {
			return "", nil
		}
		hash, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return "", errors.New("the entry is no base64 text")
		}
		return string(hash), nil
	}
}

// plainEntries reads the service's section: NAME = on one line, the base64 text on
// the indented lines behind it.
func plainEntries(text string) map[string]string {
	entries, inside, name := map[string]string{}, false, ""
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		indented := line[0] == ' ' || line[0] == '\t'
		switch {
		case word == "" || !indented && (word[0] == '#' || word[0] == ';'):
		case !indented && word[0] == '[':
			inside, name = word == "["+keyringService+"]", ""
		case indented && inside && name != "":
			entries[name] += word
		case !indented:
			key, value, _ := strings.Cut(word, "=")
			if name = strings.ToLower(strings.TrimSpace(key)); inside {
				entries[name] = strings.TrimSpace(value)
			}
		}
	}
	return entries
}

// escapePlain writes every byte that is no letter or digit as _ and two digits.
func escapePlain(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isLetter(c) || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02X", c)
		}
	}
	return b.String()
}
