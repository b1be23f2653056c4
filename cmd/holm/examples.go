package main

import "github.com/spf13/cobra"

// shortExamples are those of commands that say all there is to say in one line.
var shortExamples = map[string]string{
	"holm channels list":            "holm channels list",
	"holm channels remove":          "holm channels remove matrix",
	"holm channels rotate discord":  "holm channels rotate discord --token-file new",
	"holm channels rotate slack":    "holm channels rotate slack --bot-token-file new",
	"holm channels rotate telegram": "holm channels rotate telegram --token-file new",
	"holm channels show":            "holm channels show telegram",
	"holm circles add":              "holm circles add claude night-shift 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11",
	"holm circles delete":           "holm circles delete claude night-shift",
	"holm circles list":             "holm circles list claude",
	"holm circles remove":           "holm circles remove claude night-shift 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11",
	"holm lint":                     "holm lint claude",
	"holm list agents":              "holm list agents",
	"holm list servers":             "holm list servers",
	"holm migrate":                  "HOLM_DATABASE_URL=postgres://… holm migrate",
	"holm policy explain":           "holm policy explain claude mcp__git__push --as role:guest",
	"holm policy lint":              "holm policy lint claude",
	"holm remove agent":             "holm remove agent claude",
	"holm show agent":               "holm show agent claude",
	"holm show server":              "holm show server git",
	"holm users link":               "holm users link 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11 telegram:123456",
	"holm users list":               "holm users list claude",
	"holm users remove":             "holm users remove claude 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11",
	"holm users role":               "holm users role claude 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11 user",
	"holm users undo":               "holm users undo 3",
	"holm users unlink":             "holm users unlink 0198c7d2-5b1e-7c3a-9f00-2f6d1c0a7e11 telegram:123456",
	"holm version":                  "holm version",
	"holm webhooks list":            "holm webhooks list claude",
	"holm webhooks remove":          "holm webhooks remove claude 0198c7d2-6a44-7d10-8e21-93b0a4c55f02",
	"holm webhooks test":            "holm webhooks test claude 0198c7d2-6a44-7d10-8e21-93b0a4c55f02",
}

// giveExamples sets them in a tree.
func giveExamples(cmd *cobra.Command) {
	if text, ok := shortExamples[cmd.CommandPath()]; ok {
		cmd.Example = "  " + text
	}
	for _, sub := range cmd.Commands() {
		giveExamples(sub)
	}
}
