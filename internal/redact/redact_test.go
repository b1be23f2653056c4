package redact_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"holm/internal/redact"
)

// tail stands for the random part of a token; it is put together here so that
// no scanner takes this file for a leak.
const tail = "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"

var tokens = map[string]string{
	"openai":           "sk-proj-" + tail,
	"anthropic":        "sk-ant-api03-" + tail + "-AA",
	"stripe":           "sk_live_" + tail,
	"stripe, limited":  "rk_test_" + tail,
	"github":           "ghp_" + tail,
	"github app":       "ghs_" + tail,
	"github, fine":     "github_pat_" + tail + "_" + tail,
	"gitlab":           "glpat-" + tail[:20],
	"slack bot":        "xoxb-123456789012-" + tail,
	"slack app":        "xapp-1-A012-" + tail,
	"aws":              "AKIA" + "QWERTYUIOP123456",
	"aws, temporary":   "ASIA" + "QWERTYUIOP123456",
	"google":           "AIza" + tail + "abc",
	"google oauth":     "ya29." + tail,
	"hugging face":     "hf_" + tail + "ab",
	"npm":              "npm_" + tail + "abcd",
	"pypi":             "pypi-" + tail + "-" + tail,
	"sendgrid":         "SG." + tail[:22] + "." + tail,
	"telegram":         "123456789:AA" + tail,
	"holm":             "holm_sk_abcdefgh_" + tail[:10] + "-_-" + tail[10:20],
	"holm channel":     "holm_ch_" + tail[:10] + "-" + tail,
	"steer":            "steer_sk_" + tail,
	"json web token":   "eyJhbGciOiJI.eyJzdWIiOiIx." + tail,
	"private key":      "-----BEGIN RSA PRIVATE KEY-----\n" + tail + "\n-----END RSA PRIVATE KEY-----",
	"cut private key":  "-----BEGIN PRIVATE KEY-----\n" + tail,
	"url password":     "postgres://u:" + tail + "@db:5432/x",
	"odd url password": "https://u:a@b:" + tail + "@host/path",
	"url parameter":    "https://host/x?access_token=" + tail + "&a=1",
	"signed url":       "https://host/x?a=1&X-Amz-Signature=" + tail,
	"bearer header":    "curl -H 'Authorization: Bearer " + tail + "'",
	"basic header":     "Authorization: basic " + tail + "==",
}

