package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"holm/internal/fault"
)

func TestAFaultIsFoundInAChain(t *testing.T) {
	inner := fault.New(fault.Gone, "expired", "request %d is over", 7)
	chain := fmt.Errorf("decide: %w", inner)
	if e, ok := fault.As(chain); !ok || e != inner || e.Kind != fault.Gone || e.Error() != "request 7 is over" {
		t.Errorf("found %v, %v", e, ok)
	}
	if !fault.Is(chain, "expired") || fault.Is(chain, "other") {
		t.Error("the code is not the one it was made with")
	}
	for _, err := range []error{nil, io.EOF, fmt.Errorf("read: %w", io.EOF)} {
		if e, ok := fault.As(err); ok || e != nil || fault.Is(err, "") {
			t.Errorf("%v carries a fault", err)
		}
	}
}

func TestAFaultKeepsItsCause(t *testing.T) {
	e := &fault.Error{Kind: fault.Unavailable, Code: "down", Message: "the server is down", Err: io.ErrUnexpectedEOF}
	if !errors.Is(e, io.ErrUnexpectedEOF) || e.Error() != "the server is down: unexpected EOF" {
		t.Errorf("%v", e)
	}
}

func TestTheShortForms(t *testing.T) {
	for _, c := range []struct {
		got  *fault.Error
		kind fault.Kind
		code string
	}{
		{fault.NotFoundf("no agent %q", "x"), fault.NotFound, "not_found"},
		{fault.Invalidf("no agent %q", "x"), fault.Invalid, "invalid"},
	} {
		if c.got.Kind != c.kind || c.got.Code != c.code || c.got.Message != `no agent "x"` {
			t.Errorf("%+v", c.got)
		}
	}
	// The zero value is the kind that edges keep to themselves.
	if (&fault.Error{}).Kind != fault.Internal {
		t.Error("a fault without a kind is not internal")
	}
}
