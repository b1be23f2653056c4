package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Server is how one upstream is reached. Exactly one of Command and URL is set.
type Server struct {
	// Name is how errors and logs speak of the server.
	Name string
	// Command is the program and its arguments. The program is looked up in
	// the PATH of this process.
	Command []string
	// Env is all the child sees besides PATH and HOME.
	Env map[string]string
	// Dir is the working directory of the child; empty means ours.
	Dir string
	// URL is the Streamable HTTP endpoint, http or https.
	URL string
	// Headers go out with each HTTP request. Their values are secrets: they
	// appear in no error, log line or health report.
	Headers map[string]string
	// CallTimeout bounds the silence of one call; 0 means 5 minutes.
	CallTimeout time.Duration
	// MaxConcurrent is how many calls may be in flight; 0 means 64. Further
	// ones wait for as long as their context allows.
	MaxConcurrent int
}

// ownHeaders are set by this client on each request, or, for the idempotency
// keys, would make net/http send a POST a second time (Request.isReplayable).
var ownHeaders = map[string]bool{
	"Accept": true, "Content-Type": true, "Content-Length": true, "Host": true,
	"Last-Event-Id": true, "Mcp-Session-Id": true, "Mcp-Protocol-Version": true,
	"Mcp-Method": true, "Mcp-Name": true, "Connection": true, "Transfer-Encoding": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true,
}

func (s Server) check() error {
	if s.Name == "" {
		return errors.New("upstream without a name")
	}
	if (len(s.Command) > 0) == (s.URL != "") {
		return fmt.Errorf("server %s: give either a command or a url", s.Name)
	}
	if s.CallTimeout < 0 || s.MaxConcurrent < 0 {
		return fmt.Errorf("server %s: time-out and concurrency must not be negative", s.Name)
	}
	if s.URL != "" {
		return s.checkHTTP()
	}
	return s.checkProcess()
}

func (s Server) checkHTTP() error {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("server %s: the url must be http:// or https:// with a host", s.Name)
	}
	for name, value := range s.Headers {
		if ownHeaders[http.CanonicalHeaderKey(name)] {
			return fmt.Errorf("server %s: the header %s cannot be set", s.Name, name)
		}
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("server %s: header %q has a name or value that cannot be sent", s.Name, name)
		}
	}
	return nil
}

func (s Server) checkProcess() error {
	if s.Command[0] == "" {
		return fmt.Errorf("server %s: the command is empty", s.Name)
	}
	for _, arg := range s.Command {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("server %s: the command holds a zero byte", s.Name)
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("server %s: environment variable %q cannot be set", s.Name, name)
		}
	}
	return nil
}

// secrets are the values that must not show in any text about the server.
func (s Server) secrets() []string {
	var all []string
	for _, value := range s.Headers {
		all = append(all, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			all = append(all, token)
		}
	}
	for _, value := range s.Env {
		all = append(all, value)
	}
	return append(all, s.urlSecrets()...)
}

func (s Server) urlSecrets() []string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	var all []string
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
	}
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	return all
}
