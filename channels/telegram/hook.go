package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// hookCheck is how often a process looks whether Telegram still calls us.
const hookCheck = time.Minute

// hookConnections is how many calls Telegram may make at once: storing an
// update takes one short transaction.
const hookConnections = 20

// keepHook has Telegram call us, and watches that it does, until ctx ends. Any
// number of processes set the same address and secret, which does no harm. An
// address that disappears later is not set again: another Holm, or the
// operator, has changed the mode meanwhile.
func (r *receiver) keepHook(ctx context.Context) error {
	if err := r.setHook(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := r.checkHook(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(r.pauses.hookCheck)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

// setHook sets the webhook once in a Run. Pending updates are kept.
func (r *receiver) setHook(ctx context.Context) error {
	if r.hooked {
		return nil
	}
	info, err := r.hookInfo(ctx)
	if err != nil {
		return err
	}
	if info.URL != "" && info.URL != r.webhook {
		r.log.Warn("the bot's webhook moves here", "from_host", hostOf(info.URL))
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = r.client.SetWebhook(ctx, &tg.SetWebhookParams{
		URL: r.webhook, SecretToken: r.secret, AllowedUpdates: wanted, MaxConnections: hookConnections,
	})
	if err != nil {
		return r.explain("set the webhook", err)
	}
	r.hooked = true
	return nil
}

// checkHook shows what Telegram knows of its calls to us.
func (r *receiver) checkHook(ctx context.Context) error {
	info, err := r.hookInfo(ctx)
	if err != nil {
		return err
	}
	switch {
	case info.URL != r.webhook:
		r.setFailing(errors.New("telegram calls another address now; restart Holm to take the webhook back"), false)
	case info.LastErrorDate != 0 && time.Since(time.Unix(int64(info.LastErrorDate), 0)) < 2*hookCheck && info.PendingUpdateCount > 0:
		r.setFailing(fmt.Errorf("telegram could not deliver %d updates here: %s", info.PendingUpdateCount, info.LastErrorMessage), false)
	default:
		r.setHealthy()
		r.trouble.Reset()
	}
	return nil
}

func (r *receiver) hookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := r.client.GetWebhookInfo(ctx)
	if err != nil {
		return nil, r.explain("read the webhook", err)
	}
	return info, nil
}

// dropOwnHook removes the webhook that a Holm of the other mode has left. A
// foreign one is not taken away silently.
func (r *receiver) dropOwnHook(ctx context.Context) error {
	info, err := r.hookInfo(ctx)
	if err != nil || info.URL == "" {
		return err
	}
	if r.webhook == "" || pathOf(info.URL) != pathOf(r.webhook) {
		return fmt.Errorf("a webhook of somebody else at %s is set, so polling gets nothing: delete it, or use another bot", hostOf(info.URL))
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := r.client.DeleteWebhook(ctx, &tg.DeleteWebhookParams{}); err != nil {
		return r.explain("delete the webhook", err)
	}
	r.log.Info("the bot's webhook was deleted, updates are polled from now on")
	return nil
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Host
}
