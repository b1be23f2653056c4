package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// absent reports whether raw carries nothing: no bytes, or null.
func absent(raw json.RawMessage) bool {
	text := bytes.TrimSpace(raw)
	return len(text) == 0 || string(text) == "null"
}

// The readers below take apart JSON that checkJSON accepted, by exact names;
// encoding/json would also take a name in another case for a field's.

// readObject calls set for each member of an object that is not null.
func readObject(field, value string, set func(m member) error) error {
	if value[0] != '{' {
		return invalid(field, "must be an object")
	}
	for _, m := range members(value) {
		if m.value == "null" {
			continue
		}
		if err := set(m); err != nil {
			return err
		}
	}
	return nil
}

// readList calls add for each element of an array.
func readList(field, value string, add func(field, value string) error) error {
	if value[0] != '[' {
		return invalid(field, "must be a list")
	}
	cursor := inside(value)
	for i := 0; ; i++ {
		element, ok := cursor.element()
		if !ok {
			return nil
		}
		if err := add(fmt.Sprintf("%s[%d]", field, i), element); err != nil {
			return err
		}
	}
}

func readText[T ~string](field, value string, into *T) error {
	if value[0] != '"' {
		return invalid(field, "must be a text")
	}
	*into = T(unquote(value))
	return nil
}

func readBool(field, value string, into *bool) error {
	if value != "true" && value != "false" {
		return invalid(field, "must be true or false")
	}
	*into = value == "true"
	return nil
}

// readCount reads a whole number from 1 on: zero would be taken for "not set".
func readCount(field, value string, into *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || strings.HasPrefix(value, "+") {
		return invalid(field, "must be a whole number from 1 on")
	}
	*into = n
	return nil
}

func unknownField(field, name string) error {
	return invalid(field+"."+clip(name), "unknown field")
}

func readGrants(field, value string, into *[]Grant) error {
	return readList(field, value, func(field, value string) error {
		var g Grant
		err := readObject(field, value, func(m member) error {
			switch m.name {
			case "type":
				return readText(field+".type", m.value, &g.Type)
			case "value":
				return readText(field+".value", m.value, &g.Value)
			}
			return unknownField(field, m.name)
		})
		*into = append(*into, g)
		return err
	})
}
