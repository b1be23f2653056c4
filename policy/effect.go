package policy

// Effect is what a row does, and what a decision says.
type Effect string

// The three effects, here from the strictest to the mildest.
const (
	Deny            Effect = "deny"
	RequireApproval Effect = "require_approval"
	Allow           Effect = "allow"
)

// Valid reports whether e is one of the three effects.
func (e Effect) Valid() bool {
	return e == Deny || e == RequireApproval || e == Allow
}

// Origin is where a row came from.
type Origin string

// The origins. An empty Origin counts as OriginAdmin.
const (
	// OriginAdmin is a row that a person wrote.
	OriginAdmin Origin = "admin"
	// OriginApproval is a row that a persistent approval left: an allow row with
	// user grants that adds to what other rows and defaults give and replaces nothing.
	OriginApproval Origin = "approval"
	// OriginSynthesized is a row made from a deprecated setting; it is never stored.
	OriginSynthesized Origin = "synthesized"
)

func (o Origin) valid() bool {
	return o == "" || o == OriginAdmin || o == OriginApproval || o == OriginSynthesized
}
