// Package migrations holds the numbered steps of Holm's own tables, in goose's file format.
// Package db runs them, together with River's.
package migrations

import "embed"

// FS holds the files 00001_name.sql and on, in the order of their numbers.
//
//go:embed *.sql
var FS embed.FS
