package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
	"holm/internal/linking"
)

func (s *server) registerUsers() {
	handle(s, huma.Operation{
		OperationID: "show-user", Method: http.MethodGet, Path: "/api/users/{userId}",
		Summary: "Show a person with identities, roles and merges", Tags: []string{"people"},
	}, s.showUser)
	handle(s, huma.Operation{
		OperationID: "merge-user", Method: http.MethodPost, Path: "/api/users/{userId}/merge",
		Summary: "Make a user the same person as another, who lives on", Tags: []string{"people"},
		Description: "With each agent the person has the highest role that one of the two had; requests, approvals, grants, circles and sessions of both are theirs. " +
			"Both are told, and may undo it within a day.",
	}, s.mergeUser)
	handle(s, huma.Operation{
		OperationID: "undo-merge", Method: http.MethodDelete, Path: "/api/merges/{number}",
		Summary: "Undo a merge: each user is as before", Tags: []string{"people"},
	}, s.undoMerge)
	handle(s, huma.Operation{
		OperationID: "add-identity", Method: http.MethodPut, Path: "/api/users/{userId}/identities/{identity}", DefaultStatus: http.StatusNoContent,
		Summary: "Let whoever has an identity be this user", Tags: []string{"people"},
	}, s.addIdentity)
	handle(s, huma.Operation{
		OperationID: "remove-identity", Method: http.MethodDelete, Path: "/api/users/{userId}/identities/{identity}", DefaultStatus: http.StatusNoContent,
		Summary: "Take an identity from a user", Tags: []string{"people"},
		Description: "409 came_by_merge: it belongs to a merged user, undo the merge. 409 last_owner: nobody could decide for an agent any more.",
	}, s.removeIdentity)
}

// UserPath names a person.
type UserPath struct {
	UserID string `path:"userId" doc:"A user's id, or percent-encoded an identity such as telegram:123456."`
}

func (s *server) showUser(ctx context.Context, in *UserPath) (*oneOf[identity.Profile], error) {
	profile, err := s.person(ctx, in.UserID)
	return &oneOf[identity.Profile]{Body: profile}, err
}

// person finds whom the operator names.
func (s *server) person(ctx context.Context, name string) (identity.Profile, error) {
	if err := operatorOnly(ctx); err != nil {
		return identity.Profile{}, err
	}
	return identity.GetProfile(ctx, s.Pool, name)
}

type mergeUserInput struct {
	UserPath
	Body struct {
		Into string `json:"into" doc:"Who lives on: a user's id or an identity."`
	}
}

func (s *server) mergeUser(ctx context.Context, in *mergeUserInput) (*oneOf[identity.Merge], error) {
	source, err := s.person(ctx, in.UserID)
	if err != nil {
		return nil, err
	}
	target, err := s.person(ctx, in.Body.Into)
	if err != nil {
		return nil, err
	}
	merge, err := linking.New(s.Approvals).Merge(ctx, source.ID, target.ID, "", adminActor)
	return &oneOf[identity.Merge]{Body: merge}, err
}

type undoMergeInput struct {
	Number int64 `path:"number" minimum:"1"`
}

func (s *server) undoMerge(ctx context.Context, in *undoMergeInput) (*oneOf[identity.Merge], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	merge, err := linking.New(s.Approvals).Undo(ctx, in.Number, adminActor)
	return &oneOf[identity.Merge]{Body: merge}, err
}

// IdentityPath names an identity of a person.
type IdentityPath struct {
	UserPath
	Identity string `path:"identity" doc:"Percent-encoded." example:"telegram%3A123456"`
}

func (s *server) addIdentity(ctx context.Context, in *IdentityPath) (*nothing, error) {
	person, address, err := s.identityOf(ctx, in)
	if err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return linking.New(s.Approvals).AddIdentity(ctx, tx, person.ID, address, "", adminActor)
	})
}

type removeIdentityInput struct {
	IdentityPath
	Force bool `query:"force" doc:"Also when no owner of an agent could be asked any more."`
}

func (s *server) removeIdentity(ctx context.Context, in *removeIdentityInput) (*nothing, error) {
	person, address, err := s.identityOf(ctx, &in.IdentityPath)
	if err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RemoveIdentity(ctx, tx, person.ID, address, in.Force, adminActor)
	})
}

func (s *server) identityOf(ctx context.Context, in *IdentityPath) (person identity.Profile, a identity.Address, err error) {
	if person, err = s.person(ctx, in.UserID); err != nil {
		return person, a, err
	}
	a, err = identity.ParseAddress(in.Identity)
	return person, a, err
}
