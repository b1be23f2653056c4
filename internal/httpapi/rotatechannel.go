package httpapi

import (
	"context"
	"encoding/hex"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
)

type rotateChannelInput struct {
	ChannelPath
	Body ChannelSecrets
}

// ChannelSecrets are what is new of a channel; all that is not named stays.
type ChannelSecrets struct {
	Mode    *string           `json:"mode,omitempty" doc:"Of one of Holm's own: how events arrive from now on."`
	Secrets map[string]string `json:"secrets,omitempty" doc:"Of one of Holm's own, by the names of create-channel. An empty one is taken away."`
}

func (s *server) rotateChannel(ctx context.Context, in *rotateChannelInput) (*oneOf[ChannelAdded], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	rotate := s.rotateExternal
	if in.Body.Mode != nil || len(in.Body.Secrets) > 0 {
		rotate = s.rotateOwn
	}
	out, err := rotate(ctx, in)
	if fault.Is(err, "not_found") {
		err = s.whyMissing(ctx, in.Namespace, err)
	}
	return &oneOf[ChannelAdded]{Body: out}, err
}

func (s *server) rotateExternal(ctx context.Context, in *rotateChannelInput) (out ChannelAdded, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		token, err := identity.RotateChannel(ctx, tx, in.Namespace, adminActor)
		if err != nil {
			return err
		}
		now, err := identity.GetChannel(ctx, tx, in.Namespace)
		out = ChannelAdded{Namespace: in.Namespace, AgentID: now.AgentID, Token: token, SigningSecret: hex.EncodeToString(now.SigningSecret(s.Secret))}
		return err
	})
	return out, err
}

func (s *server) rotateOwn(ctx context.Context, in *rotateChannelInput) (out ChannelAdded, err error) {
	change := identity.OwnChannelChange{Namespace: in.Namespace, Mode: in.Body.Mode, Secrets: in.Body.Secrets}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RotateOwnChannel(ctx, tx, s.Secret, change, func(c identity.OwnChannel) error {
			out = ChannelAdded{Namespace: c.Namespace, AgentID: c.AgentID}
			if s.CheckChannel == nil {
				return fault.New(fault.Unavailable, "unavailable", "this process opens no channels")
			}
			return s.CheckChannel(c)
		}, adminActor)
	}, identity.ChannelsChanged)
	if err == nil && s.OpenChannels != nil {
		if err := s.OpenChannels(ctx); err != nil {
			s.Log.Warn("stored channels could not be read", "error", err) // soon they are
		}
	}
	return out, err
}
