package telegram

import (
	"io"
	"net/http"
	"time"
)

// maxBody bounds what is read of one answer. A hundred updates of the largest
// messages are a few megabytes.
const maxBody = 64 << 20

// httpClient returns a copy of given, or a client of our own. It has no time-out
// since each call has its own deadline, and follows no redirects: the address
// of a call holds the token.
func httpClient(given *http.Client) *http.Client {
	client := &http.Client{}
	if given != nil {
		*client = *given
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 16
		client.Transport = transport
	}
	client.Timeout = 0
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// callTime is how long any call but a long poll may take.
const callTime = 30 * time.Second

// boundedClient gives the client library bodies of bounded size: it reads them
// whole.
type boundedClient struct{ *http.Client }

func (c boundedClient) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxBody), resp.Body}
	return resp, nil
}
