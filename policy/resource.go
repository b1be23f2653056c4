package policy

// The resource types.
const (
	TypeTool = "tool"
	TypeMCP  = "mcp"
	TypeFile = "file"
	TypeExec = "exec"
)
