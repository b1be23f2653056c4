// Package demo is what a newcomer sees first: a small MCP server with a
// harmless and a risky tool, and an agent that calls them through Holm. It
// holds nothing that a real installation needs.
package demo

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The names that the demo registers.
const (
	Server    = "shop"
	SafeTool  = "orders_list"
	RiskyTool = "refund_send"
)

type listArgs struct{}

type refundArgs struct {
	Order  string `json:"order" jsonschema:"number of the order"`
	Amount string `json:"amount" jsonschema:"amount with currency, e.g. 49.90 EUR"`
	Reason string `json:"reason,omitempty" jsonschema:"why the money goes back"`
}

// ServeUpstream speaks MCP on standard input and output until the input ends.
// Refunds are counted and nothing else.
func ServeUpstream(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "holm-demo-shop", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: SafeTool, Description: "List the orders of a pretend shop."},
		func(context.Context, *mcp.CallToolRequest, listArgs) (*mcp.CallToolResult, any, error) {
			return text("1041 paid 18.00 EUR\n1042 paid 49.90 EUR, returned"), nil, nil
		})
	sent := 0
	mcp.AddTool(server, &mcp.Tool{Name: RiskyTool, Description: "Send money back to the customer of a pretend shop."},
		func(_ context.Context, _ *mcp.CallToolRequest, a refundArgs) (*mcp.CallToolResult, any, error) {
			sent++
			return text(fmt.Sprintf("Refunded %s for order %s (refund number %d of this server).", a.Amount, a.Order, sent)), nil, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
