package webhook

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// encodeKey gives a key the form in which receivers' libraries take it.
func encodeKey(key []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

// sign sets the headers that prove a body to be Holm's and fresh. The id stays
// the same when a delivery is repeated.
func sign(h http.Header, key []byte, id string, at time.Time, body []byte) error {
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return err
	}
	signature, err := signer.Sign(id, at, body)
	if err != nil {
		return err
	}
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}
