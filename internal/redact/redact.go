// Package redact hides secrets in what people and logs are shown. Every
// surface uses the same function. It never touches what runs or what is
// hashed.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// Mask stands where a secret was.
const Mask = "[hidden]"

var (
	// secretName matches names of arguments that hold secrets; counts of
	// tokens, as model parameters have them, are none.
	secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|cookie|bearer` +
		`|(^|[-_.]|[a-z])token$|^token|(^|[-_.])(pwd|pass)$|^pin$`)
	countName = regexp.MustCompile(`(?i)^(max|min|num|n|total|count)([-_]\w+)?[-_]?tokens?$`)
	// secretShape matches values that are secrets whatever they are called:
	// private key blocks, the tokens of well-known services, and JSON web tokens.
	secretShape = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----` +
		`|\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}` +
		`|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}` +
		`|\bxox[a-z]-[\w-]{8,}|\bxapp-[\w-]{8,}` +
		`|\bA(KI|SI)A[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}` +
		`|\b(hf|npm)_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}` +
		`|\b(holm|steer)_(sk|ch)_[\w-]{8,}` +
		`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` +
		`|\b\d{6,}:AA[\w-]{30,}`)
	privateKey     = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	urlCredentials = regexp.MustCompile(`(://)[^/\s:@]*:[^/\s]+@`)
	urlParameter   = regexp.MustCompile(`(?i)([?&](?:[\w.-]*(?:token|secret|passw(?:or)?d|api[-_]?key|access[-_]?key|signature)|sig)=)[^&#\s"']+`)
	authHeader     = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[\w.~+/-]{8,}=*`)
)

// Text hides secrets inside a running text.
func Text(s string) string {
	s = privateKey.ReplaceAllString(s, Mask)
	s = urlCredentials.ReplaceAllString(s, "${1}"+Mask+"@")
	s = urlParameter.ReplaceAllString(s, "${1}"+Mask)
	s = authHeader.ReplaceAllString(s, "${1}"+Mask)
	return secretShape.ReplaceAllString(s, Mask)
}

// JSON hides secrets in a JSON value and keeps everything else: the order of
// keys and the spelling of numbers. What is no JSON, or is nested deeper than
// any call may be, is hidden whole.
func JSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out bytes.Buffer
	if err := value(d, &out, false, 0); err != nil {
		return json.RawMessage(`"` + Mask + `"`)
	}
	if _, err := d.Token(); err != io.EOF {
		return json.RawMessage(`"` + Mask + `"`)
	}
	return out.Bytes()
}

// maxDepth bounds the recursion, well beyond the 64 levels of a call.
const maxDepth = 1000

var errDepth = errors.New("nested too deep")

// value copies one value; hidden tells that it stands under a secret name.
func value(d *json.Decoder, out *bytes.Buffer, hidden bool, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return nested(d, out, t, hidden, depth)
	case string:
		if hidden {
			t = Mask
		}
		return write(out, Text(t))
	case json.Number:
		if hidden {
			return write(out, Mask)
		}
		_, err = out.WriteString(t.String())
		return err
	default:
		_, err = fmt.Fprint(out, jsonWord(t))
		return err
	}
}

func jsonWord(t any) any {
	if t == nil {
		return "null"
	}
	return t
}

func nested(d *json.Decoder, out *bytes.Buffer, open json.Delim, hidden bool, depth int) error {
	out.WriteString(open.String())
	for first := true; d.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		below := hidden
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if err := write(out, Text(name.(string))); err != nil {
				return err
			}
			out.WriteByte(':')
			below = hidden || Secret(name.(string))
		}
		if err := value(d, out, below, depth+1); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	out.WriteString(end.(json.Delim).String())
	return nil
}

// Secret tells whether a name says that its value is a secret.
func Secret(name string) bool {
	return secretName.MatchString(name) && !countName.MatchString(name)
}

func write(out *bytes.Buffer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1)
	return nil
}
