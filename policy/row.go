package policy

// Row is one policy row of an agent.
type Row struct {
	// ID is unique among the agent's rows.
	ID string
	// AgentID is the agent whose calls the row speaks about.
	AgentID string
	// ResourceType is tool, mcp, file or exec.
	ResourceType string
	// ResourceKey names the resource: a tool's key such as "exec" or
	// "mcp__git__log", an upstream server, a path, a command. In the key of a tool or
	// mcp row * stands for any text.
	ResourceKey string
	Effect      Effect
	// Grants say who the row speaks about; an empty list is nobody.
	Grants []Grant
	Scope  Scope
	// Origin is where the row came from; empty means OriginAdmin.
	Origin Origin
	// Version grows with each change of the row; approvals are bound to it.
	Version int
	// Note is free text for people.
	Note string
	// Maker is the name of whoever made the row, for people; empty where unknown.
	Maker string
	// Unreadable is why the stored form of Effect, Grants or Scope could not be
	// read, nil when it could. A store that cannot decode a row sets it and keeps the
	// row, which then counts as a deny.
	Unreadable error
}

// Validate reports the first thing that keeps the row from being stored, as an
// [*InvalidError] that names the field. Fields that [Row.Complete] fills in may be
// absent.
func (r Row) Validate() error {
	if _, err := r.compile(newPatternCache()); err != nil {
		return err
	}
	return nil
}

// compile checks everything and returns the compiled conditions.
func (r *Row) compile(patterns *patternCache) ([]condition, *InvalidError) {
	if r.Unreadable != nil {
		return nil, invalid("row", "cannot be read: %v", r.Unreadable)
	}
	if err := r.checkResource(); err != nil {
		return nil, err
	}
	if !r.Effect.Valid() {
		return nil, invalid("effect", "unknown effect %q: want allow, deny or require_approval", clip(string(r.Effect)))
	}
	if err := checkGrants("grants", r.Grants); err != nil {
		return nil, err
	}
	if err := r.checkOrigin(); err != nil {
		return nil, err
	}
	if err := r.checkScope(); err != nil {
		return nil, err
	}
	return compileConditions("scope.args", r.Scope.Args, patterns)
}

func (r *Row) checkResource() *InvalidError {
	switch r.ResourceType {
	case TypeTool, TypeMCP:
		return checkName("resourceKey", r.ResourceKey)
	case TypeFile, TypeExec:
		// Paths and commands have other limits than names.
		if r.ResourceKey == "" || len(r.ResourceKey) > maxAreaKey {
			return invalid("resourceKey", "must have from 1 to %d bytes", maxAreaKey)
		}
		return nil
	}
	return invalid("resourceType", "unknown type %q: want tool, mcp, file or exec", clip(r.ResourceType))
}

// maxAreaKey bounds paths and commands; 4096 is the longest path on Linux.
const maxAreaKey = 4096

func (r *Row) checkOrigin() *InvalidError {
	if !r.Origin.valid() {
		return invalid("origin", "unknown origin %q: want admin, approval or synthesized", clip(string(r.Origin)))
	}
	if r.Origin != OriginApproval {
		return nil
	}
	if r.Effect != Allow {
		return invalid("effect", "a row that an approval left can only allow")
	}
	for _, g := range r.Grants {
		if g.Type != GrantUser {
			return invalid("grants", "a row that an approval left speaks about users only, not %q", g)
		}
	}
	return nil
}

func (r *Row) checkScope() *InvalidError {
	if err := r.Scope.check(r.ResourceType); err != nil {
		return err
	}
	if r.Scope.Approval != nil && r.Effect != RequireApproval {
		return invalid("scope.approval", "belongs to require_approval rows, not to %q", r.Effect)
	}
	if r.Origin != OriginApproval && r.Scope.ArgsDigest != "" {
		return invalid("scope.argsDigest", "belongs to rows that an approval left")
	}
	if r.Origin != OriginApproval && r.Scope.Definition != "" {
		return invalid("scope.definition", "belongs to rows that an approval left")
	}
	if r.Origin != OriginApproval && r.Scope.Approves != "" {
		return invalid("scope.approves", "belongs to rows that an approval left")
	}
	return r.checkArea()
}
