package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"
)

// strictJSON is how bodies are read and written: one value, and no key twice
// in an object, so that no two readers of a body understand it differently.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, into any) error {
		if err := checkKeys(data); err != nil {
			return err
		}
		return json.Unmarshal(data, into)
	},
}

var (
	errTwice = errors.New("an object has a key twice")
	errDeep  = errors.New("is nested too deeply")
)

// maxDepth is deeper than any body of the interface.
const maxDepth = 64

// isOwn tells whether a message is one of this file's, which quote nothing.
func isOwn(message string) bool {
	return message == errTwice.Error() || message == errDeep.Error()
}

// checkKeys refuses repeated keys; what is no JSON at all is left to the
// decoder.
func checkKeys(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var open []*object
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		switch delim, _ := token.(json.Delim); {
		case delim == '}' || delim == ']':
			open = open[:len(open)-1]
			continue
		case len(open) > 0 && open[len(open)-1].wantsKey():
			if !open[len(open)-1].add(token.(string)) {
				return errTwice
			}
			continue
		case delim == '{':
			open = append(open, &object{keys: map[string]bool{}})
		case delim == '[':
			open = append(open, &object{})
		}
		if len(open) > maxDepth {
			return errDeep
		}
	}
}

// object is an open object, or an array when keys is nil.
type object struct {
	keys  map[string]bool
	value bool // the value of the last key is still to come
}

// wantsKey tells whether the next token is a key.
func (o *object) wantsKey() bool {
	if o.keys == nil {
		return false
	}
	if o.value {
		o.value = false
		return false
	}
	return true
}

func (o *object) add(key string) (first bool) {
	first = !o.keys[key]
	o.keys[key], o.value = true, true
	return first
}