func TestTokensAreHiddenWhereverTheyStand(t *testing.T) {
	for name, token := range tokens {
		// The last part of a token must not be left standing either.
		leaks := func(s string) bool {
			return strings.Contains(s, tail[:8]) || strings.Contains(s, tail[12:20]) || strings.Contains(s, "QWERTY")
		}
		for _, text := range []string{token, "before " + token + " after", "x=" + token + ",", `"` + token + `"`} {
			if got := redact.Text(text); leaks(got) || !strings.Contains(got, redact.Mask) {
				t.Errorf("%s: %q is shown as %q", name, text, got)
			}
		}
		for _, v := range []any{token, []any{1, token}, map[string]any{"a": map[string]any{"b": []any{token}}}, map[string]any{token: 1}} {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(redact.JSON(raw)); leaks(got) || !json.Valid([]byte(got)) {
				t.Errorf("%s: %s is shown as %s", name, raw, got)
			}
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{
		"", "git push origin main", "https://host:8080/path?page=2&sort=asc#token", "ssh://git@github.com/x", "mail me@host:8080",
		"task-force sk-1 pk_2", "the bearer of news", "basic idea", "AKIA", "eyJ.a.b", "10:30 AA", "a@b.c", "-----BEGIN CERTIFICATE-----",
	} {
		if got := redact.Text(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "Password": true, "db_passwd": true, "passphrase": true, "pass": true, "db_pass": true, "pwd": true, "db-pwd": true,
		"client_secret": true, "apiKey": true, "api-key": true, "API_KEY": true, "accessKeyId": true, "private_key": true,
		"credentials": true, "Authorization": true, "Set-Cookie": true, "bearer": true, "pin": true,
		"token": true, "tokens": true, "access_token": true, "authToken": true, "x.token": true,
		// These begin like counts and are none.
		"npm_token": true, "notion_token": true, "netlify_token": true, "ngrok_authtoken": true, "maxmind_token": true, "minio_token": true,

		"max_tokens": false, "maxTokens": false, "max_output_tokens": false, "n_tokens": false, "num_tokens": false,
		"total_tokens": false, "min-tokens": false, "max_token": false, "count_tokens": false,
		"path": false, "bypass": false, "compass": false, "pinned": false, "spin": false, "key": false, "message": false, "": false,
	} {
		if got := redact.Secret(name); got != want {
			t.Errorf("%q is a secret: %v, want %v", name, got, want)
		}
	}
}

func TestJSONKeepsEverythingElse(t *testing.T) {
	for raw, want := range map[string]string{
		`{"z":1,"a":2}`:               `{"z":1,"a":2}`,
		` { "a" : [ ] , "b" : { } } `: `{"a":[],"b":{}}`,
		`{"n":9007199254740993,"e":1e999999,"f":1.50,"m":-0}`: `{"n":9007199254740993,"e":1e999999,"f":1.50,"m":-0}`,
		`{"t":true,"f":false,"n":null}`:                       `{"t":true,"f":false,"n":null}`,
		`"<b>&"`:                                              `"<b>&"`,
		`"\u0000\ud83d\ude00"`:                                `"\u0000😀"`,
		`{"max_tokens":100,"tokens":["a"]}`:                   `{"max_tokens":100,"tokens":["[hidden]"]}`,
		`{"password":"x","user":"y"}`:                         `{"password":"[hidden]","user":"y"}`,
		`{"secret":{"a":[1,"x",{"b":2}]}}`:                    `{"secret":{"a":["[hidden]","[hidden]",{"b":"[hidden]"}]}}`,
		`{"secrets":[],"pin":1234,"cookie":null}`:             `{"secrets":[],"pin":"[hidden]","cookie":null}`,
		`[1,[2,[3]]]`:                                         `[1,[2,[3]]]`,
		`{"a":1,"a":2}`:                                       `{"a":1,"a":2}`,

		``: `"[hidden]"`, `{`: `"[hidden]"`, `{"a":}`: `"[hidden]"`, `nonsense`: `"[hidden]"`, `{} {}`: `"[hidden]"`, `[1]]`: `"[hidden]"`,
	} {
		if got := string(redact.JSON(json.RawMessage(raw))); got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}

func TestDeepNestingIsHidden(t *testing.T) {
	const levels = 1 << 20
	deep := bytes.Repeat([]byte("["), levels)
	deep = append(deep, bytes.Repeat([]byte("]"), levels)...)
	if got := string(redact.JSON(deep)); got != `"[hidden]"` {
		t.Errorf("%d bytes are shown", len(got))
	}
}

// Whatever comes in, JSON goes out, and a value under a secret name stays in.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"password":"x"}`, `[1,"a",null,{"b":{}}]`, `{"a":"\ud800"}`, `x`, `{"token":[{"n":1e9}]}`, `1 2`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := redact.JSON(raw)
		if !json.Valid(got) {
			t.Errorf("%q is shown as %q, which is no JSON", raw, got)
		}
		if again := redact.JSON(got); !bytes.Equal(again, got) {
			t.Errorf("%q is shown as %q, and that as %q", raw, got, again)
		}
		if !json.Valid(raw) {
			return
		}
		under := redact.JSON([]byte(`{"password":` + string(raw) + `}`))
		if bytes.ContainsAny(bytes.ReplaceAll(onlyValues(under), []byte(redact.Mask), nil), "0123456789") {
			t.Errorf("%q is shown under a secret name as %q", raw, under)
		}
	})
}

// onlyValues drops the names of members.
func onlyValues(raw []byte) (values []byte) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch t := v.(type) {
		case map[string]any:
			for _, below := range t {
				walk(below)
			}
		case []any:
			for _, below := range t {
				walk(below)
			}
		case string:
			values = append(values, t...)
		case json.Number:
			values = append(values, t...)
		}
	}
	walk(v)
	return values
}
