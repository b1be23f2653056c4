package steerholm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"holm/policy"
)

// decode reads one JSON object into a struct, as strictly as Steerholm's models do
// or more: no key twice, no field that the struct does not have (it may narrow
// something), names in their very case, null only for pointers, and every field
// with the tag need. Its errors tell places and names, no values.
func decode(text []byte, into any) error {
	var invalid *policy.InvalidError
	if _, err := policy.ParseArgs(text); errors.As(err, &invalid) {
		return fmt.Errorf("%s (byte %d)", invalid.Message, invalid.Position)
	} else if err != nil {
		return err
	}
	var found map[string]json.RawMessage
	if err := json.Unmarshal(text, &found); err != nil || found == nil {
		return errors.New("it is no JSON object")
	}
	if err := checkFields(found, reflect.TypeOf(into).Elem()); err != nil {
		return err
	}
	err := json.Unmarshal(text, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("field %q has another type", wrong.Field)
	}
	return err
}

func checkFields(found map[string]json.RawMessage, want reflect.Type) error {
	known := map[string]bool{}
	for i := range want.NumField() {
		field := want.Field(i)
		name := field.Tag.Get("json")
		known[name] = true
		value, ok := found[name]
		if _, needed := field.Tag.Lookup("need"); needed && !ok {
			return fmt.Errorf("field %q is missing", name)
		}
		if string(value) == "null" && field.Type.Kind() != reflect.Pointer {
			return fmt.Errorf("field %q is null", name)
		}
	}
	for _, name := range sortedNames(found) {
		if !known[name] {
			return fmt.Errorf("field %q is not known", name)
		}
	}
	return nil
}
